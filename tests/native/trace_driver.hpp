// Runs programs in virtual time over arrivals from a file, and writes down all that happens.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "headway/virtual_time.hpp"

namespace driver {

/// Writes a line for everything.
class Teller final : public headway::Sinks {
 public:
  Teller(const headway::Program& program, std::FILE* file) : program_(program), file_(file) {
    traced = true;
  }

  void output(headway::Index output, const void* row, headway::Nanoseconds completed,
              bool late) override {
    const headway::Output& table = program_.outputs[output];
    std::fprintf(file_, "output|%s|%lld|%d|", table.name, static_cast<long long>(completed), late);
    tell_bytes(row, program_.streams[table.stream].row_bytes);
  }

  void dropped(const headway::Dropped& one, headway::Nanoseconds now) override {
    std::fprintf(file_, "drop|%s|%d|%lld|%lld|%d\n", one.name, static_cast<int>(one.kind),
                 static_cast<long long>(now),
                 one.row == nullptr ? -1LL : static_cast<long long>(headway::timestamp_of(one.row)),
                 one.port);
  }

  void event(const headway::TraceEvent& one) override {
    std::fprintf(file_, "event|%d|%lld|%lld|%s|%s|%s|%lld|%d|%d\n", one.kind,
                 static_cast<long long>(one.start), static_cast<long long>(one.end), one.node,
                 one.place, one.name, static_cast<long long>(one.number), one.first, one.count);
  }

 private:
  void tell_bytes(const void* row, std::size_t count) {
    for (std::size_t place = 0; place < count; ++place) {
      std::fprintf(file_, "%02x", static_cast<const unsigned char*>(row)[place]);
    }
    std::fputc('\n', file_);
  }

  const headway::Program& program_;
  std::FILE* file_;
};

/// Reads arrivals: the time, the source (with 0x8000: malformed), the row.
class ArrivalFile {
 public:
  ArrivalFile(const headway::Program& program, const char* path)
      : program_(program), file_(std::fopen(path, "rb")) {}
  ~ArrivalFile() {
    if (file_ != nullptr) std::fclose(file_);
  }
  ArrivalFile(const ArrivalFile&) = delete;
  ArrivalFile& operator=(const ArrivalFile&) = delete;

  bool next(headway::SourceArrival& arrival) {
    std::uint16_t source = 0;
    if (file_ == nullptr || std::fread(&arrival.time, sizeof arrival.time, 1, file_) != 1 ||
        std::fread(&source, sizeof source, 1, file_) != 1) {
      return false;
    }
    arrival.malformed = (source & 0x8000) != 0;
    arrival.source = static_cast<headway::Index>(source & 0x7FFF);
    std::byte* const row = rows_[turn_];
    turn_ = 1 - turn_;
    arrival.row = arrival.malformed ? nullptr : row;
    const std::size_t bytes = program_.sources[arrival.source].row_bytes;
    return arrival.malformed || std::fread(row, bytes, 1, file_) == 1;
  }

 private:
  const headway::Program& program_;
  std::FILE* file_;
  int turn_ = 0;
  alignas(16) std::byte rows_[2][4096];
};

/// Runs a program; its numbers come last.
inline void run(const headway::Program& program, std::size_t operator_bytes, const char* arrivals,
                const char* told) {
  std::FILE* const file = std::fopen(told, "w");
  if (file == nullptr) std::abort();
  Teller teller(program, file);
  headway::VirtualTime time(program, teller);
  const std::size_t bytes = headway::kernel_bytes(program) + operator_bytes;
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) std::abort();
  headway::Arena arena(static_cast<std::byte*>(memory), bytes);
  for (headway::Operator* const one : program.stateful) one->open(arena);
  time.open(arena);
  std::fprintf(file, "left|%zu\n", arena.left());
  ArrivalFile file_of_arrivals(program, arrivals);
  time.run(file_of_arrivals);
  const headway::Counts& counts = time.kernel.counts;
  std::fprintf(file, "counts|%lld|%lld|%lld|%lld|%lld|%lld|%lld\n",
               static_cast<long long>(counts.arrived), static_cast<long long>(counts.decisions),
               static_cast<long long>(counts.preemptions), static_cast<long long>(counts.timeouts),
               static_cast<long long>(counts.refused), static_cast<long long>(time.kernel.now),
               static_cast<long long>(counts.no_room));
  for (std::uint32_t source = 0; source < program.sources.count; ++source) {
    const headway::Ingest& ingest = time.kernel.ingest(static_cast<headway::Index>(source));
    std::fprintf(file, "beyond|%s|%lld\n", program.sources[source].name,
                 static_cast<long long>(ingest.watch.beyond));
  }
  for (std::uint32_t place = 0; place < program.units.count; ++place) {
    const headway::UnitState& unit = time.kernel.unit(static_cast<headway::Index>(place));
    for (std::uint32_t step = 0; step < unit.steps; ++step) {
      std::fprintf(file, "ran|%s|%lld|%lld\n", program.units[place].steps[step].name,
                   static_cast<long long>(unit.consumed_by(step)),
                   static_cast<long long>(unit.produced_by(step)));
    }
  }
  std::fclose(file);
}

}  // namespace driver
