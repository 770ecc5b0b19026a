// What a run gives, kept for the process that loaded the program as a library: outputs, dropped
// tuples and the trace, as arrays of plain records that it reads where they lie.
//
// Unlike everything that runs in a vehicle, this asks the heap for memory as it goes.
#pragma once

#include <cstdlib>

#include "headway/tables.hpp"

namespace headway::host {

/// Bytes that grow at their end.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(bytes_); }

  /// Room for so many more bytes at the end; null when the machine has none left.
  std::byte* add(std::size_t count) {
    if (count > capacity_ - size_ && !grow(count)) return nullptr;
    std::byte* const place = bytes_ + size_;
    size_ += count;
    return place;
  }

  bool append(const void* bytes, std::size_t count) {
    if (count == 0) return true;
    std::byte* const place = add(count);
    if (place == nullptr) return false;
    std::memcpy(place, bytes, count);
    return true;
  }

  void clear() { size_ = 0; }
  const std::byte* data() const { return bytes_; }
  std::byte* at(std::size_t place) { return bytes_ + place; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  /// What was written behind the end, within the capacity, belongs to it.
  void lengthen(std::size_t size) { size_ = size; }

 private:
  bool grow(std::size_t count) {
    std::size_t wanted = capacity_ < 4096 ? 4096 : 2 * capacity_;
    while (wanted - size_ < count) wanted *= 2;
    void* const larger = std::realloc(bytes_, wanted);
    if (larger == nullptr) return false;
    bytes_ = static_cast<std::byte*>(larger);
    capacity_ = wanted;
    return true;
  }

  std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Before each row of an output: when it was completed, its place among the results of all
/// outputs, and whether it is marked late. The row follows at once.
struct OutputHeader {
  Nanoseconds completed;
  std::uint64_t number : 63;
  std::uint64_t late : 1;
};
static_assert(sizeof(OutputHeader) == 16);

/// A tuple that left its way; its row begins at `row` among the bytes of all dropped rows. One that
/// did not have the form of its source has none.
struct DropRecord {
  Nanoseconds now;
  std::int64_t detail;
  std::uint64_t row;
  const char* name;
  /// A shed tuple's value: `rank` tells whether it is NULL, a number or NaN.
  std::int64_t whole;
  double real;
  std::uint8_t rank;
  std::uint8_t kind;
  std::uint8_t reason;
  std::uint8_t at_source;
  Port port;
  std::uint8_t unused[3];
};
static_assert(sizeof(DropRecord) == 5 * 8 + sizeof(void*) + 8);

/// An operator at which tuples can be dropped: its own stream, and those that come in by its ports.
struct PlaceOfLoss {
  const char* name;
  Index own;
  Span<Index> streams;
};

class Results final : public Sinks {
 public:
  Results(const Program& program, Span<PlaceOfLoss> places, Buffer* outputs)
      : program_(&program), places_(places), outputs_(outputs) {}

  /// Without it outputs are counted only.
  bool kept = true;

  void output(Index output, const void* row, Nanoseconds completed, bool late) override {
    const std::uint64_t number = given_++;
    if (!kept) return;
    const std::size_t bytes = program_->streams[program_->outputs[output].stream].row_bytes;
    std::byte* const place = outputs_[output].add(sizeof(OutputHeader) + bytes);
    if (place == nullptr) {
      complete_ = false;
      return;
    }
    OutputHeader header{};
    header.completed = completed;
    header.number = number & ~(std::uint64_t{1} << 63);
    header.late = late ? 1 : 0;
    std::memcpy(place, &header, sizeof header);
    std::memcpy(place + sizeof header, row, bytes);
  }

  void dropped(const Dropped& one, Nanoseconds now) override {
    DropRecord record{};
    record.now = now;
    record.detail = one.detail;
    record.row = rows_.size();
    record.whole = one.value.whole;
    record.real = one.value.real;
    record.name = one.name;
    record.kind = static_cast<std::uint8_t>(one.kind);
    record.reason = static_cast<std::uint8_t>(one.reason);
    record.at_source = one.at_source ? 1 : 0;
    record.port = one.port;
    record.rank = one.value.rank;
    if (one.row != nullptr && !rows_.append(one.row, row_bytes(one))) complete_ = false;
    if (!drops_.append(&record, sizeof record)) complete_ = false;
  }

  void event(const TraceEvent& event) override {
    if (!events_.append(&event, sizeof event)) complete_ = false;
  }

  void clear() {
    for (std::uint32_t place = 0; place < program_->outputs.count; ++place) {
      outputs_[place].clear();
    }
    drops_.clear();
    rows_.clear();
    events_.clear();
    given_ = 0;
    complete_ = true;
  }

  /// Tuples of all outputs since the last `clear`.
  std::uint64_t given() const { return given_; }
  /// Whether the memory was enough for all.
  bool complete() const { return complete_; }
  const Buffer& output_rows(Index output) const { return outputs_[output]; }
  /// Rows of an output that are kept.
  std::uint64_t count_of(Index output) const {
    const std::size_t row = program_->streams[program_->outputs[output].stream].row_bytes;
    return outputs_[output].size() / (sizeof(OutputHeader) + row);
  }
  const Buffer& drops() const { return drops_; }
  const Buffer& dropped_rows() const { return rows_; }
  const Buffer& events() const { return events_; }

 private:
  std::size_t row_bytes(const Dropped& one) const {
    if (one.at_source) return program_->sources[one.where].row_bytes;
    for (const PlaceOfLoss& place : places_) {
      if (std::strcmp(place.name, one.name) != 0) continue;
      // By no port: a result of its own.
      const Index stream = one.port < place.streams.count ? place.streams[one.port] : place.own;
      return program_->streams[stream].row_bytes;
    }
    return 0;
  }

  const Program* program_;
  Span<PlaceOfLoss> places_;
  /// One for every output of the program.
  Buffer* outputs_;
  bool complete_ = true;
  std::uint64_t given_ = 0;
  Buffer drops_;
  Buffer rows_;
  Buffer events_;
};

}  // namespace headway::host
