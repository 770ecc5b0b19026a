// Bytes between nodes: frames, typed, with length and checksum, and tuples in them. The twin of
// engine/nodes/wire_format.py: native and Python nodes read each other's.
//
//   magic "HWAY" | version | kind | stream | schema | sequence | length | CRC-32 | payload
//
// All numbers are big-endian. The checksum covers the header before it and the payload. A tuple:
// flags (late), its number, a bit per column that is NULL, then the values that are not.
//
// Whatever comes is believed only as far as it fits; nothing here reads or writes beyond what it
// was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "headway/node_tables.hpp"

namespace headway {

inline constexpr std::uint8_t WIRE_MAGIC[4] = {'H', 'W', 'A', 'Y'};
inline constexpr std::uint8_t WIRE_VERSION = 2;
/// A longer payload is not believed; nor one longer than a greeting from somebody who has not
/// proved who it is.
inline constexpr std::size_t MOST_PAYLOAD = std::size_t{1} << 20;
inline constexpr std::size_t MOST_GREETING = 512;
inline constexpr std::size_t FRAME_HEADER_BYTES = 4 + 1 + 1 + 2 + 4 + 8 + 4;
inline constexpr std::size_t FRAME_OVERHEAD = FRAME_HEADER_BYTES + 4;
/// Tuples that a Python node packs into one frame.
inline constexpr std::size_t MOST_TOGETHER = 256;

enum class FrameKind : std::uint8_t {
  HELLO = 1,
  WELCOME = 2,
  ROWS = 3,
  MARK = 4,
  END = 5,
  ACKNOWLEDGE = 6,
  HEARTBEAT = 7,
  BYE = 8,
  CHALLENGE = 9,
  PROOF = 10,
};

/// What is wrong with bytes that came. After the first group the connection is of no more use;
/// the second are greetings of somebody with whom there is nothing to talk about.
enum class WireFault : std::uint8_t {
  FINE,
  NOT_A_FRAME,
  OTHER_VERSION,
  TOO_LONG,
  BAD_CHECKSUM,
  UNKNOWN_KIND,
  OUT_OF_PLACE,
  UNKNOWN_STREAM,
  OTHER_SCHEMA,
  BAD_TUPLES,
  BAD_MARK,
  BAD_POSITIONS,
  BAD_GREETING,
  BAD_TAG,
  // refusals
  ANOTHER_PLAN,
  WRONG_KEY,
  BAD_NAME,
  BAD_INCARNATION,
  TOO_MANY_SENDERS,
  CROWDED_OUT,
  DID_NOT_GREET,
  DID_NOT_WELCOME,
};
inline constexpr std::size_t WIRE_FAULTS = 22;

constexpr bool is_refusal(WireFault fault) { return fault >= WireFault::ANOTHER_PLAN; }

/// As the exit report of a Python node names them.
constexpr const char* refusal_name(WireFault fault) {
  switch (fault) {
    case WireFault::ANOTHER_PLAN:
      return "another plan";
    case WireFault::WRONG_KEY:
      return "wrong key";
    case WireFault::BAD_NAME:
      return "bad name";
    case WireFault::BAD_INCARNATION:
      return "bad incarnation";
    case WireFault::TOO_MANY_SENDERS:
      return "too many senders";
    case WireFault::CROWDED_OUT:
      return "crowded out";
    case WireFault::DID_NOT_GREET:
      return "did not greet";
    case WireFault::DID_NOT_WELCOME:
      return "did not welcome";
    default:
      return "";
  }
}

// ---------------------------------------------------------------- numbers and checksums

inline void put_big_endian(std::uint8_t* to, std::uint64_t value, std::size_t bytes) {
  for (std::size_t place = 0; place < bytes; ++place) {
    to[place] = static_cast<std::uint8_t>(value >> (8 * (bytes - 1 - place)));
  }
}

inline std::uint64_t big_endian(const std::uint8_t* from, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t place = 0; place < bytes; ++place) value = (value << 8) | from[place];
  return value;
}

struct Crc32Table {
  std::uint32_t entries[256];
  constexpr Crc32Table() : entries() {
    for (std::uint32_t place = 0; place < 256; ++place) {
      std::uint32_t value = place;
      for (int bit = 0; bit < 8; ++bit) {
        value = (value & 1) != 0 ? 0xEDB88320u ^ (value >> 1) : value >> 1;
      }
      entries[place] = value;
    }
  }
};
inline constexpr Crc32Table CRC32_TABLE{};

/// As zlib.crc32: `before` is the checksum of what stands in front.
inline std::uint32_t crc32(const void* data, std::size_t count, std::uint32_t before = 0) {
  const std::uint8_t* const bytes = static_cast<const std::uint8_t*>(data);
  std::uint32_t value = ~before;
  for (std::size_t place = 0; place < count; ++place) {
    value = CRC32_TABLE.entries[(value ^ bytes[place]) & 0xFF] ^ (value >> 8);
  }
  return ~value;
}

// ---------------------------------------------------------------- frames

struct WireFrame {
  FrameKind kind;
  std::uint16_t stream;
  std::uint32_t schema;
  std::uint64_t sequence;
  const std::uint8_t* payload;
  std::size_t length;
};

/// Writes the header and the checksum before a payload that stands at `to + FRAME_OVERHEAD`
/// already; the bytes of the whole frame.
inline std::size_t seal_frame(std::uint8_t* to, FrameKind kind, std::uint16_t stream,
                              std::uint32_t schema, std::uint64_t sequence, std::size_t length) {
  std::memcpy(to, WIRE_MAGIC, 4);
  to[4] = WIRE_VERSION;
  to[5] = static_cast<std::uint8_t>(kind);
  put_big_endian(to + 6, stream, 2);
  put_big_endian(to + 8, schema, 4);
  put_big_endian(to + 12, sequence, 8);
  put_big_endian(to + 20, length, 4);
  const std::uint32_t checksum = crc32(to + FRAME_OVERHEAD, length, crc32(to, FRAME_HEADER_BYTES));
  put_big_endian(to + FRAME_HEADER_BYTES, checksum, 4);
  return FRAME_OVERHEAD + length;
}

enum class ReadResult : std::uint8_t { FRAME, INCOMPLETE, BAD };

/// One frame at the beginning of some bytes. `most` is the longest payload believed: what says it
/// is longer is refused before it has come.
inline ReadResult read_frame(const std::uint8_t* bytes, std::size_t count, std::size_t most,
                             WireFrame& frame, WireFault& fault) {
  if (count < FRAME_OVERHEAD) return ReadResult::INCOMPLETE;
  fault = WireFault::FINE;
  const std::size_t length = static_cast<std::size_t>(big_endian(bytes + 20, 4));
  if (std::memcmp(bytes, WIRE_MAGIC, 4) != 0) {
    fault = WireFault::NOT_A_FRAME;
  } else if (bytes[4] != WIRE_VERSION) {
    fault = WireFault::OTHER_VERSION;
  } else if (length > most) {
    fault = WireFault::TOO_LONG;
  }
  if (fault != WireFault::FINE) return ReadResult::BAD;
  if (count < FRAME_OVERHEAD + length) return ReadResult::INCOMPLETE;
  const std::uint32_t meant = static_cast<std::uint32_t>(big_endian(bytes + FRAME_HEADER_BYTES, 4));
  if (crc32(bytes + FRAME_OVERHEAD, length, crc32(bytes, FRAME_HEADER_BYTES)) != meant) {
    fault = WireFault::BAD_CHECKSUM;
    return ReadResult::BAD;
  }
  if (bytes[5] < 1 || bytes[5] > 10) {
    fault = WireFault::UNKNOWN_KIND;
    return ReadResult::BAD;
  }
  frame.kind = static_cast<FrameKind>(bytes[5]);
  frame.stream = static_cast<std::uint16_t>(big_endian(bytes + 6, 2));
  frame.schema = static_cast<std::uint32_t>(big_endian(bytes + 8, 4));
  frame.sequence = big_endian(bytes + 12, 8);
  frame.payload = bytes + FRAME_OVERHEAD;
  frame.length = length;
  return ReadResult::FRAME;
}

/// Cuts a stream of bytes into frames, however they come in pieces, in a buffer of fixed size.
class FrameReader {
 public:
  void open(std::uint8_t* memory, std::size_t capacity) {
    memory_ = memory;
    capacity_ = capacity;
    begin_ = end_ = 0;
  }

  void forget() { begin_ = end_ = 0; }

  /// The longest payload that is believed, given the room there is.
  std::size_t most_payload() const {
    const std::size_t room = capacity_ - FRAME_OVERHEAD;
    return room < MOST_PAYLOAD ? room : MOST_PAYLOAD;
  }

  /// Where the next bytes go, and how many fit; never none after `next` said INCOMPLETE.
  std::uint8_t* room(std::size_t& count) {
    if (begin_ > 0) {
      std::memmove(memory_, memory_ + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    count = capacity_ - end_;
    return memory_ + end_;
  }

  void added(std::size_t count) { end_ += count; }

  /// The next frame if it is complete; it stays valid until bytes are added.
  ReadResult next(WireFrame& frame, WireFault& fault) {
    const ReadResult result =
        read_frame(memory_ + begin_, end_ - begin_, most_payload(), frame, fault);
    if (result == ReadResult::FRAME) begin_ += FRAME_OVERHEAD + frame.length;
    return result;
  }

  /// Takes over what another reader has not used yet; false when that is too much.
  bool take_over(const FrameReader& other) {
    const std::size_t left = other.end_ - other.begin_;
    if (left > capacity_) return false;
    std::memcpy(memory_, other.memory_ + other.begin_, left);
    begin_ = 0;
    end_ = left;
    return true;
  }

 private:
  std::uint8_t* memory_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

// ---------------------------------------------------------------- positions

inline constexpr std::size_t POSITION_BYTES = 2 + 8;

/// Calls `take(stream, last sequence)` for each position of an acknowledgement; false when the
/// bytes are none.
template <class Take>
bool read_positions(const std::uint8_t* payload, std::size_t length, Take&& take) {
  if (length % POSITION_BYTES != 0) return false;
  for (std::size_t at = 0; at < length; at += POSITION_BYTES) {
    take(static_cast<std::uint16_t>(big_endian(payload + at, 2)), big_endian(payload + at + 2, 8));
  }
  return true;
}

// ---------------------------------------------------------------- tuples

inline constexpr std::size_t COUNT_BYTES = 2;
inline constexpr std::size_t TUPLE_HEAD_BYTES = 1 + 8;

/// Whether the bytes are UTF-8: no overlong forms, no surrogates, nothing beyond U+10FFFF.
inline bool is_utf8(const std::uint8_t* text, std::size_t count) {
  std::size_t at = 0;
  while (at < count) {
    const std::uint8_t lead = text[at];
    if (lead < 0x80) {
      ++at;
      continue;
    }
    std::size_t following = 0;
    std::uint32_t value = 0;
    std::uint32_t least = 0;
    if ((lead & 0xE0) == 0xC0) {
      following = 1;
      value = lead & 0x1Fu;
      least = 0x80;
    } else if ((lead & 0xF0) == 0xE0) {
      following = 2;
      value = lead & 0x0Fu;
      least = 0x800;
    } else if ((lead & 0xF8) == 0xF0) {
      following = 3;
      value = lead & 0x07u;
      least = 0x10000;
    } else {
      return false;
    }
    if (count - at <= following) return false;
    for (std::size_t place = 1; place <= following; ++place) {
      if ((text[at + place] & 0xC0) != 0x80) return false;
      value = (value << 6) | (text[at + place] & 0x3Fu);
    }
    if (value < least || value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return false;
    at += following + 1;
  }
  return true;
}

inline std::size_t wire_width(WireType type) {
  switch (type) {
    case WireType::BOOLEAN:
      return 1;
    case WireType::INT:
    case WireType::FLOAT:
      return 4;
    default:
      return 8;
  }
}

/// Writes one row behind what stands there; the bytes written, or 0 when they do not fit.
inline std::size_t write_row(const WireStream& stream, const void* row, std::uint64_t number,
                             bool late, std::uint8_t* to, std::size_t room) {
  const std::byte* const fields = static_cast<const std::byte*>(row);
  const std::size_t bitmap = (stream.columns.count + 7) / 8;
  std::size_t at = TUPLE_HEAD_BYTES + bitmap;
  if (room < at) return 0;
  to[0] = late ? 1 : 0;
  put_big_endian(to + 1, number, 8);
  std::memset(to + TUPLE_HEAD_BYTES, 0, bitmap);
  for (std::uint32_t place = 0; place < stream.columns.count; ++place) {
    const WireColumn& column = stream.columns[place];
    bool known = true;
    if (column.known != NEVER_UNKNOWN) std::memcpy(&known, fields + column.known, sizeof known);
    if (!known) {
      std::uint8_t& byte = to[TUPLE_HEAD_BYTES + bitmap - 1 - place / 8];
      byte = static_cast<std::uint8_t>(byte | (1u << (place % 8)));
      continue;
    }
    const std::byte* const field = fields + column.offset;
    if (column.type == WireType::TEXT) {
      std::uint16_t size;
      std::memcpy(&size, field, sizeof size);
      if (size > column.capacity || room - at < 4u + size) return 0;
      put_big_endian(to + at, size, 4);
      std::memcpy(to + at + 4, field + TEXT_SIZE_BYTES, size);
      at += 4u + size;
      continue;
    }
    const std::size_t width = wire_width(column.type);
    if (room - at < width) return 0;
    std::uint64_t value = 0;
    if (width == 1) {
      bool set;
      std::memcpy(&set, field, sizeof set);
      value = set ? 1 : 0;
    } else if (width == 4) {
      std::uint32_t bits;
      std::memcpy(&bits, field, sizeof bits);
      value = bits;
    } else {
      std::memcpy(&value, field, sizeof value);
    }
    put_big_endian(to + at, value, width);
    at += width;
  }
  return at;
}

enum class RowResult : std::uint8_t {
  ROW,
  TOO_LONG_A_TEXT,  // all of it was read, but there is no room for one of its texts
  BAD,
};

/// A tuple as it was sent.
struct SentRow {
  std::uint64_t number;
  bool late;
};

/// Reads one row at `at` and moves `at` behind it. `row` has room for the stream's struct, and is
/// zero wherever nothing is known.
inline RowResult read_row(const WireStream& stream, const std::uint8_t* payload, std::size_t length,
                          std::size_t& at, void* row, SentRow& sent) {
  const std::size_t bitmap = (stream.columns.count + 7) / 8;
  if (length - at < TUPLE_HEAD_BYTES + bitmap) return RowResult::BAD;
  sent.late = payload[at] != 0;
  sent.number = big_endian(payload + at + 1, 8);
  const std::uint8_t* const nulls = payload + at + TUPLE_HEAD_BYTES;
  at += TUPLE_HEAD_BYTES + bitmap;
  std::byte* const fields = static_cast<std::byte*>(row);
  std::memset(fields, 0, stream.row_bytes);
  RowResult result = RowResult::ROW;
  for (std::uint32_t place = 0; place < stream.columns.count; ++place) {
    const WireColumn& column = stream.columns[place];
    const bool known = (nulls[bitmap - 1 - place / 8] >> (place % 8) & 1) == 0;
    if (column.known == NEVER_UNKNOWN) {
      if (!known) return RowResult::BAD;
    } else {
      std::memcpy(fields + column.known, &known, sizeof known);
    }
    if (!known) continue;
    std::byte* const field = fields + column.offset;
    if (column.type == WireType::TEXT) {
      if (length - at < 4) return RowResult::BAD;
      const std::size_t size = static_cast<std::size_t>(big_endian(payload + at, 4));
      at += 4;
      if (length - at < size || !is_utf8(payload + at, size)) return RowResult::BAD;
      if (size > column.capacity) {
        result = RowResult::TOO_LONG_A_TEXT;
      } else {
        const std::uint16_t kept = static_cast<std::uint16_t>(size);
        std::memcpy(field, &kept, sizeof kept);
        std::memcpy(field + TEXT_SIZE_BYTES, payload + at, size);
      }
      at += size;
      continue;
    }
    const std::size_t width = wire_width(column.type);
    if (length - at < width) return RowResult::BAD;
    const std::uint64_t value = big_endian(payload + at, width);
    at += width;
    if (width == 1) {
      const bool set = value != 0;
      std::memcpy(field, &set, sizeof set);
    } else if (width == 4) {
      const std::uint32_t bits = static_cast<std::uint32_t>(value);
      std::memcpy(field, &bits, sizeof bits);
    } else {
      std::memcpy(field, &value, sizeof value);
    }
  }
  return result;
}

/// The tuples of a frame, one after the other. They are looked through before the first is taken,
/// so a frame that is wrong at its end gives none.
class RowsCursor {
 public:
  /// False when the payload is not tuples of this stream, to the last byte. `row` is room for one.
  bool begin(const WireStream& stream, const std::uint8_t* payload, std::size_t length, void* row) {
    stream_ = &stream;
    payload_ = payload;
    length_ = length;
    left_ = 0;
    if (length < COUNT_BYTES) return false;
    const std::size_t count = static_cast<std::size_t>(big_endian(payload, COUNT_BYTES));
    at_ = COUNT_BYTES;
    SentRow sent;
    for (std::size_t place = 0; place < count; ++place) {
      if (read_row(stream, payload, length, at_, row, sent) == RowResult::BAD) return false;
    }
    if (at_ != length) return false;
    at_ = COUNT_BYTES;
    left_ = count;
    return true;
  }

  bool more() const { return left_ > 0; }

  /// The next one; false when there is no room for one of its texts.
  bool next(void* row, SentRow& sent) {
    --left_;
    return read_row(*stream_, payload_, length_, at_, row, sent) == RowResult::ROW;
  }

 private:
  const WireStream* stream_ = nullptr;
  const std::uint8_t* payload_ = nullptr;
  std::size_t length_ = 0;
  std::size_t at_ = 0;
  std::size_t left_ = 0;
};

}  // namespace headway
