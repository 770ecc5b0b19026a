// Streams on a CAN bus, classic or FD: a tuple is split into as many frames as the plan counts, and
// joined again by who listens.
//
// The plan counts a tuple as the bytes of its columns, in frames of at most 8 bytes on CAN and 64
// on CAN FD (model/vehicle.py), and that is what goes on the bus. There is no byte left for
// anything else: where a tuple begins is told by the identifier of its frames, the mark of a late
// tuple and NULLs by bits that no sensing time needs (a timestamp has 53), and a text ends where
// its zeros begin. Only a tuple in which a column behind the tenth is NULL takes a frame more.
//
//   identifier = 32 * rank of the stream on the bus
//                + 0 to 7 the first frame of a tuple, 8 to 15 a further one (the tuple's number
//                modulo 8), 16 a watermark or the end, 17 which columns behind the tenth are NULL
//
// Ranks are the plan's priorities, the most urgent 0, as the bus arbitrates; identifiers of 11 bits
// have room for 64 streams. A tuple of which a frame is missing is dropped and counted. On a bus
// every node hears every frame, and no proof fits beside eight bytes: whoever is on the bus is
// trusted, so this is for buses that end inside the car.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "headway/transport.hpp"

namespace headway {

// ---------------------------------------------------------------- frames, as the kernel has them

inline constexpr std::size_t CAN_PAYLOAD = 8;
inline constexpr std::size_t CAN_FD_PAYLOAD = 64;

/// The structs `can_frame` and `canfd_frame` of linux/can.h: of one layout, told apart by the bytes
/// that are read or written.
struct CanFrame {
  std::uint32_t identifier;
  std::uint8_t length;
  std::uint8_t flags;
  std::uint8_t reserved[2];
  std::uint8_t data[CAN_FD_PAYLOAD];
};
inline constexpr std::size_t CAN_FRAME_BYTES = 16;
inline constexpr std::size_t CAN_FD_FRAME_BYTES = 72;
static_assert(sizeof(CanFrame) == CAN_FD_FRAME_BYTES, "as linux/can.h has it");

/// The lengths that a frame of CAN FD can have.
constexpr std::size_t padded_length(std::size_t bytes) {
  constexpr std::size_t LENGTHS[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64};
  for (const std::size_t length : LENGTHS) {
    if (length >= bytes) return length;
  }
  return CAN_FD_PAYLOAD;
}

enum class CanPart : std::uint32_t { FIRST = 0, FURTHER = 8, MARK = 16, NULLS = 17 };
inline constexpr std::uint32_t IDENTIFIERS_A_STREAM = 32;
inline constexpr std::uint32_t CAN_TUPLES_TOLD_APART = 8;
inline constexpr std::uint32_t MOST_CAN_RANK = 2048 / IDENTIFIERS_A_STREAM - 1;

/// The identifier of a stream's frames: the plan's priorities order the streams on a bus, and the
/// least identifier wins the arbitration.
constexpr std::uint32_t can_identifier(std::uint32_t rank, CanPart part, std::uint32_t tuple = 0) {
  return rank * IDENTIFIERS_A_STREAM + static_cast<std::uint32_t>(part) +
         tuple % CAN_TUPLES_TOLD_APART;
}

// ---------------------------------------------------------------- a row as the plan counts it

constexpr std::size_t can_column_bytes(const WireColumn& column) {
  switch (column.type) {
    case WireType::BOOLEAN:
      return 1;
    case WireType::INT:
    case WireType::FLOAT:
      return 4;
    case WireType::BIGINT:
    case WireType::DOUBLE:
      return 8;
    case WireType::TEXT:
      return column.capacity;
  }
  return 0;
}

/// The bytes of a row on a bus, as `Schema.size_bytes` has them.
constexpr std::size_t can_row_bytes(const WireStream& stream) {
  std::size_t bytes = 0;
  for (const WireColumn& column : stream.columns) bytes += can_column_bytes(column);
  return bytes;
}

/// A sensing time needs so many bits, with its sign; above them stand the mark of a late tuple and
/// the NULLs of the first columns.
inline constexpr unsigned CAN_TIME_BITS = 53;
inline constexpr unsigned CAN_NULLS_BESIDE = 10;
inline constexpr std::uint64_t CAN_TIME_MASK = (std::uint64_t{1} << CAN_TIME_BITS) - 1;

/// Writes the row into `can_row_bytes` bytes; the columns that are NULL, a bit each from the first
/// behind the timestamp on.
inline std::uint64_t write_can_row(const WireStream& stream, const void* row, bool late,
                                   std::uint8_t* to) {
  const std::byte* const fields = static_cast<const std::byte*>(row);
  std::uint64_t nulls = 0;
  std::size_t at = sizeof(Microseconds);
  for (std::uint32_t place = 1; place < stream.columns.count; ++place) {
    const WireColumn& column = stream.columns[place];
    const std::size_t width = can_column_bytes(column);
    const std::byte* const field = fields + column.offset;
    bool known;
    std::memcpy(&known, fields + column.known, sizeof known);
    std::memset(to + at, 0, width);
    if (!known) {
      nulls |= std::uint64_t{1} << ((place - 1) % 64);
    } else if (column.type == WireType::TEXT) {
      std::uint16_t size;
      std::memcpy(&size, field, sizeof size);
      std::memcpy(to + at, field + TEXT_SIZE_BYTES, size < width ? size : width);
    } else if (width == 1) {
      bool set;
      std::memcpy(&set, field, sizeof set);
      to[at] = set ? 1 : 0;
    } else {
      std::uint64_t value = 0;
      if (width == 4) {
        std::uint32_t bits;
        std::memcpy(&bits, field, sizeof bits);
        value = bits;
      } else {
        std::memcpy(&value, field, sizeof value);
      }
      put_big_endian(to + at, value, width);
    }
    at += width;
  }
  std::uint64_t head = static_cast<std::uint64_t>(timestamp_of(row)) & CAN_TIME_MASK;
  const std::uint64_t beside = nulls & ((std::uint64_t{1} << CAN_NULLS_BESIDE) - 1);
  head |= (beside << 1 | (late ? 1 : 0)) << CAN_TIME_BITS;
  put_big_endian(to, head, sizeof head);
  return nulls;
}

/// False when the bytes are no row of this stream. `nulls`: of the columns behind the tenth.
inline bool read_can_row(const WireStream& stream, const std::uint8_t* from, std::uint64_t nulls,
                         void* row, bool& late) {
  std::byte* const fields = static_cast<std::byte*>(row);
  std::memset(fields, 0, stream.row_bytes);
  const std::uint64_t head = big_endian(from, sizeof head);
  late = (head >> CAN_TIME_BITS & 1) != 0;
  nulls |= head >> (CAN_TIME_BITS + 1);
  // The sign of the time is its uppermost bit.
  constexpr unsigned ABOVE = 64 - CAN_TIME_BITS;
  const Microseconds timestamp =
      static_cast<Microseconds>(head << ABOVE) / (Microseconds{1} << ABOVE);
  std::memcpy(fields, &timestamp, sizeof timestamp);
  std::size_t at = sizeof timestamp;
  for (std::uint32_t place = 1; place < stream.columns.count; ++place) {
    const WireColumn& column = stream.columns[place];
    const std::size_t width = can_column_bytes(column);
    std::byte* const field = fields + column.offset;
    const std::uint8_t* const bytes = from + at;
    at += width;
    const bool known = (nulls >> ((place - 1) % 64) & 1) == 0;
    std::memcpy(fields + column.known, &known, sizeof known);
    if (!known) continue;
    if (column.type == WireType::TEXT) {
      std::size_t size = width;
      while (size > 0 && bytes[size - 1] == 0) --size;
      if (!is_utf8(bytes, size)) return false;
      const std::uint16_t kept = static_cast<std::uint16_t>(size);
      std::memcpy(field, &kept, sizeof kept);
      std::memcpy(field + TEXT_SIZE_BYTES, bytes, size);
    } else if (width == 1) {
      const bool set = bytes[0] != 0;
      std::memcpy(field, &set, sizeof set);
    } else if (width == 4) {
      const std::uint32_t bits = static_cast<std::uint32_t>(big_endian(bytes, 4));
      std::memcpy(field, &bits, sizeof bits);
    } else {
      const std::uint64_t value = big_endian(bytes, 8);
      std::memcpy(field, &value, sizeof value);
    }
  }
  return true;
}

// ---------------------------------------------------------------- the transport

/// A stream on a bus: its wire, and its rank among the streams of the bus, the most urgent first.
struct CanStream {
  Index wire;
  std::uint32_t rank;
  bool sent;
};

class CanTransport final : public Transport {
  /// A stream: of one that leaves the tuples so far, of one that comes the tuple that is joined.
  struct Joined {
    const CanStream* stream = nullptr;
    std::uint32_t tuple = 0;
    std::uint8_t* bytes = nullptr;
    std::size_t filled = 0;
    bool begun = false;
    std::uint64_t nulls = 0;
    std::uint64_t came = 0;
  };

 public:
  static constexpr std::size_t bytes(const NodeProgram& node, std::size_t streams) {
    std::size_t most = 0;
    for (const WireStream& stream : node.wires) {
      const std::size_t row = can_row_bytes(stream);
      if (row > most) most = row;
    }
    return Objects<Joined>::bytes(streams) + streams * aligned(most + CAN_FD_PAYLOAD) +
           aligned(most + CAN_FD_PAYLOAD) + aligned(largest_row(node));
  }

  /// `socket` is a raw CAN socket that is bound to its bus and does not block. `fd`: of CAN FD.
  void open(Arena& arena, const NodeProgram& node, PeerHandler& handler, Span<CanStream> streams,
            int socket, bool fd) {
    node_ = &node;
    handler_ = &handler;
    socket_ = socket;
    fd_ = fd;
    std::size_t most = 0;
    for (const CanStream& one : streams) {
      const std::size_t row = can_row_bytes(node.wires[one.wire]);
      if (row > most) most = row;
    }
    joined_.open(arena, streams.count);
    for (std::uint32_t place = 0; place < streams.count; ++place) {
      joined_[place].stream = &streams[place];
      joined_[place].bytes = static_cast<std::uint8_t*>(arena.take(most + CAN_FD_PAYLOAD));
    }
    packed_ = static_cast<std::uint8_t*>(arena.take(most + CAN_FD_PAYLOAD));
    row_ = arena.take(largest_row(node));
  }

  std::uint32_t watch(pollfd* list, std::uint32_t room) const override {
    if (room == 0 || socket_ < 0) return 0;
    list[0] = {socket_, POLLIN, 0};
    return 1;
  }

  Nanoseconds next_due() const override { return NEVER; }

  void turn(Nanoseconds) override {
    for (int count = 0; count < FRAMES_A_LOOK; ++count) {
      CanFrame frame{};
      const ssize_t size = ::recv(socket_, &frame, sizeof frame, MSG_DONTWAIT);
      if (size < 0) return;
      take(frame, static_cast<std::size_t>(size));
    }
  }

  void send_row(Index wire, const void* row, std::uint64_t, bool late) override {
    Joined* const joined = leaving(wire);
    if (joined == nullptr) return;
    const CanStream* const stream = joined->stream;
    const std::uint32_t tuple = ++joined->tuple;
    const std::size_t size = can_row_bytes(node_->wires[wire]);
    const std::uint64_t nulls = write_can_row(node_->wires[wire], row, late, packed_);
    if (nulls >> CAN_NULLS_BESIDE != 0 && !say(*stream, CanPart::NULLS, nulls)) {
      ++counts.overflowed;
      return;
    }
    const std::size_t most = fd_ ? CAN_FD_PAYLOAD : CAN_PAYLOAD;
    for (std::size_t at = 0; at < size; at += most) {
      const std::size_t part = size - at < most ? size - at : most;
      const CanPart kind = at == 0 ? CanPart::FIRST : CanPart::FURTHER;
      if (!put_out(can_identifier(stream->rank, kind, tuple), packed_ + at, part)) {
        ++counts.overflowed;  // the rest would be of no use
        return;
      }
    }
  }

  void send_mark(Index wire, Microseconds mark) override { tell_mark(wire, mark); }
  void send_end(Index wire) override { tell_mark(wire, END_MARK); }

  bool all_done() const override { return true; }
  void say_goodbye() override {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  Nanoseconds lost_since(Index) const override { return NEVER; }
  std::uint32_t peers_alive() const override { return 0; }

 private:
  static constexpr int FRAMES_A_LOOK = 256;
  /// In place of a watermark: nothing more comes.
  static constexpr Microseconds END_MARK = INT64_MAX;

  Joined* leaving(Index wire) {
    for (Joined& one : joined_) {
      if (one.stream->wire == wire && one.stream->sent) return &one;
    }
    return nullptr;
  }

  void tell_mark(Index wire, Microseconds mark) {
    const Joined* const joined = leaving(wire);
    if (joined == nullptr) return;
    if (!say(*joined->stream, CanPart::MARK, static_cast<std::uint64_t>(mark))) {
      ++counts.unsendable;
    }
  }

  /// A frame with a number.
  bool say(const CanStream& stream, CanPart part, std::uint64_t number) {
    std::uint8_t bytes[sizeof number];
    put_big_endian(bytes, number, sizeof number);
    return put_out(can_identifier(stream.rank, part), bytes, sizeof bytes);
  }

  bool put_out(std::uint32_t identifier, const std::uint8_t* bytes, std::size_t size) {
    CanFrame frame{};
    frame.identifier = identifier;
    frame.length = static_cast<std::uint8_t>(fd_ ? padded_length(size) : size);
    std::memcpy(frame.data, bytes, size);
    const std::size_t whole = fd_ ? CAN_FD_FRAME_BYTES : CAN_FRAME_BYTES;
    return ::send(socket_, &frame, whole, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           static_cast<ssize_t>(whole);
  }

  void take(const CanFrame& frame, std::size_t size) {
    const bool whole = size == CAN_FRAME_BYTES || size == CAN_FD_FRAME_BYTES;
    const std::size_t most = size == CAN_FD_FRAME_BYTES ? CAN_FD_PAYLOAD : CAN_PAYLOAD;
    if (!whole || frame.length > most) {
      ++counts.bad_frames;
      return;
    }
    for (Joined& one : joined_) {
      if (one.stream->sent || frame.identifier / IDENTIFIERS_A_STREAM != one.stream->rank) continue;
      join(one, frame.identifier % IDENTIFIERS_A_STREAM, frame);
      return;
    }
    // A stream for others: on a bus all hear all.
  }

  void join(Joined& one, std::uint32_t part, const CanFrame& frame) {
    constexpr std::uint32_t FURTHER = static_cast<std::uint32_t>(CanPart::FURTHER);
    if (part >= FURTHER + CAN_TUPLES_TOLD_APART) {
      take_number(one, static_cast<CanPart>(part), frame);
      return;
    }
    if (part < FURTHER) {
      if (one.begun) ++counts.gaps;  // the one before was not complete
      if (one.came > 0) {            // tuples of which nothing was heard at all
        const std::uint32_t following = (one.tuple + 1) % CAN_TUPLES_TOLD_APART;
        counts.gaps += (part + CAN_TUPLES_TOLD_APART - following) % CAN_TUPLES_TOLD_APART;
      }
      one.begun = true;
      ++one.came;
      one.tuple = part;
      one.filled = 0;
    } else if (!one.begun || part - FURTHER != one.tuple) {
      ++counts.bad_frames;  // its first frame did not come
      return;
    }
    const WireStream& stream = node_->wires[one.stream->wire];
    const std::size_t wanted = can_row_bytes(stream);
    // The last frame of CAN FD is padded to a length that there is.
    const std::size_t left = wanted - one.filled;
    const std::size_t taken = frame.length < left ? frame.length : left;
    std::memcpy(one.bytes + one.filled, frame.data, taken);
    one.filled += taken;
    if (one.filled < wanted) return;
    one.begun = false;
    SentRow sent{one.came, false};
    const std::uint64_t nulls = one.nulls;
    one.nulls = 0;
    if (read_can_row(stream, one.bytes, nulls, row_, sent.late)) {
      handler_->row(one.stream->wire, row_, sent);
    } else {
      ++counts.bad_frames;
    }
  }

  void take_number(Joined& one, CanPart part, const CanFrame& frame) {
    const bool right = part == CanPart::MARK || part == CanPart::NULLS;
    if (!right || frame.length < sizeof(std::uint64_t)) {
      ++counts.bad_frames;
      return;
    }
    const std::uint64_t number = big_endian(frame.data, 8);
    if (part == CanPart::NULLS) {
      one.nulls = number;
    } else if (static_cast<Microseconds>(number) == END_MARK) {
      handler_->ended(one.stream->wire);
    } else {
      handler_->mark(one.stream->wire, static_cast<Microseconds>(number));
    }
  }

  const NodeProgram* node_ = nullptr;
  PeerHandler* handler_ = nullptr;
  int socket_ = -1;
  bool fd_ = false;
  Objects<Joined> joined_;
  std::uint8_t* packed_ = nullptr;
  void* row_ = nullptr;
};

}  // namespace headway
