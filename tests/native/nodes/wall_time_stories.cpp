// The time keeper of nodes on a clock that only operators move: what runs when is the same on every
// machine. Prints what happened, story by story.
#include <cstdio>
#include <vector>

#include "headway/wall_time.hpp"

namespace {

using headway::Index;
using headway::Nanoseconds;

constexpr Nanoseconds MS = 1'000'000;
headway::ManualClock wall_clock;

struct Row {
  headway::Microseconds timestamp;
  std::int64_t number;
};

template <int MILLISECONDS>
bool takes(const void*) {
  wall_clock.advance(MILLISECONDS * MS);
  return true;
}

/// Takes two milliseconds for each tuple of a batch; gives one row that says how many there were.
class Slow final : public headway::GatheringOperator {
 public:
  void open(headway::Arena&) override {}
  void accept(headway::Port, const void*, Nanoseconds, bool, headway::OperatorOutput&) override {}
  void begin(const headway::Batch&, Nanoseconds, bool) override { result_ = {0, 0}; }
  void item(const headway::Gathered& tuple, headway::OperatorOutput&) override {
    wall_clock.advance(2 * MS);
    result_.timestamp = headway::timestamp_of(tuple.row());
    result_.number = 10 * result_.number + static_cast<const Row*>(tuple.row())->number;
  }
  void end(Nanoseconds, headway::OperatorOutput& output) override { output.emit(&result_); }
  void save(headway::StateWriter&) const override {}
  bool load(headway::StateReader&) override { return true; }

 private:
  Row result_{};
};

/// Gives a row in two milliseconds, and makes it greater in one; five times at most.
class Anytime final : public headway::GatheringOperator {
 public:
  void open(headway::Arena&) override {}
  void accept(headway::Port, const void* row, Nanoseconds, bool,
              headway::OperatorOutput& output) override {
    wall_clock.advance(2 * MS);
    const Row result{headway::timestamp_of(row), 0};
    output.emit(&result);
  }
  void begin(const headway::Batch&, Nanoseconds, bool) override {}
  void item(const headway::Gathered&, headway::OperatorOutput&) override {}
  void end(Nanoseconds, headway::OperatorOutput&) override {}
  bool refine(headway::InnerRow* results, std::uint32_t piece, Nanoseconds) override {
    if (piece == 5) return false;
    wall_clock.advance(MS);
    for (Row& row : headway::WaitingRows<Row>(results)) ++row.number;
    return true;
  }
  void save(headway::StateWriter&) const override {}
  bool load(headway::StateReader&) override { return true; }
};

Slow slow_fusion;
Anytime anytime;

constexpr headway::Step filter_step(const char* name, headway::FilterFunction filter) {
  return {name, headway::StepKind::FILTER, 0, MS, sizeof(Row), filter, nullptr, nullptr, nullptr};
}
const headway::Step TRAIN[] = {filter_step("first", takes<2>), filter_step("second", takes<2>),
                               filter_step("third", takes<2>)};
const headway::Step QUICK[] = {filter_step("quick", takes<1>)};
const headway::Step FUSION[] = {{"fusion", headway::StepKind::STATEFUL, 0, MS, sizeof(Row), nullptr,
                                 nullptr, nullptr, &slow_fusion}};

const headway::Step ANYTIME[] = {{"anytime", headway::StepKind::STATEFUL, 0, 2 * MS, sizeof(Row),
                                  nullptr, nullptr, nullptr, &anytime}};
const headway::OptionalPart OPTIONAL_PART = {&anytime, 7, MS};

headway::Unit unit_of(const char* name, headway::Span<headway::Step> steps, Nanoseconds deadline,
                      Index exit) {
  headway::Unit unit{};
  unit.name = name;
  unit.steps = steps;
  unit.key = {headway::KeyBase::TIMESTAMP, deadline, 0};
  unit.exit = exit;
  unit.deadline = deadline;
  unit.entry_bytes = unit.inner_bytes = sizeof(Row);
  unit.most_jobs = 2;
  unit.most_pending = 8;
  unit.most_gathered = 1;
  unit.ports = 1;
  return unit;
}

headway::Unit fusion_of(Nanoseconds deadline, Index exit) {
  headway::Unit unit = unit_of("fusion", headway::span(FUSION), deadline, exit);
  unit.gather = headway::Gather::TIME;
  unit.between_items = true;
  unit.timeout = 10 * MS;
  unit.gathering = &slow_fusion;
  unit.most_gathered = 8;
  return unit;
}

headway::Unit anytime_of(Nanoseconds deadline, Index exit) {
  headway::Unit unit = unit_of("anytime", headway::span(ANYTIME), deadline, exit);
  unit.optional = &OPTIONAL_PART;
  return unit;
}

const headway::Entry INTO_TRAIN[] = {{0, 0}};
const headway::Entry INTO_QUICK[] = {{1, 0}};
const headway::Entry INTO_FUSION[] = {{2, 0}};
const Index TO_SLOW[] = {0};
const Index TO_QUICK[] = {1};
const Index TO_FUSED[] = {2};
const headway::Outlet OUTLETS[] = {
    {0, 0, sizeof(Row), {}, headway::span(INTO_TRAIN), false},
    {1, 0, sizeof(Row), {}, headway::span(INTO_QUICK), false},
    {2, 0, sizeof(Row), {}, headway::span(INTO_FUSION), false},
    {3, 0, sizeof(Row), headway::span(TO_SLOW), {}, false},
    {4, 0, sizeof(Row), headway::span(TO_QUICK), {}, false},
    {5, 0, sizeof(Row), headway::span(TO_FUSED), {}, false},
};
const headway::Stream STREAMS[] = {{"a", sizeof(Row), false}, {"b", sizeof(Row), false},
                                   {"c", sizeof(Row), false}, {"d", sizeof(Row), false},
                                   {"e", sizeof(Row), false}, {"f", sizeof(Row), false}};
const headway::Source SOURCES[] = {{"calm", 0, sizeof(Row), 0, {}, nullptr},
                                   {"urgent", 1, sizeof(Row), 0, {}, nullptr},
                                   {"seen", 2, sizeof(Row), 0, {}, nullptr}};
const headway::Output OUTPUTS[] = {{"slow", 3, 0, 100 * MS, false},
                                   {"quick", 4, 0, 5 * MS, true},
                                   {"fused", 5, 0, 100 * MS, false}};
const headway::NodeTable NODES[] = {{"ecu"}};
const headway::Unit UNITS[] = {unit_of("train", headway::span(TRAIN), 100 * MS, 3),
                               unit_of("quick", headway::span(QUICK), 5 * MS, 4),
                               fusion_of(100 * MS, 5)};

const headway::Unit WITH_ANYTIME[] = {anytime_of(20 * MS, 3), UNITS[1], UNITS[2]};
const headway::Unit WITH_A_NEAR_DEADLINE[] = {anytime_of(5 * MS, 3), UNITS[1], UNITS[2]};

headway::Program program_of(bool preemptive, headway::Span<headway::Unit> units) {
  headway::Program program{};
  program.query = "stories";
  program.preemptive = preemptive;
  program.units = units;
  program.outlets = headway::span(OUTLETS);
  program.streams = headway::span(STREAMS);
  program.sources = headway::span(SOURCES);
  program.outputs = headway::span(OUTPUTS);
  program.nodes = headway::span(NODES);
  program.most_events = 16;
  return program;
}

struct Told final : headway::Sinks {
  bool shows_runs = true;
  Told() { traced = true; }
  void output(Index output, const void* row, Nanoseconds completed, bool) override {
    std::printf("  %s %lld at %lld\n", OUTPUTS[output].name,
                static_cast<long long>(static_cast<const Row*>(row)->number),
                static_cast<long long>(completed / MS));
  }
  void dropped(const headway::Dropped& one, Nanoseconds) override {
    std::printf("  lost at %s\n", one.name);
  }
  void event(const headway::TraceEvent& event) override {
    const headway::EventKind kind = static_cast<headway::EventKind>(event.kind);
    if (kind == headway::EventKind::RUN && shows_runs) {
      std::printf("  %s.%d %lld-%lld\n", event.name, event.first,
                  static_cast<long long>(event.start / MS), static_cast<long long>(event.end / MS));
    }
    if (kind == headway::EventKind::PREEMPT) std::printf("  %s gives way\n", event.name);
    if (kind == headway::EventKind::RESUME) std::printf("  %s goes on\n", event.name);
    if (kind == headway::EventKind::TIMEOUT) std::printf("  timeout of %s\n", event.name);
    if (kind == headway::EventKind::CUT) {
      std::printf("  %s is cut at %lld\n", event.name, static_cast<long long>(event.start / MS));
    }
    if (kind == headway::EventKind::MISS) std::printf("  %s is missed\n", event.name);
  }
};

/// Admits all, and sums up what jobs are charged.
struct Charged final : headway::Overseer {
  Nanoseconds sum = 0;
  bool admit(headway::Job&) override { return true; }
  std::int64_t key_now(headway::Job& job, bool, bool&) override { return job.key; }
  bool overrun(const headway::Job&) const override { return false; }
  bool overrun(std::int64_t) const override { return false; }
  headway::EventKind resumed(const headway::Job&) const override {
    return headway::EventKind::RESUME;
  }
  void works(headway::Job&) override {}
  void worked(headway::Job&, Nanoseconds taken) override { sum += taken; }
  void ended(headway::PathJob*) override {}
};

using Time = headway::WallTime<headway::ManualClock>;

/// Nothing lies outside; waiting takes no time but moves the clock.
struct Alone final : headway::Outside {
  void exchange() override {}
  void wait(Nanoseconds until) override { wall_clock.reach(until); }
  void send(const headway::Outlet&, const void*, std::int64_t, bool) override {}
  void time_moved() override {}
  bool is_remote(Index source) const override { return marks[source] != headway::NO_TIME + 1; }
  headway::Microseconds mark_of(Index source) const override { return marks[source]; }
  headway::Microseconds marks[3] = {headway::NO_TIME + 1, headway::NO_TIME + 1,
                                    headway::NO_TIME + 1};
};

struct Listed final : headway::ArrivalSource {
  struct One {
    std::int64_t at;
    Index source;
    /// When it was sensed, before it arrived.
    std::int64_t age = 0;
  };
  std::vector<One> arrivals;
  std::size_t place = 0;
  Row row{};
  explicit Listed(std::vector<One> given) : arrivals(std::move(given)) {}
  bool next(headway::RecordedArrival& arrival) override {
    if (place == arrivals.size()) return false;
    const One& one = arrivals[place++];
    row = {(one.at - one.age) * 1000, static_cast<std::int64_t>(place)};
    arrival = {one.at * MS, one.source, false, &row};
    return true;
  }
};

void story(const char* title, bool preemptive, std::vector<Listed::One> arrivals,
           Nanoseconds stopped = 0, bool shows_runs = true,
           headway::Span<headway::Unit> units = headway::span(UNITS), Charged* charged = nullptr) {
  std::printf("%s\n", title);
  wall_clock = headway::ManualClock();
  alignas(headway::ALIGNMENT) static std::byte memory[1 << 16];
  headway::Arena arena(memory, sizeof memory);
  const headway::Program program = program_of(preemptive, units);
  Told told;
  told.shows_runs = shows_runs;
  Alone alone;
  Time time(program, told, wall_clock, alone);
  time.open(arena, charged);
  time.pace.set(0, 0, 1.0);
  wall_clock.advance(stopped);
  Listed listed(std::move(arrivals));
  time.run(listed);
  std::printf("  decisions %lld, preemptions %lld, no room %lld, worst lag %lld, left %zu\n",
              static_cast<long long>(time.kernel.counts.decisions),
              static_cast<long long>(time.kernel.counts.preemptions),
              static_cast<long long>(time.kernel.counts.no_room),
              static_cast<long long>(time.keeping_up.worst_lag / MS), time.jobs_waiting());
  const headway::Precision precision = time.kernel.precision(3);
  if (precision.asked != 0) {
    std::printf("  %lld of %lld pieces\n", static_cast<long long>(precision.done),
                static_cast<long long>(precision.asked));
  }
  if (charged != nullptr) {
    std::printf("  charged %lld\n", static_cast<long long>(charged->sum / MS));
  }
}

/// An optional part runs while there is nothing else to do.
void optional_story(const char* title, std::vector<Listed::One> arrivals,
                    headway::Span<headway::Unit> units = headway::span(WITH_ANYTIME),
                    Charged* charged = nullptr) {
  story(title, true, std::move(arrivals), 0, true, units, charged);
}

/// How far time has come at sources that are other nodes' streams.
void story_of_marks() {
  std::printf("marks\n");
  static std::byte memory[1 << 16];
  headway::Arena arena(memory, sizeof memory);
  const headway::Program program = program_of(true, headway::span(UNITS));
  Told told;
  Alone alone;
  Time time(program, told, wall_clock, alone);
  time.open(arena);
  const auto show = [&](const char* when) {
    std::printf("  %s:", when);
    for (Index source = 0; source < 3; ++source) {
      const headway::Microseconds mark = time.source_mark(source);
      if (mark == headway::NO_TIME) {
        std::printf(" none");
      } else if (mark >= headway::ENDED) {
        std::printf(" end");
      } else {
        std::printf(" %lld", static_cast<long long>(mark));
      }
    }
    std::printf("\n");
  };
  alone.marks[0] = headway::NO_TIME;
  alone.marks[1] = 70;
  alone.marks[2] = 50;
  show("one has not begun");
  time.set_lost(0, true);
  show("it is lost");
  time.set_lost(2, true);
  alone.marks[1] = 90;
  show("another is lost");
  time.set_lost(2, false);
  show("that one is back");
  time.end(1);
  show("one has ended");
  std::printf("  waits for the lost only: %d\n", time.waits_for_the_lost_only());
  time.end(2);
  std::printf("  waits for the lost only: %d\n", time.waits_for_the_lost_only());
  time.stop();
  show("stopped");
}

}  // namespace

int main() {
  story("an urgent tuple goes first at the border of an operator", true, {{0, 0}, {3, 1}});
  story("without preemption it waits", false, {{0, 0}, {3, 1}});
  story("an urgent tuple goes first between two items", true, {{0, 2}, {1, 2}, {2, 2}, {11, 1}});
  story("a batch does not overtake one of its unit that has begun", true,
        {{0, 2},
         {1, 2},
         {11, 1},
         {12, 1},
         {12, 2, 95},
         {13, 1},
         {14, 1},
         {15, 1},
         {16, 1},
         {17, 1},
         {18, 1},
         {19, 1},
         {20, 1},
         {21, 1},
         {22, 1}});
  story("a node that was stopped loses nothing", true,
        {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {7, 1}}, 50 * MS, false);
  optional_story("an optional part that ends early counts as done", {{0, 0}});
  optional_story("it is cut when anything else is ready", {{0, 0}, {4, 2}, {5, 1}});
  optional_story("it is left out when something waits already", {{0, 0}, {1, 1}});
  optional_story("it is cut at its deadline", {{0, 0}}, headway::span(WITH_A_NEAR_DEADLINE));
  Charged charged;
  optional_story("it costs no budget", {{0, 0}, {4, 1}}, headway::span(WITH_ANYTIME), &charged);
  story_of_marks();
  return 0;
}
