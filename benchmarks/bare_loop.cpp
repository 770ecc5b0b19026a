// The programs of stream_cases.py as an expert would write each by hand: a heap of jobs by
// deadline, and the operators. No plan, no trace, no rates, no lateness, nothing that could be
// switched on: the limit of what an engine with a scheduler can reach.
//
//   bare_loop CASE TUPLES REPEATS  ->  {"seconds": [...], "out": N}
//
// `fusion` runs the operator of the runtime library (the program is compiled with the generated
// code of that case); the other operators are written out here.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <queue>
#include <vector>

#if defined(WITH_FUSION)
#include "program.hpp"
#endif

namespace {

struct Number {
  double value;
  bool known;
};
struct Whole {
  std::int32_t value;
  bool known;
};
struct Row {
  std::int64_t timestamp;
  Number v;
  Whole k;
};

constexpr std::int64_t KEYS = 7;
constexpr std::int64_t BRANCHES = 8;
constexpr std::int64_t EVERY = 20;
constexpr std::int64_t WITHIN = 20;
constexpr std::int64_t WINDOW = 10'000;

struct Job {
  std::int64_t deadline;
  std::uint64_t number;
  std::uint32_t branch;
  const Row* row;
};
struct Later {
  bool operator()(const Job& left, const Job& right) const {
    if (left.deadline != right.deadline) return left.deadline > right.deadline;
    return left.number > right.number;
  }
};
using Heap = std::priority_queue<Job, std::vector<Job>, Later>;

/// Counts results; what they are goes into a sum, so that none can be left out.
struct Results {
  std::uint64_t count = 0;
  double sum = 0;
  void take(const Row& row) {
    ++count;
    sum += row.v.value + static_cast<double>(row.timestamp);
  }
};

std::vector<Row> rows_every(std::int64_t every, std::int64_t tuples) {
  std::vector<Row> rows(static_cast<std::size_t>(tuples));
  for (std::int64_t i = 0; i < tuples; ++i) {
    rows[static_cast<std::size_t>(i)] = {
        i * every, {static_cast<double>(i), true}, {static_cast<std::int32_t>(i % KEYS), true}};
  }
  return rows;
}

// ---------------------------------------------------------------- chain and fan-out

bool chain(const Row& row, Row& out) {
  out = row;
  if (out.v.known) out.v.value += 1;
  if (!(out.v.known && out.v.value > -1)) return false;
  out.v.value += 1;
  if (!(out.v.value > -1)) return false;
  out.v.value += 1;
  return true;
}

void run_chain(const std::vector<Row>& rows, Results& results) {
  Heap ready;
  std::uint64_t number = 0;
  for (const Row& row : rows) {
    ready.push({row.timestamp + 1000, ++number, 0, &row});
    while (!ready.empty()) {
      const Job job = ready.top();
      ready.pop();
      Row out;
      if (chain(*job.row, out)) results.take(out);
    }
  }
}

void run_fan_out(const std::vector<Row>& rows, Results& results) {
  Heap ready;
  std::uint64_t number = 0;
  for (const Row& row : rows) {
    for (std::uint32_t branch = 0; branch < BRANCHES; ++branch) {
      ready.push({row.timestamp + 1000, ++number, branch, &row});
    }
    while (!ready.empty()) {
      const Job job = ready.top();
      ready.pop();
      Row out = *job.row;
      if (out.v.known) out.v.value += job.branch;
      results.take(out);
    }
  }
}

// ---------------------------------------------------------------- join and aggregate

/// The rows of one side and key that can still find a partner.
struct Kept {
  std::vector<Row> rows;
  std::size_t first = 0;

  void forget_before(std::int64_t oldest) {
    while (first < rows.size() && rows[first].timestamp < oldest) ++first;
    if (first > 64 && 2 * first > rows.size()) {
      rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(first));
      first = 0;
    }
  }
};

void run_join(const std::vector<Row>& rows, Results& results) {
  Heap ready;
  std::uint64_t number = 0;
  Kept kept[2][KEYS];
  for (const Row& row : rows) {
    for (std::uint32_t side = 0; side < 2; ++side) {
      ready.push({row.timestamp + 1000, ++number, side, &row});
      while (!ready.empty()) {
        const Job job = ready.top();
        ready.pop();
        const Row& one = *job.row;
        if (!one.k.known) continue;
        Kept& others = kept[1 - job.branch][one.k.value];
        others.forget_before(one.timestamp - WITHIN);
        for (std::size_t place = others.first; place < others.rows.size(); ++place) {
          const Row& other = others.rows[place];
          if (other.timestamp > one.timestamp + WITHIN) break;
          Row pair = one;
          pair.v.known = one.v.known && other.v.known;
          pair.v.value += other.v.value;
          results.take(pair);
        }
        kept[job.branch][one.k.value].rows.push_back(one);
      }
    }
  }
}

void run_aggregate(const std::vector<Row>& rows, Results& results) {
  struct Group {
    std::int64_t oldest = 0;
    double sum = 0;
    std::int64_t count = 0;
  };
  Heap ready;
  std::uint64_t number = 0;
  Group groups[KEYS];
  std::int64_t window = 0;
  const auto close = [&] {
    for (std::int64_t key = 0; key < KEYS; ++key) {
      Group& group = groups[key];
      if (group.count == 0) continue;
      results.take({group.oldest, {group.sum, true}, {static_cast<std::int32_t>(key), true}});
      group = Group{};
    }
  };
  for (const Row& row : rows) {
    ready.push({row.timestamp + 1000, ++number, 0, &row});
    while (!ready.empty()) {
      const Row& one = *ready.top().row;
      ready.pop();
      if (one.timestamp / WINDOW != window) {
        close();
        window = one.timestamp / WINDOW;
      }
      if (!one.k.known) continue;
      Group& group = groups[one.k.value];
      if (group.count == 0 || one.timestamp < group.oldest) group.oldest = one.timestamp;
      if (one.v.known) group.sum += one.v.value;
      ++group.count;
    }
  }
  close();
}

// ---------------------------------------------------------------- fusion

#if defined(WITH_FUSION)

class Counting final : public headway::OperatorOutput {
 public:
  std::uint64_t count = 0;
  void emit(const void*) override { ++count; }
  void drop(headway::DropKind, headway::Reason, std::int64_t, headway::Port, const void*) override {
  }
  void start_timer(headway::Nanoseconds, std::int64_t) override {}
};

template <class GivenRow>
headway::Gathered* gathered(const GivenRow& row, headway::Port port, std::byte* memory) {
  headway::Gathered* const slot = new (memory) headway::Gathered{nullptr, port, false};
  std::memcpy(slot->row(), &row, sizeof row);
  return slot;
}

/// Goes on where the run before it ended: the operator remembers the drive.
std::uint64_t run_fusion(std::int64_t tuples, int repeat) {
  namespace program = own;
  headway::GatheringOperator& fusion = *program::PROGRAM.units[0].gathering;
  alignas(std::max_align_t) static std::byte memory[2][256];
  Heap ready;
  Counting counting;
  std::uint64_t number = 0;
  const std::int64_t pairs = tuples / 2;
  for (std::int64_t i = repeat * pairs; i < (repeat + 1) * pairs; ++i) {
    const std::int64_t moment = i * 100'000;
    const program::Gps fix{
        moment, {static_cast<float>(i) * 2.0F, true}, {static_cast<float>(i), true}, {0.46F, true}};
    const program::Speed speed{moment + 1000, {22.4F, true}};
    headway::Batch batch;
    batch.first[0] = batch.last[0] = gathered(fix, 0, memory[0]);
    batch.first[1] = batch.last[1] = gathered(speed, 1, memory[1]);
    batch.items = 2;
    ready.push({moment + 1000, ++number, 0, nullptr});
    ready.pop();
    fusion.execute(batch, 2, (moment + 1000) * 1000, false, counting);
  }
  return counting.count;
}

#endif

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const char* const name = arguments[1];
  const std::int64_t tuples = std::atoll(arguments[2]);
  const int repeats = std::atoi(arguments[3]);
  const auto is = [name](const char* other) { return std::strcmp(name, other) == 0; };
  const std::vector<Row> rows = is("chain")    ? rows_every(10, tuples)
                                : is("join")   ? rows_every(EVERY, tuples / 2)
                                : is("fusion") ? std::vector<Row>()
                                               : rows_every(EVERY, tuples);
#if defined(WITH_FUSION)
  static std::byte memory[own::OPERATOR_BYTES + 1024];
  headway::Arena arena(memory, sizeof memory);
  for (headway::Operator* const one : own::PROGRAM.stateful) one->open(arena);
#endif
  std::uint64_t out = 0;
  double sum = 0;
  std::printf("{\"seconds\": [");
  for (int repeat = 0; repeat < repeats; ++repeat) {
    Results results;
    const double start = cpu_seconds();
    if (is("chain")) run_chain(rows, results);
    if (is("fan_out")) run_fan_out(rows, results);
    if (is("join")) run_join(rows, results);
    if (is("aggregate")) run_aggregate(rows, results);
#if defined(WITH_FUSION)
    if (is("fusion")) results.count = run_fusion(tuples, repeat);
#endif
    std::printf("%s%.9f", repeat == 0 ? "" : ", ", cpu_seconds() - start);
    out = results.count;
    sum += results.sum;
  }
  std::printf("], \"out\": %llu, \"sum\": %.17g}\n", static_cast<unsigned long long>(out), sum);
  return 0;
}
