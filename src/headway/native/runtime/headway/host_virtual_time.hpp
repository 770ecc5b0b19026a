// A library that runs its program in virtual time.
#pragma once

#include "headway/host.hpp"
#include "headway/virtual_time.hpp"

namespace headway::host {

class VirtualTimeHost final : public Host {
 public:
  VirtualTimeHost(const Program& the_program, Span<StreamLayout> the_streams,
                  Span<PlaceOfLoss> places, Buffer* outputs, std::size_t operator_bytes)
      : Host(the_program, the_streams, places, outputs),
        time_(the_program, results),
        bytes_(kernel_bytes(the_program) + operator_bytes) {}

  bool start() override {
    std::byte* const memory = take_memory(bytes_);
    if (memory == nullptr || program.sources.count > MOST_SOURCES) return false;
    Arena arena(memory, bytes_);
    for (Operator* const one : program.stateful) one->open(arena);
    time_.open(arena);
    return true;
  }

  void run(More more) override {
    ArrivalReader arrivals(program, more);
    time_.run(arrivals);
  }

  RunCounts counts() const override {
    return counts_of(time_.kernel.counts, time_.kernel.now, NEVER);
  }

  std::int64_t beyond_rate(Index source) const override {
    return const_cast<VirtualTime&>(time_).kernel.ingest(source).watch.beyond;
  }

  Precision precision(Index stream) const override { return time_.kernel.precision(stream); }

 private:
  VirtualTime time_;
  std::size_t bytes_;
};

}  // namespace headway::host
