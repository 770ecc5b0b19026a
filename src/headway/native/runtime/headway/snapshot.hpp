// A state as bytes that can be trusted: written and read in one order, with the program's
// fingerprint before it and a checksum behind it. Rows in it are taken as they are, so nothing of
// a state is looked at before the checksum has been found right.
#pragma once

#include "headway/tables.hpp"

namespace headway {

/// FNV-1a, 64 bits.
class Checksum {
 public:
  void add(const void* bytes, std::size_t count) {
    const unsigned char* const first = static_cast<const unsigned char*>(bytes);
    for (std::size_t place = 0; place < count; ++place) {
      value_ = (value_ ^ first[place]) * 0x100000001B3u;
    }
  }
  void add_text(const char* text) { add(text, std::strlen(text) + 1); }
  void add_number(std::uint64_t number) { add(&number, sizeof number); }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325u;
};

/// What two programs must have in common for one to take up the other's state.
inline std::uint64_t fingerprint_of(const Program& program) {
  Checksum sum;
  sum.add_text(program.query);
  for (const Source& source : program.sources) {
    sum.add_text(source.name);
    sum.add_number(source.row_bytes);
    sum.add_number(static_cast<std::uint64_t>(source.lateness));
    sum.add_number(source.shedding == nullptr ? 0 : source.shedding->at_most + 1);
  }
  for (const Unit& unit : program.units) {
    sum.add_text(unit.name);
    sum.add_number(unit.entry_bytes);
    for (const Step& step : unit.steps) {
      sum.add_text(step.name);
      sum.add_number(static_cast<std::uint64_t>(step.kind));
      sum.add_number(step.row_bytes);
    }
  }
  return sum.value();
}

/// Passes bytes on and adds them up.
class SummedWriter final : public StateWriter {
 public:
  explicit SummedWriter(StateWriter& to) : to_(to) {}
  void write(const void* bytes, std::size_t count) override {
    sum_.add(bytes, count);
    to_.write(bytes, count);
  }
  /// The last thing that is written.
  void seal() {
    const std::uint64_t sum = sum_.value();
    to_.write(&sum, sizeof sum);
  }

 private:
  StateWriter& to_;
  Checksum sum_;
};

/// Reads a block of memory.
class BlockReader final : public StateReader {
 public:
  BlockReader(const void* bytes, std::size_t count) {
    next_ = static_cast<const std::byte*>(bytes);
    left_ = count;
  }

  bool read(void* bytes, std::size_t count) override {
    if (count > left_) return false;
    std::memcpy(bytes, next_, count);
    next_ += count;
    left_ -= count;
    return true;
  }
  std::size_t left() const { return left_; }

  /// Whether the block ends with the checksum of what is before it; leaves that out from then on.
  bool unseal() {
    std::uint64_t wanted = 0;
    if (left_ < sizeof wanted) return false;
    left_ -= sizeof wanted;
    std::memcpy(&wanted, next_ + left_, sizeof wanted);
    Checksum sum;
    sum.add(next_, left_);
    return sum.value() == wanted;
  }
};

/// A truth value: false unless it was read and is one.
inline bool read_flag(StateReader& reader, bool& flag) {
  std::uint8_t byte = 0;
  if (!reader.get(byte) || byte > 1) return false;
  flag = byte != 0;
  return true;
}

}  // namespace headway
