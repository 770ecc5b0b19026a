// The protocol of nodes in C++ as a library that tests call beside Python's.
#include "headway/greeting.hpp"
#include "headway/wire_format.hpp"
#include "sample_node.hpp"

namespace {

headway::Identity identity_of(const char* name, const char* incarnation, const char* fingerprint,
                              const std::uint8_t* key) {
  headway::Identity me;
  me.name = name;
  headway::copy_text(me.incarnation, incarnation);
  me.fingerprint = fingerprint;
  std::memcpy(me.key, key, headway::KEY_BYTES);
  return me;
}

headway::GreetingOut greeting_out;
headway::GreetingIn greeting_in;

headway::WireFrame frame_of(headway::FrameKind kind, const std::uint8_t* payload,
                            std::size_t length) {
  return {kind, 0, 0, 0, payload, length};
}

std::size_t payload_of(const headway::GreetingFrame& frame, std::uint8_t* out) {
  std::memcpy(out, frame.bytes + headway::FRAME_OVERHEAD, frame.size - headway::FRAME_OVERHEAD);
  return frame.size - headway::FRAME_OVERHEAD;
}

}  // namespace

extern "C" {

void wire_sha256(const std::uint8_t* data, std::size_t count, std::uint8_t* out) {
  headway::Sha256 hash;
  hash.add(data, count / 3);  // in pieces, as they may come
  hash.add(data + count / 3, count - count / 3);
  const headway::Digest digest = hash.finish();
  std::memcpy(out, digest.bytes, sizeof digest.bytes);
}

void wire_hmac(const std::uint8_t* key, std::size_t key_count, const std::uint8_t* data,
               std::size_t count, std::uint8_t* out) {
  headway::HmacSha256 hmac(key, key_count);
  hmac.add(data, count);
  const headway::Digest digest = hmac.finish();
  std::memcpy(out, digest.bytes, sizeof digest.bytes);
}

std::uint32_t wire_crc32(const std::uint8_t* data, std::size_t count) {
  return headway::crc32(data, count);
}

/// The tuples of a payload, read and written again; -1: it is none, -2: no room for a text.
std::int64_t wire_again(const std::uint8_t* payload, std::size_t length, std::uint8_t* out,
                        std::size_t room) {
  sample::Sample row;
  headway::RowsCursor rows;
  if (!rows.begin(sample::WIRES[0], payload, length, &row)) return -1;
  std::memcpy(out, payload, headway::COUNT_BYTES);
  std::size_t at = headway::COUNT_BYTES;
  while (rows.more()) {
    headway::SentRow sent;
    if (!rows.next(&row, sent)) return -2;
    const std::size_t written =
        headway::write_row(sample::WIRES[0], &row, sent.number, sent.late, out + at, room - at);
    if (written == 0) return -3;
    at += written;
  }
  return static_cast<std::int64_t>(at);
}

/// What a reader makes of bytes that come in pieces: frames so far, then the fault or 0.
std::int64_t wire_read(const std::uint8_t* bytes, std::size_t count, std::size_t piece,
                       std::size_t most, std::uint8_t* fault) {
  static std::uint8_t memory[1 << 16];
  headway::FrameReader reader;
  reader.open(memory, headway::FRAME_OVERHEAD + most);
  std::int64_t frames = 0;
  std::size_t at = 0;
  headway::WireFault found = headway::WireFault::FINE;
  while (true) {
    headway::WireFrame frame{};
    const headway::ReadResult result = reader.next(frame, found);
    if (result == headway::ReadResult::FRAME) {
      ++frames;
      continue;
    }
    if (result == headway::ReadResult::BAD || at == count) break;
    std::size_t room = 0;
    std::uint8_t* const to = reader.room(room);
    std::size_t taken = piece < room ? piece : room;
    if (taken > count - at) taken = count - at;
    std::memcpy(to, bytes + at, taken);
    reader.added(taken);
    at += taken;
  }
  *fault = static_cast<std::uint8_t>(found);
  return frames;
}

std::size_t wire_frame(std::uint8_t kind, std::uint16_t stream, std::uint32_t schema,
                       std::uint64_t sequence, const std::uint8_t* payload, std::size_t length,
                       std::uint8_t* out) {
  std::memcpy(out + headway::FRAME_OVERHEAD, payload, length);
  return headway::seal_frame(out, static_cast<headway::FrameKind>(kind), stream, schema, sequence,
                             length);
}

std::size_t wire_hello(const char* name, const char* incarnation, const char* fingerprint,
                       const std::uint8_t* key, const char* receiver, std::uint8_t* out) {
  const headway::Identity me = identity_of(name, incarnation, fingerprint, key);
  greeting_out.begin(me, receiver);
  headway::GreetingFrame frame;
  greeting_out.hello(me, frame);
  return payload_of(frame, out);
}

std::uint8_t wire_answer(const char* name, const char* incarnation, const char* fingerprint,
                         const std::uint8_t* key, const std::uint8_t* challenge, std::size_t length,
                         std::uint8_t* out) {
  const headway::Identity me = identity_of(name, incarnation, fingerprint, key);
  headway::GreetingFrame frame;
  const headway::WireFault fault =
      greeting_out.answer(me, frame_of(headway::FrameKind::CHALLENGE, challenge, length), frame);
  if (fault == headway::WireFault::FINE) payload_of(frame, out);
  return static_cast<std::uint8_t>(fault);
}

std::uint8_t wire_check_welcome(const char* name, const char* incarnation, const char* fingerprint,
                                const std::uint8_t* key, const std::uint8_t* welcome,
                                std::size_t length) {
  const headway::Identity me = identity_of(name, incarnation, fingerprint, key);
  return static_cast<std::uint8_t>(
      greeting_out.check(me, frame_of(headway::FrameKind::WELCOME, welcome, length)));
}

std::uint8_t wire_challenge(const char* name, const char* incarnation, const char* fingerprint,
                            const std::uint8_t* key, const std::uint8_t* hello, std::size_t length,
                            std::uint8_t* out) {
  const headway::Identity me = identity_of(name, incarnation, fingerprint, key);
  const headway::WireFault fault =
      greeting_in.begin(me, frame_of(headway::FrameKind::HELLO, hello, length));
  headway::GreetingFrame frame;
  if (fault == headway::WireFault::FINE) {
    greeting_in.challenge(frame);
    payload_of(frame, out);
  }
  return static_cast<std::uint8_t>(fault);
}

std::uint8_t wire_check_proof(const char* name, const char* incarnation, const char* fingerprint,
                              const std::uint8_t* key, const std::uint8_t* proof,
                              std::size_t length, std::uint8_t* out, std::size_t* size) {
  const headway::Identity me = identity_of(name, incarnation, fingerprint, key);
  const headway::WireFault fault =
      greeting_in.check(me, frame_of(headway::FrameKind::PROOF, proof, length));
  headway::GreetingFrame frame;
  if (fault == headway::WireFault::FINE) {
    greeting_in.welcome(me, frame);
    *size = payload_of(frame, out);
  }
  return static_cast<std::uint8_t>(fault);
}

}  // extern "C"
