// What waits and runs: jobs and the work they are given, timed calls, and the order at one instant.
#pragma once

#include <cstdint>

#include "headway/tables.hpp"

namespace headway {

/// The order of what happens at one instant.
enum class Order : std::uint8_t { FINISH, ARRIVAL, DELIVERY, TIMER, DECISION };

inline constexpr Nanoseconds NS_PER_US = 1000;

/// Sensing time as time of the engine; what would not fit lies at the end of time.
constexpr Nanoseconds nanoseconds_of(Microseconds timestamp) {
  constexpr Microseconds LAST = NEVER / NS_PER_US;
  if (timestamp > LAST) return NEVER;
  if (timestamp < -LAST) return -NEVER;
  return timestamp * NS_PER_US;
}

/// Rounded towards minus infinity.
constexpr std::int64_t floor_division(std::int64_t value, std::int64_t by) {
  const std::int64_t quotient = value / by;
  return quotient - (value % by != 0 && (value < 0) != (by < 0) ? 1 : 0);
}

// ---------------------------------------------------------------- roots

/// A root is the number of an arrival, or of a result that came without one; above it stands the
/// source that it came from (counted from 1; 0: none), under a gatekeeper its number in the plan.
inline constexpr unsigned ROOT_BITS = 48;

constexpr std::int64_t root_of(std::int64_t number, Index source) {
  return source == NONE ? number : number | static_cast<std::int64_t>(source + 1) << ROOT_BITS;
}
constexpr std::int64_t root_number(std::int64_t root) {
  return root & ((std::int64_t{1} << ROOT_BITS) - 1);
}
/// NONE for a result that a timer or a window gave.
constexpr Index source_of(std::int64_t root) {
  const std::int64_t source = root >> ROOT_BITS;
  return source == 0 ? NONE : static_cast<Index>(source - 1);
}

// ---------------------------------------------------------------- what is noted

/// The numbers of the Python engine's trace.
enum class EventKind : std::uint8_t {
  RUN = 0,
  PREEMPT = 1,
  RESUME = 2,
  TIMEOUT = 3,
  OUTPUT = 4,
  MISS = 5,
  SHED = 6,
  LATE = 7,
  FAILED = 8,
  REJECTED = 9,
  SEND = 10,
  RECEIVE = 11,
  RELEASE = 12,
  FRAME = 13,
  BEHIND = 14,
  BATCH = 15,
  OVERRUN = 16,
  REPLENISH = 17,
  CUT = 18,
};

// ---------------------------------------------------------------- timed calls

/// What is to be done when a time has come: by the kernel, or by the time keeper itself.
enum class CallKind : std::uint8_t {
  RELEASE_SHED,    // place: the source
  GATHER_TIMEOUT,  // place: the unit; number of the timer; root
  EXPIRE,          // place: the unit; argument: the operator; number: the token
  OPERATOR_ENDS,   // from here on, of time keepers. place: the group; core; argument: the job
  COURSE_ENDS,
  CONTINUE,
  CONTINUE_COURSE,
  FRAME_SENT,  // place: the medium; argument: the message; number: a place of the network's own
  PASS_ON,     // place: the branch; argument: the message
};

struct Call {
  CallKind what;
  Index place;
  Index core;
  std::int64_t number;
  std::int64_t root;
  void* argument;
};

/// A call at a time; the numbers make each unlike all others.
struct TimedCall {
  Nanoseconds time;
  /// Its place at one instant: the order in the uppermost byte, then its number.
  std::uint64_t turn;
  Call call;

  Order order() const { return static_cast<Order>(turn >> NUMBER_BITS); }
  std::int64_t number() const {
    return static_cast<std::int64_t>(turn & ((std::uint64_t{1} << NUMBER_BITS) - 1));
  }
  static constexpr std::uint64_t turn_of(Order order, std::int64_t number) {
    return static_cast<std::uint64_t>(order) << NUMBER_BITS | static_cast<std::uint64_t>(number);
  }

 private:
  static constexpr unsigned NUMBER_BITS = 56;
};
inline bool operator<(const TimedCall& left, const TimedCall& right) {
  if (left.time != right.time) return left.time < right.time;
  return left.turn < right.turn;
}

// ---------------------------------------------------------------- what is under way

inline constexpr std::uint32_t NO_FLIGHT = 0xFFFFFFFF;

/// Jobs of a unit, or messages of a stream, that windows must wait for: the oldest is at hand, and
/// each can leave at any time. Who is under way keeps its place here.
class Flights {
  struct Flight {
    Microseconds timestamp;
    std::uint32_t* place;
  };

 public:
  static constexpr std::size_t bytes(std::size_t capacity) { return List<Flight>::bytes(capacity); }
  void open(Arena& arena, std::size_t capacity) { flights_.open(arena, capacity); }

  bool take_off(Microseconds timestamp, std::uint32_t& place) {
    const Flight flight{timestamp, &place};
    if (!flights_.push(flight)) return false;
    rise(flights_.size() - 1, flight);
    return true;
  }

  void land(std::uint32_t place) {
    *flights_[place].place = NO_FLIGHT;
    const Flight last = flights_.pop();
    if (place == flights_.size()) return;
    if (place > 0 && last.timestamp < flights_[(place - 1) / 2].timestamp) {
      rise(place, last);
    } else {
      sink(place, last);
    }
  }

  /// The oldest timestamp under way, or what is given where none is older.
  Microseconds oldest(Microseconds otherwise) const {
    if (flights_.empty() || flights_[0].timestamp > otherwise) return otherwise;
    return flights_[0].timestamp;
  }
  bool empty() const { return flights_.empty(); }
  std::size_t size() const { return flights_.size(); }

  void clear() {
    for (Flight& flight : flights_) *flight.place = NO_FLIGHT;
    flights_.clear();
  }

 private:
  void put(std::size_t place, const Flight& flight) {
    flights_[place] = flight;
    *flight.place = static_cast<std::uint32_t>(place);
  }

  void rise(std::size_t place, const Flight& flight) {
    while (place > 0) {
      const std::size_t parent = (place - 1) / 2;
      if (!(flight.timestamp < flights_[parent].timestamp)) break;
      put(place, flights_[parent]);
      place = parent;
    }
    put(place, flight);
  }

  void sink(std::size_t place, const Flight& flight) {
    const std::size_t count = flights_.size();
    while (true) {
      std::size_t child = 2 * place + 1;
      if (child >= count) break;
      if (child + 1 < count && flights_[child + 1].timestamp < flights_[child].timestamp) ++child;
      if (!(flights_[child].timestamp < flight.timestamp)) break;
      put(place, flights_[child]);
      place = child;
    }
    put(place, flight);
  }

  List<Flight> flights_;
};

// ---------------------------------------------------------------- jobs

/// What a job is given.
enum class Work : std::uint8_t {
  FRESH_TUPLE,     // its tuple goes through the whole unit
  HEAD_RESULT,     // its tuple is a result that the head gave without a new tuple (a closed window,
                   // a timeout): the head's time is still to be spent, then it goes on behind it
  GATHERED_BATCH,  // one execution of a head that gathers
};

/// In place of the end of a piece: what follows is no piece of an optional part.
inline constexpr Nanoseconds MANDATORY = 0;

struct UnitState;
struct PathJob;

/// A unit with a tuple: ready, begun, or preempted. Its row, or the batch it runs, follows at
/// ROW_OFFSET.
struct Job {
  /// Among jobs made by one call.
  Job* next;
  UnitState* unit;
  /// How it is ordered: the least (key, tie) goes first. The tie is the second part of the policy's
  /// key, then the job's number.
  std::int64_t key;
  std::uint64_t tie;
  /// Number of the arrival that it goes back to.
  std::int64_t root;
  /// Time of the operator that is next or under way. It does what it does at the end of that time.
  Nanoseconds cost;
  /// MANDATORY, or by when the piece of an optional part that is next or under way must end; and
  /// when its results were there without it. A piece is not begun, but the part cut, when it would
  /// end later or when anything else is ready.
  Nanoseconds until;
  Nanoseconds since;
  /// The row before the operator that is next or under way: of the job, or in `inner`.
  const void* row;
  InnerRow* inner;
  /// Results that wait for their turn, the next one first.
  InnerRow* pending;
  /// What is reserved for it, under a policy that reserves.
  PathJob* path;
  /// Its place among the flights of its unit.
  std::uint32_t flight;
  /// Items of a batch that are still to come, where it runs item by item.
  std::uint32_t items_left;
  /// Pieces of its optional part that are done.
  std::uint32_t pieces_done;
  /// The operator that is next or under way.
  std::uint16_t step;
  /// Of a train that is one function: operators that take part, and those whose time is over or is
  /// when the one under way ends.
  std::uint16_t ran;
  std::uint16_t done;
  Port port;
  Work work;
  /// The mark of its tuple, and of the row.
  bool late;
  bool row_late;
  bool begun;
  bool timed_out;
  /// Whether a train that is one function has a result; it has taken the place of the tuple.
  bool passed;

  static constexpr unsigned NUMBER_BITS = 48;
  std::int64_t number() const {
    return static_cast<std::int64_t>(tie & ((std::uint64_t{1} << NUMBER_BITS) - 1));
  }
  void set_number(std::int64_t second, std::int64_t number) {
    tie = static_cast<std::uint64_t>(second) << NUMBER_BITS | static_cast<std::uint64_t>(number);
  }

  static constexpr std::size_t row_offset();
  void* own_row();
  Batch& batch();
};
inline constexpr std::size_t JOB_ROW_OFFSET = aligned(sizeof(Job));
constexpr std::size_t Job::row_offset() { return JOB_ROW_OFFSET; }
inline void* Job::own_row() { return reinterpret_cast<std::byte*>(this) + JOB_ROW_OFFSET; }
inline Batch& Job::batch() { return *static_cast<Batch*>(own_row()); }

/// A job in a queue of ready ones.
struct Ready {
  std::int64_t key;
  std::uint64_t tie;
  Job* job;

  static Ready of(Job& job) { return {job.key, job.tie, &job}; }
};
inline bool operator<(const Ready& left, const Ready& right) {
  if (left.key != right.key) return left.key < right.key;
  return left.tie < right.tie;
}

/// The second part of a key, of a tie.
constexpr std::int64_t second_of(std::uint64_t tie) {
  return static_cast<std::int64_t>(tie >> Job::NUMBER_BITS);
}

/// Whether a waiting job is more urgent than one that has begun, by key alone: of equal ones the
/// one that has begun goes on.
inline bool more_urgent(const Ready& waiting, const Job& begun) {
  if (waiting.key != begun.key) return waiting.key < begun.key;
  return second_of(waiting.tie) < second_of(begun.tie);
}

// ---------------------------------------------------------------- units

/// A unit as it runs: its pools, counts, jobs under way and the batch that it gathers.
struct UnitState {
  const Unit* table = nullptr;
  Index index = 0;
  Index steps = 0;
  /// Whether the whole train may run at once: no operator of it keeps state or gathers.
  bool whole = false;
  /// Whether its jobs run at once, where they are released.
  bool free = false;
  Slots jobs;
  Slots inner;
  Slots gathered;
  Flights flights;
  /// Time when the first n operators ran, by n.
  Nanoseconds* spent = nullptr;
  /// How many tuples ran through n operators, by n, where the whole train ran at once.
  std::int64_t* ran = nullptr;
  /// By operator, where it ran operator by operator; results inside the train.
  std::int64_t* consumed = nullptr;
  std::int64_t* produced = nullptr;
  /// Results of whole trains, and what stands between their operators.
  std::byte* scratch[2] = {nullptr, nullptr};
  /// Places of the watermarks of what its operators give out, NONE behind the last window.
  Index* marks = nullptr;
  // Of a head that gathers:
  Batch batch;
  Port ports_filled = 0;
  bool gathers_some = false;
  /// Timestamp and late mark of the oldest tuple of the batch.
  bool oldest_late = false;
  Microseconds oldest = 0;
  /// Number of the timer of the batch; 0: none runs.
  std::int64_t timer = 0;
  /// The job whose batch is being run item by item.
  Job* at_items = nullptr;
  /// Of its optional part.
  Precision precision;

  bool holds_windows_back() const { return table->holds_windows_back; }

  /// Operators of a train: how many tuples came to the one at a place, and left it for the next.
  std::int64_t consumed_by(std::uint32_t step) const {
    std::int64_t count = consumed[step];
    for (std::uint32_t n = step + 1; n <= steps; ++n) count += ran[n];
    return count;
  }
  std::int64_t produced_by(std::uint32_t step) const {
    std::int64_t count = produced[step];
    for (std::uint32_t n = step + 2; n <= steps; ++n) count += ran[n];
    return count;
  }

  static constexpr std::size_t job_bytes(const Unit& unit) {
    std::size_t row = unit.entry_bytes > unit.inner_bytes ? unit.entry_bytes : unit.inner_bytes;
    if (unit.gather != Gather::NOTHING && row < sizeof(Batch)) row = sizeof(Batch);
    return JOB_ROW_OFFSET + row;
  }
  static constexpr bool is_whole(const Unit& unit) {
    if (unit.gather != Gather::NOTHING) return false;
    for (const Step& step : unit.steps) {
      if (step.kind == StepKind::STATEFUL) return false;
    }
    return true;
  }

  static constexpr std::size_t bytes(const Unit& unit) {
    const std::size_t count = unit.steps.count;
    std::size_t sum = Slots::bytes(job_bytes(unit), unit.most_jobs);
    sum += Slots::bytes(InnerRow::ROW_OFFSET + unit.inner_bytes, unit.most_pending);
    sum += Slots::bytes(Gathered::ROW_OFFSET + unit.entry_bytes, unit.most_gathered);
    if (unit.holds_windows_back) sum += Flights::bytes(unit.most_jobs);
    sum += 2 * aligned((count + 1) * sizeof(std::int64_t));
    sum += 2 * aligned(count * sizeof(std::int64_t));
    sum += 2 * aligned(unit.inner_bytes) + aligned(count * sizeof(Index));
    return sum;
  }

  void open(const Unit& unit, Index place, bool free_units, Arena& arena) {
    table = &unit;
    index = place;
    steps = static_cast<Index>(unit.steps.count);
    whole = is_whole(unit);
    free = free_units && unit.free;
    jobs.open(arena, job_bytes(unit), unit.most_jobs);
    inner.open(arena, InnerRow::ROW_OFFSET + unit.inner_bytes, unit.most_pending);
    gathered.open(arena, Gathered::ROW_OFFSET + unit.entry_bytes, unit.most_gathered);
    if (unit.holds_windows_back) flights.open(arena, unit.most_jobs);
    const std::size_t count = unit.steps.count;
    spent = static_cast<Nanoseconds*>(arena.take((count + 1) * sizeof(Nanoseconds)));
    ran = static_cast<std::int64_t*>(arena.take((count + 1) * sizeof(std::int64_t)));
    consumed = static_cast<std::int64_t*>(arena.take(count * sizeof(std::int64_t)));
    produced = static_cast<std::int64_t*>(arena.take(count * sizeof(std::int64_t)));
    for (std::byte*& one : scratch) one = static_cast<std::byte*>(arena.take(unit.inner_bytes));
    marks = static_cast<Index*>(arena.take(count * sizeof(Index)));
    for (std::uint32_t step = 0; step < count; ++step) {
      spent[step + 1] = spent[step] + unit.steps[step].cost;
      marks[step] = NONE;
    }
  }
};

/// The tuples of a batch are used up.
inline void give_batch(UnitState& unit, Batch& batch) {
  for (Gathered*& first : batch.first) {
    while (first != nullptr) {
      Gathered* const next = first->next;
      unit.gathered.give(first);
      first = next;
    }
  }
}

}  // namespace headway
