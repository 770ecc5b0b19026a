// A node as tables: its streams to and from other nodes, its own sources, its outputs.
//
// The kernel's tables (tables.hpp) say what the node computes; these say what leaves it, what comes
// to it, and how each row is written as bytes. Both sides of a stream know its columns; a hash of
// them goes along with every frame.
#pragma once

#include <cstddef>
#include <cstdint>

#include "headway/tables.hpp"

namespace headway {

// ---------------------------------------------------------------- rows as bytes

enum class WireType : std::uint8_t { BOOLEAN, INT, BIGINT, FLOAT, DOUBLE, TEXT };

inline constexpr std::uint32_t NEVER_UNKNOWN = 0xFFFFFFFF;

/// A column of a row: where it lies in the struct of its stream.
struct WireColumn {
  const char* name;
  WireType type;
  std::uint32_t offset;
  /// Where it stands whether the value is known; NEVER_UNKNOWN for the timestamp.
  std::uint32_t known;
  /// Of a text: the bytes it has room for. Its size stands at `offset`, its bytes follow.
  std::uint32_t capacity;
};

inline constexpr std::uint32_t TEXT_SIZE_BYTES = sizeof(std::uint16_t);

/// A stream between processes; `id` is the same on all nodes of a plan, `schema` its columns' hash.
struct WireStream {
  const char* name;
  std::uint16_t id;
  std::uint32_t schema;
  std::uint32_t row_bytes;
  Span<WireColumn> columns;
};

// ---------------------------------------------------------------- what leaves and what comes

/// A stream that other nodes want. `stream` and `mark` are places in the kernel's tables.
struct SentStream {
  Index wire;
  Index stream;
  Index mark;
  /// Places in `NodeProgram::peers`.
  Span<Index> receivers;
};

/// A stream of another node: a source of the kernel's tables.
struct ReceivedStream {
  Index wire;
  Index source;
  Index sender;
};

/// A source whose sensor is at this node.
struct OwnSource {
  Index wire;
  Index source;
};

/// A stream between this node and another on a CAN bus of the plan. `rank` is its priority there,
/// the most urgent 0.
struct BusStream {
  const char* bus;
  Index wire;
  Index peer;
  std::uint32_t rank;
  bool sent;
  bool fd;
};

/// All of a node. The place of an output here is that in the kernel's tables; `output_wires` are
/// the streams by which subscribers get them.
struct NodeProgram {
  const char* node;
  const char* query;
  const char* fingerprint;
  const Program* program;
  Span<const char*> peers;
  Span<WireStream> wires;
  Span<SentStream> sent;
  Span<ReceivedStream> received;
  Span<OwnSource> own;
  Span<Index> output_wires;
  Span<BusStream> bus_streams = {};
};

// ---------------------------------------------------------------- sizes

/// The longest that one row can be as bytes.
constexpr std::size_t most_row_on_wire(const WireStream& stream) {
  std::size_t bytes = 1 + 8 + (stream.columns.count + 7) / 8;
  for (const WireColumn& column : stream.columns) {
    switch (column.type) {
      case WireType::BOOLEAN:
        bytes += 1;
        break;
      case WireType::INT:
      case WireType::FLOAT:
        bytes += 4;
        break;
      case WireType::BIGINT:
      case WireType::DOUBLE:
        bytes += 8;
        break;
      case WireType::TEXT:
        bytes += 4 + column.capacity;
        break;
    }
  }
  return bytes;
}

constexpr std::size_t largest_row_on_wire(const NodeProgram& node) {
  std::size_t most = 0;
  for (const WireStream& stream : node.wires) {
    const std::size_t bytes = most_row_on_wire(stream);
    if (bytes > most) most = bytes;
  }
  return most;
}

constexpr std::size_t largest_row(const NodeProgram& node) {
  std::size_t most = sizeof(Microseconds);
  for (const WireStream& stream : node.wires) {
    if (stream.row_bytes > most) most = stream.row_bytes;
  }
  return most;
}

}  // namespace headway
