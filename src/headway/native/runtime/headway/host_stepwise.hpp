// A library that runs its program tuple by tuple, where nothing takes time.
#pragma once

#include "headway/host.hpp"
#include "headway/stepwise.hpp"

namespace headway::host {

class StepwiseHost final : public Host {
 public:
  StepwiseHost(const Program& the_program, Span<StreamLayout> the_streams, Span<PlaceOfLoss> places,
               Buffer* outputs, std::size_t operator_bytes)
      : Host(the_program, the_streams, places, outputs),
        time_(the_program, results),
        fleet_(time_, results, the_program),
        bytes_(Stepwise::bytes(the_program) + operator_bytes) {}

  bool start() override {
    std::byte* const memory = take_memory(bytes_);
    if (memory == nullptr || program.sources.count > MOST_SOURCES) return false;
    Arena arena(memory, bytes_);
    for (Operator* const one : program.stateful) one->open(arena);
    time_.open(arena);
    return fleet_.open();
  }

  void take(const ArrivalArrays& arrivals) override {
    ArrivalReader reader(program, nullptr);
    reader.begin(arrivals);
    GivenArrival given{};
    while (reader.next(given)) {
      if (given.malformed) {
        time_.reject(given.time, given.source, nullptr);
      } else {
        time_.take(given.time, given.source, given.row);
      }
    }
  }

  void run_until(Nanoseconds time) override { time_.run_until(time); }
  void finish() override { time_.finish(); }

  bool save(StateWriter& writer) override {
    time_.save(writer);
    return true;
  }
  bool load(const void* bytes, std::size_t size) override { return time_.load(bytes, size); }

  FleetEnd run_fleet(const FleetGiven& given, FleetGave& gave) override {
    return fleet_.run(given, gave);
  }

  RunCounts counts() const override {
    return counts_of(time_.kernel.counts, time_.kernel.now, time_.next_timer());
  }

  std::int64_t beyond_rate(Index) const override { return 0; }

 private:
  struct GivenArrival {
    Nanoseconds time;
    Index source;
    bool malformed;
    const void* row;
  };

  Stepwise time_;
  FleetLoop<Stepwise> fleet_;
  std::size_t bytes_;
};

}  // namespace headway::host
