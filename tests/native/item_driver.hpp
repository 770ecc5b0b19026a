// Runs programs in which nothing takes time, but batches go item by item, as on a wall clock.
#pragma once

#include "headway/kernel.hpp"
#include "trace_driver.hpp"

namespace driver {

class ItemByItem {
 public:
  static constexpr bool FREE_UNITS = true;
  static constexpr bool ITEM_BY_ITEM = true;

  headway::Kernel<ItemByItem> kernel;

  ItemByItem(const headway::Program& program, headway::Sinks& sinks)
      : kernel(program, *this, sinks), program_(program) {}

  void open(headway::Arena& arena) {
    kernel.open(arena, false);
    events_.open(arena, program_.most_events);
  }

  void take(const headway::SourceArrival& arrival) {
    run_until(arrival.time);
    if (arrival.time > kernel.now) kernel.now = arrival.time;
    kernel.arrive(arrival.source, arrival.row);
  }

  void run_until(headway::Nanoseconds time) {
    while (!events_.empty() && events_.top().time < time) {
      const headway::TimedCall event = events_.pop();
      kernel.now = event.time;
      kernel.run(event.call);
    }
  }

  void finish() {
    run_until(headway::NEVER);
    for (const headway::ClosingOperator& closing : program_.closing) {
      kernel.finish(closing);
      run_until(headway::NEVER);
    }
  }

  bool at(headway::Nanoseconds time, headway::Order order, const headway::Call& call) {
    return events_.push({time, headway::TimedCall::turn_of(order, kernel.next_number()), call});
  }
  bool queue(headway::Job&) { return false; }
  void send(const headway::Outlet&, const void*, std::int64_t, bool) {}
  void time_moved() { kernel.look(false); }
  headway::Microseconds source_mark(headway::Index source) {
    return kernel.ingest(source).watermark();
  }
  headway::Nanoseconds completed() const { return kernel.now; }

 private:
  const headway::Program& program_;
  headway::Heap<headway::TimedCall> events_;
};

inline void run_items(const headway::Program& program, std::size_t operator_bytes,
                      const char* arrivals, const char* told) {
  std::FILE* const file = std::fopen(told, "w");
  if (file == nullptr) std::abort();
  Teller teller(program, file);
  teller.traced = false;
  ItemByItem time(program, teller);
  void* const memory = std::malloc(operator_bytes + 16);
  if (memory == nullptr) std::abort();
  headway::Arena arena(static_cast<std::byte*>(memory), operator_bytes);
  for (headway::Operator* const one : program.stateful) one->open(arena);
  time.open(arena);
  time.kernel.now = -headway::NEVER;
  ArrivalFile given(program, arrivals);
  headway::SourceArrival arrival{};
  while (given.next(arrival)) time.take(arrival);
  time.finish();
  std::fclose(file);
}

}  // namespace driver
