// What a node writes: its outputs as a line of JSON a tuple, what it notes about itself and its
// peers, and its exit report, all in the form of a Python node's.
//
// Lines of outputs wait in memory and are written when the node has nothing else to do, or when the
// buffer is full, so that a slow disk does not stand between two operators.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "headway/jobs.hpp"
#include "headway/latency_histogram.hpp"
#include "headway/other_nodes.hpp"

namespace headway {

/// Lines of an output that may wait for the disk.
inline constexpr std::size_t LINES_WAITING = 64;
inline constexpr std::size_t EVENTS_BUFFER_BYTES = std::size_t{4} << 10;
inline constexpr std::size_t MOST_PATH = 1024;

/// A file that is written in large pieces; without a path it takes everything and keeps nothing.
class RecordFile {
 public:
  void lay_out(Arena& arena, std::size_t room) {
    buffer_ = static_cast<char*>(arena.take(room));
    room_ = buffer_ == nullptr ? 0 : room;
  }

  bool create(const char* folder, const char* name, const char* ending, bool append) {
    char path[MOST_PATH];
    const int length = std::snprintf(path, sizeof path, "%s/%s%s", folder, name, ending);
    if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) return false;
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC);
    descriptor_ = ::open(path, flags, 0644);
    return descriptor_ >= 0;
  }

  /// Writes to a descriptor that is open already.
  void attach(int descriptor) { descriptor_ = descriptor; }

  bool is_open() const { return descriptor_ >= 0; }

  void put(const char* text, std::size_t size) {
    if (descriptor_ < 0) return;
    if (room_ - filled_ < size) flush();
    if (size > room_) {
      write_all(text, size);
      return;
    }
    std::memcpy(buffer_ + filled_, text, size);
    filled_ += size;
  }
  void put(const char* text) { put(text, std::strlen(text)); }

  __attribute__((format(printf, 2, 3))) void print(const char* format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    const int length = std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length > 0) put(text, std::strlen(text));
  }

  /// A text as JSON has it, with its quotes.
  void put_text(const char* text, std::size_t size) {
    put("\"", 1);
    std::size_t from = 0;
    for (std::size_t place = 0; place < size; ++place) {
      const unsigned char sign = static_cast<unsigned char>(text[place]);
      if (sign >= ' ' && sign != '"' && sign != '\\') continue;
      put(text + from, place - from);
      from = place + 1;
      if (sign == '"' || sign == '\\') {
        const char escaped[2] = {'\\', static_cast<char>(sign)};
        put(escaped, 2);
      } else {
        print("\\u%04x", sign);
      }
    }
    put(text + from, size - from);
    put("\"", 1);
  }
  void put_text(const char* text) { put_text(text, std::strlen(text)); }

  /// The shortest of some forms that is read as the same number.
  void put_number(double value) {
    if (std::isnan(value)) return put("NaN");
    if (std::isinf(value)) return put(value > 0 ? "Infinity" : "-Infinity");
    print("%.17g", value);
    if (value == std::floor(value) && std::fabs(value) < 1e17) put(".0");
  }

  void flush() {
    if (filled_ > 0) write_all(buffer_, filled_);
    filled_ = 0;
  }

  void close() {
    if (descriptor_ < 0) return;
    flush();
    ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  void write_all(const char* text, std::size_t size) {
    while (size > 0) {
      const ssize_t written = ::write(descriptor_, text, size);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return;  // the disk is full: the run goes on, the report says what it was
      text += written;
      size -= static_cast<std::size_t>(written);
    }
  }

  int descriptor_ = -1;
  char* buffer_ = nullptr;
  std::size_t room_ = 0;
  std::size_t filled_ = 0;
};

/// The longest that a row and what is said of it usually are, as a line. Signs of a text may be
/// written as six; a line that is longer is written at once.
constexpr std::size_t usual_line(const WireStream& stream) {
  constexpr std::size_t AROUND = 120;
  constexpr std::size_t NUMBER = 26;
  std::size_t bytes = AROUND;
  for (const WireColumn& column : stream.columns) {
    for (const char* sign = column.name; *sign != '\0'; ++sign) ++bytes;
    bytes += NUMBER + column.capacity;
  }
  return bytes;
}

constexpr std::size_t output_buffer(const NodeProgram& node, std::uint32_t output) {
  return LINES_WAITING * usual_line(node.wires[node.output_wires[output]]);
}

/// A row as a JSON object.
inline void put_row(RecordFile& file, const WireStream& stream, const void* row) {
  const std::byte* const fields = static_cast<const std::byte*>(row);
  file.put("{");
  for (std::uint32_t place = 0; place < stream.columns.count; ++place) {
    const WireColumn& column = stream.columns[place];
    if (place > 0) file.put(", ");
    file.put_text(column.name);
    file.put(": ");
    bool known = true;
    if (column.known != NEVER_UNKNOWN) std::memcpy(&known, fields + column.known, sizeof known);
    if (!known) {
      file.put("null");
      continue;
    }
    const std::byte* const field = fields + column.offset;
    const auto read = [field](auto value) {
      std::memcpy(&value, field, sizeof value);
      return value;
    };
    switch (column.type) {
      case WireType::BOOLEAN:
        file.put(read(bool{}) ? "true" : "false");
        break;
      case WireType::INT:
        file.print("%" PRId32, read(std::int32_t{}));
        break;
      case WireType::BIGINT:
        file.print("%" PRId64, read(std::int64_t{}));
        break;
      case WireType::FLOAT:
        file.put_number(static_cast<double>(read(float{})));
        break;
      case WireType::DOUBLE:
        file.put_number(read(double{}));
        break;
      case WireType::TEXT:
        file.put_text(reinterpret_cast<const char*>(field + TEXT_SIZE_BYTES),
                      read(std::uint16_t{}));
        break;
    }
  }
  file.put("}");
}

// ---------------------------------------------------------------- all records of a node

/// Events of one sort that are noted one by one; after that only counted.
inline constexpr std::int64_t NOTED = 100;
inline constexpr std::size_t DROP_KINDS = 4;
inline constexpr const char* DROP_NAMES[DROP_KINDS] = {"late", "failed", "rejected", "shed"};

class NodeRecords final : public Sinks, public NodeNotes {
  struct OutputRecord {
    RecordFile file;
    std::int64_t tuples = 0;
    std::int64_t missed = 0;
    LatencyHistogram latencies;
  };

 public:
  std::int64_t dropped_of[DROP_KINDS] = {};
  std::int64_t notes_left_out = 0;

  static constexpr std::size_t bytes(const NodeProgram& node) {
    const std::uint32_t outputs = node.program->outputs.count;
    std::size_t buffers = aligned(EVENTS_BUFFER_BYTES);
    for (std::uint32_t place = 0; place < outputs; ++place) {
      buffers += aligned(output_buffer(node, place));
    }
    return Objects<OutputRecord>::bytes(outputs) + buffers;
  }

  void open(Arena& arena, const NodeProgram& node) {
    node_ = &node;
    outputs_.open(arena, node.program->outputs.count);
    for (std::uint32_t place = 0; place < outputs_.size(); ++place) {
      outputs_[place].file.lay_out(arena, output_buffer(node, place));
    }
    events_.lay_out(arena, EVENTS_BUFFER_BYTES);
  }

  /// False when the files cannot be made.
  bool create(const char* folder, bool append) {
    if (!events_.create(folder, node_->node, ".events.jsonl", append)) return false;
    for (std::uint32_t place = 0; place < outputs_.size(); ++place) {
      const char* const name = node_->program->outputs[place].name;
      if (!outputs_[place].file.create(folder, name, ".jsonl", append)) return false;
    }
    return true;
  }

  /// Who gets the outputs besides: an application, and a subscriber by the network.
  void give_to(ApplicationBase* application, OtherNodes<MonotonicClock>* subscriber) {
    application_ = application;
    subscriber_ = subscriber;
  }

  // ---------------------------------------------------------------- from the kernel

  void output(Index place, const void* row, Nanoseconds completed, bool late) override {
    (void)late;
    OutputRecord& record = outputs_[place];
    const Output& table = node_->program->outputs[place];
    const Nanoseconds sensed = nanoseconds_of(timestamp_of(row));
    const Nanoseconds deadline = sensed + table.deadline;
    const bool missed = completed > deadline;
    ++record.tuples;
    record.missed += missed ? 1 : 0;
    record.latencies.add(completed - sensed);
    if (record.file.is_open()) {
      record.file.put("{\"row\": ");
      put_row(record.file, node_->wires[node_->output_wires[place]], row);
      record.file.print(", \"completed\": %" PRId64 ", \"deadline\": %" PRId64
                        ", \"missed\": %s}\n",
                        completed, deadline, missed ? "true" : "false");
    }
    if (subscriber_ != nullptr) subscriber_->publish(place, row, completed);
    if (application_ != nullptr) application_->output(place, row, completed);
  }

  void dropped(const Dropped& one, Nanoseconds now) override {
    const std::size_t kind = static_cast<std::size_t>(one.kind);
    if (++dropped_of[kind] > NOTED) return;
    begin_note("dropped");
    events_.print(", \"kind\": \"%s\", \"engine_time\": %" PRId64 ", \"where\": ", DROP_NAMES[kind],
                  now);
    events_.put_text(one.name);
    events_.print(", \"timestamp\": %" PRId64 "}\n", timestamp_of(one.row));
  }

  void event(const TraceEvent&) override {}

  // ---------------------------------------------------------------- from the rest of the node

  void note(const char* event, const char* peer, const char* reason) override {
    if (++noted_ > NOTED * 10) {
      ++notes_left_out;
      return;
    }
    begin_note(event);
    if (peer[0] != '\0') {
      events_.put(", \"peer\": ");
      events_.put_text(peer);
    }
    if (reason[0] != '\0') {
      events_.put(", \"reason\": ");
      events_.put_text(reason);
    }
    events_.put("}\n");
    events_.flush();
  }

  void note_number(const char* event, const char* name, std::int64_t number) {
    begin_note(event);
    events_.print(", \"%s\": %" PRId64 "}\n", name, number);
    events_.flush();
  }

  /// There is time to write.
  void idle() override {
    for (OutputRecord& output : outputs_) output.file.flush();
    events_.flush();
  }

  void close() {
    for (OutputRecord& output : outputs_) output.file.close();
    events_.close();
  }

  std::int64_t tuples(Index output) const { return outputs_[output].tuples; }
  std::int64_t missed(Index output) const { return outputs_[output].missed; }
  const LatencyHistogram& latencies(Index output) const { return outputs_[output].latencies; }

  bool has_hard() const {
    for (const Output& output : node_->program->outputs) {
      if (output.hard) return true;
    }
    return false;
  }

  std::int64_t missed_hard() const {
    std::int64_t sum = 0;
    for (std::uint32_t place = 0; place < outputs_.size(); ++place) {
      if (node_->program->outputs[place].hard) sum += outputs_[place].missed;
    }
    return sum;
  }

 private:
  void begin_note(const char* event) {
    events_.print("{\"at\": %" PRId64 ", \"node\": ", monotonic_now());
    events_.put_text(node_->node);
    events_.put(", \"event\": ");
    events_.put_text(event);
  }

  const NodeProgram* node_ = nullptr;
  Objects<OutputRecord> outputs_;
  RecordFile events_;
  std::int64_t noted_ = 0;
  ApplicationBase* application_ = nullptr;
  OtherNodes<MonotonicClock>* subscriber_ = nullptr;
};

}  // namespace headway
