// How two nodes greet: each proves that it has the key of the build, before anything else is said.
// The twin of engine/nodes/greeting.py, byte for byte.
//
//   who connects                                       who listens
//   HELLO      its name, incarnation, plan, nonce  ->
//              <-  CHALLENGE     another nonce
//   PROOF      HMAC-SHA256 of all that by the key  ->
//              <-  WELCOME       its incarnation, and its own HMAC
//
// A proof is bound to the plan, to both names, to which side speaks and to both nonces. Where the
// frames that follow are datagrams, each carries a tag by a key made of the same transcript.
#pragma once

#include <sys/random.h>

#include <cstdio>

#include "headway/flat_json.hpp"
#include "headway/sha256.hpp"
#include "headway/wire_format.hpp"

namespace headway {

inline constexpr std::size_t KEY_BYTES = 32;
inline constexpr std::size_t NONCE_BYTES = 32;
inline constexpr std::size_t MOST_NAME = 63;
inline constexpr std::size_t MOST_INCARNATION = 32;

/// What is awaited on a connection; of strangers, the further the better.
enum class LinkStage : std::uint8_t {
  HELLO = 1,
  PROOF = 2,
  OPENED = 3,
  CHALLENGE = 4,
  WELCOME = 5,
  POSITIONS = 6,
  FROM_SENDER = 7,
  FROM_RECEIVER = 8,
  OVER = 9,
};

constexpr bool is_greeted(LinkStage stage) { return stage >= LinkStage::FROM_SENDER; }

/// Whether a frame has its place at this stage.
constexpr bool in_place(LinkStage stage, FrameKind kind) {
  switch (stage) {
    case LinkStage::HELLO:
      return kind == FrameKind::HELLO;
    case LinkStage::PROOF:
      return kind == FrameKind::PROOF;
    case LinkStage::CHALLENGE:
      return kind == FrameKind::CHALLENGE;
    case LinkStage::WELCOME:
      return kind == FrameKind::WELCOME;
    case LinkStage::POSITIONS:
      return kind == FrameKind::ACKNOWLEDGE;
    case LinkStage::FROM_SENDER:
      return kind == FrameKind::ROWS || kind == FrameKind::MARK || kind == FrameKind::END ||
             kind == FrameKind::HEARTBEAT || kind == FrameKind::BYE;
    case LinkStage::FROM_RECEIVER:
      return kind == FrameKind::ACKNOWLEDGE || kind == FrameKind::HEARTBEAT ||
             kind == FrameKind::BYE;
    case LinkStage::OPENED:
    case LinkStage::OVER:
      return false;
  }
  return false;
}

struct ShortText {
  char text[MOST_NAME + 1] = {};
};

inline void copy_text(ShortText& to, const char* from) {
  std::size_t place = 0;
  while (from[place] != '\0' && place < MOST_NAME) {
    to.text[place] = from[place];
    ++place;
  }
  to.text[place] = '\0';
}

/// What a node says of itself, and the key by which it proves it.
struct Identity {
  const char* name = "";
  ShortText incarnation;
  const char* fingerprint = "";
  std::uint8_t key[KEY_BYTES] = {};
};

struct Nonce {
  std::uint8_t bytes[NONCE_BYTES];
};

/// False when the machine has no random bytes: then nobody is greeted.
inline bool make_nonce(Nonce& nonce) {
  return ::getrandom(nonce.bytes, sizeof nonce.bytes, 0) ==
         static_cast<ssize_t>(sizeof nonce.bytes);
}

/// What both sides know of a greeting when they prove the key.
struct Transcript {
  ShortText sender;
  ShortText sender_incarnation;
  ShortText receiver;
  Nonce sender_nonce;
  Nonce receiver_nonce;

  Digest proof(const Identity& me, const char* side, const char* incarnation) const {
    return keyed(me, "headway greeting", side, incarnation);
  }

  /// For the datagrams that follow; `incarnation` is the receiver's.
  Digest session_key(const Identity& me, const char* incarnation) const {
    return keyed(me, "headway datagrams", "both", incarnation);
  }

 private:
  Digest keyed(const Identity& me, const char* purpose, const char* side,
               const char* incarnation) const {
    HmacSha256 hmac(me.key, sizeof me.key);
    // With their lengths, so that no two lists of parts are the same bytes.
    add(hmac, purpose, std::strlen(purpose));
    add(hmac, side, std::strlen(side));
    add(hmac, incarnation, std::strlen(incarnation));
    add(hmac, me.fingerprint, std::strlen(me.fingerprint));
    add(hmac, sender.text, std::strlen(sender.text));
    add(hmac, sender_incarnation.text, std::strlen(sender_incarnation.text));
    add(hmac, receiver.text, std::strlen(receiver.text));
    add(hmac, sender_nonce.bytes, sizeof sender_nonce.bytes);
    add(hmac, receiver_nonce.bytes, sizeof receiver_nonce.bytes);
    return hmac.finish();
  }

  static void add(HmacSha256& hmac, const void* part, std::size_t count) {
    std::uint8_t length[4];
    put_big_endian(length, count, sizeof length);
    hmac.add(length, sizeof length);
    hmac.add(part, count);
  }
};

inline bool printable(const char* text, std::size_t size, std::size_t most) {
  if (size == 0 || size > most) return false;
  for (std::size_t place = 0; place < size; ++place) {
    if (text[place] < ' ' || text[place] > '~') return false;
  }
  return true;
}

inline void copy_text(ShortText& to, const char* from, std::size_t size) {
  std::memcpy(to.text, from, size);
  to.text[size] = '\0';
}

inline void write_hex(char* to, const std::uint8_t* bytes, std::size_t count) {
  constexpr char DIGITS[] = "0123456789abcdef";
  for (std::size_t place = 0; place < count; ++place) {
    to[2 * place] = DIGITS[bytes[place] >> 4];
    to[2 * place + 1] = DIGITS[bytes[place] & 15];
  }
  to[2 * count] = '\0';
}

inline bool read_hex(const char* text, std::size_t size, std::uint8_t* to, std::size_t count) {
  if (size != 2 * count) return false;
  for (std::size_t place = 0; place < size; ++place) {
    const char sign = text[place];
    int digit = -1;
    if (sign >= '0' && sign <= '9') digit = sign - '0';
    if (sign >= 'a' && sign <= 'f') digit = sign - 'a' + 10;
    if (sign >= 'A' && sign <= 'F') digit = sign - 'A' + 10;
    if (digit < 0) return false;
    std::uint8_t& byte = to[place / 2];
    byte = static_cast<std::uint8_t>(place % 2 == 0 ? digit << 4 : byte | digit);
  }
  return true;
}

// ---------------------------------------------------------------- both sides

/// A frame of a greeting: header and payload in one piece.
struct GreetingFrame {
  std::uint8_t bytes[FRAME_OVERHEAD + MOST_GREETING];
  std::size_t size = 0;

  void write(FrameKind kind, const void* payload, std::size_t length) {
    std::memcpy(bytes + FRAME_OVERHEAD, payload, length);
    size = seal_frame(bytes, kind, 0, 0, 0, length);
  }
};

/// The side that connects, because it has a stream to send.
class GreetingOut {
 public:
  bool begin(const Identity& me, const char* receiver) {
    copy_text(transcript_.sender, me.name);
    transcript_.sender_incarnation = me.incarnation;
    copy_text(transcript_.receiver, receiver);
    return make_nonce(transcript_.sender_nonce);
  }

  void hello(const Identity& me, GreetingFrame& frame) const {
    char nonce[2 * NONCE_BYTES + 1];
    write_hex(nonce, transcript_.sender_nonce.bytes, NONCE_BYTES);
    char text[MOST_GREETING];
    const int length = std::snprintf(
        text, sizeof text,
        "{\"incarnation\": \"%s\", \"name\": \"%s\", \"nonce\": \"%s\", \"plan\": \"%s\"}",
        me.incarnation.text, me.name, nonce, me.fingerprint);
    frame.write(FrameKind::HELLO, text, static_cast<std::size_t>(length));
  }

  WireFault answer(const Identity& me, const WireFrame& challenge, GreetingFrame& frame) {
    if (challenge.length != NONCE_BYTES) return WireFault::BAD_GREETING;
    std::memcpy(transcript_.receiver_nonce.bytes, challenge.payload, NONCE_BYTES);
    const Digest proof = transcript_.proof(me, "sender", me.incarnation.text);
    frame.write(FrameKind::PROOF, proof.bytes, sizeof proof.bytes);
    return WireFault::FINE;
  }

  WireFault check(const Identity& me, const WireFrame& welcome) {
    FlatJson about(welcome.payload, welcome.length);
    const char* text = nullptr;
    std::size_t size = 0;
    std::uint8_t given[DIGEST_BYTES];
    if (!about.find("proof", text, size) || !read_hex(text, size, given, sizeof given)) {
      return WireFault::BAD_GREETING;
    }
    if (!about.find("incarnation", text, size)) return WireFault::BAD_GREETING;
    if (!printable(text, size, MOST_INCARNATION)) return WireFault::BAD_INCARNATION;
    copy_text(incarnation, text, size);
    const Digest meant = transcript_.proof(me, "receiver", incarnation.text);
    if (!same_secret(meant.bytes, given, sizeof given)) return WireFault::WRONG_KEY;
    return WireFault::FINE;
  }

  Digest session_key(const Identity& me) const {
    return transcript_.session_key(me, incarnation.text);
  }

  /// The receiver's, once it is proved.
  ShortText incarnation;

 private:
  Transcript transcript_;
};

/// The side that listens; the name is only believed once it is proved.
class GreetingIn {
 public:
  WireFault begin(const Identity& me, const WireFrame& hello) {
    FlatJson about(hello.payload, hello.length);
    const char* plan = nullptr;
    const char* text = nullptr;
    std::size_t plan_size = 0;
    std::size_t size = 0;
    if (!about.find("nonce", text, size) || !about.find("plan", plan, plan_size) ||
        !about.find("incarnation", text, size) || !about.find("name", text, size)) {
      return WireFault::BAD_GREETING;
    }
    if (!printable(text, size, MOST_NAME)) return WireFault::BAD_NAME;
    copy_text(transcript_.sender, text, size);
    about.find("incarnation", text, size);
    if (!printable(text, size, MOST_INCARNATION)) return WireFault::BAD_INCARNATION;
    copy_text(transcript_.sender_incarnation, text, size);
    if (plan_size != std::strlen(me.fingerprint) ||
        std::memcmp(plan, me.fingerprint, plan_size) != 0) {
      return WireFault::ANOTHER_PLAN;
    }
    about.find("nonce", text, size);
    if (!read_hex(text, size, transcript_.sender_nonce.bytes, NONCE_BYTES)) {
      return WireFault::BAD_GREETING;
    }
    copy_text(transcript_.receiver, me.name);
    return make_nonce(transcript_.receiver_nonce) ? WireFault::FINE : WireFault::BAD_GREETING;
  }

  void challenge(GreetingFrame& frame) const {
    frame.write(FrameKind::CHALLENGE, transcript_.receiver_nonce.bytes, NONCE_BYTES);
  }

  WireFault check(const Identity& me, const WireFrame& proof) const {
    const Digest meant = transcript_.proof(me, "sender", transcript_.sender_incarnation.text);
    if (proof.length != sizeof meant.bytes ||
        !same_secret(meant.bytes, proof.payload, sizeof meant.bytes)) {
      return WireFault::WRONG_KEY;
    }
    return WireFault::FINE;
  }

  void welcome(const Identity& me, GreetingFrame& frame) const {
    const Digest proof = transcript_.proof(me, "receiver", me.incarnation.text);
    char hex[2 * DIGEST_BYTES + 1];
    write_hex(hex, proof.bytes, sizeof proof.bytes);
    char text[MOST_GREETING];
    const int length =
        std::snprintf(text, sizeof text, "{\"incarnation\": \"%s\", \"proof\": \"%s\"}",
                      me.incarnation.text, hex);
    frame.write(FrameKind::WELCOME, text, static_cast<std::size_t>(length));
  }

  Digest session_key(const Identity& me) const {
    return transcript_.session_key(me, me.incarnation.text);
  }

  const char* name() const { return transcript_.sender.text; }
  const ShortText& incarnation() const { return transcript_.sender_incarnation; }

 private:
  Transcript transcript_;
};

}  // namespace headway
