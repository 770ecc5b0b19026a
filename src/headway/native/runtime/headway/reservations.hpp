// Reservations: admission at release, budgets at the borders of operators (ROP-EDF section 4).
//
// The jobs of a reservation are tuples on operator paths; each node has a ledger that is told of
// releases and completions. A tuple that comes to a path on a node is a job there, and stays the
// same job through the trains of that path on the node. A job whose budget does not hold its next
// operator becomes overrun if another job is ready, and goes on when none is. Operators are not
// interrupted, so unlike in a task set
//
// - what is left of a budget when the next operator does not fit is not used,
// - a job that comes while an overrun or less urgent one runs waits for that one's operator to end.
//
// C_SUMH stays reserved for good: it holds all tuples of the hard paths at their declared rates, so
// a hard tuple is admitted as it is, with its declared work as its budget; one beyond the rates is
// kept from hard trains at the entrance. A soft tuple reserves until it is done and its deadline
// has passed, or is rejected.
#pragma once

#include "headway/overseer.hpp"

namespace headway {

/// All of a node's capacity, in millionths.
inline constexpr std::int64_t FULL = 1'000'000;
inline constexpr Nanoseconds UNLIMITED = std::int64_t{1} << 62;

/// floor(window * held / FULL), without an intermediate result that is too large.
constexpr std::int64_t part_of(std::int64_t window, std::int64_t held) {
  const std::int64_t whole = floor_division(window, FULL);
  return whole * held + (window - whole * FULL) * held / FULL;
}

/// What a job asks for: its work by its window, in millionths rounded up; more than all where its
/// window is over.
constexpr std::int64_t utilisation_of(Nanoseconds work, Nanoseconds window) {
  if (window <= 0 || work > INT64_MAX / FULL - 1) return FULL + 1;
  return -floor_division(-work * FULL, window);
}

/// A tuple on an operator path of one node.
struct PathJob {
  PathPlace place;
  bool overrun;
  /// Trains that still have to run for it.
  std::uint32_t pending;
  Nanoseconds deadline;
  Nanoseconds budget;
  std::int64_t utilisation;
  /// What it has reserved.
  std::int64_t held;
};

// ---------------------------------------------------------------- the books of a node

class Ledger {
  struct Return {
    Nanoseconds deadline;
    std::int64_t held;
    Index task;

    friend bool operator<(const Return& left, const Return& right) {
      return left.deadline < right.deadline;
    }
  };

 public:
  static constexpr std::size_t bytes(const LedgerTable& table, std::size_t most_jobs) {
    return aligned(table.tasks.count * sizeof(std::int64_t)) + Heap<Return>::bytes(most_jobs);
  }

  void open(const LedgerTable& table, SoftRule rule, std::size_t most_jobs, Arena& arena) {
    table_ = &table;
    rule_ = rule;
    soft_left_ = table.soft_capacity;
    unused_ = static_cast<std::int64_t*>(arena.take(table.tasks.count * sizeof(std::int64_t)));
    for (std::uint32_t task = 0; task < table.tasks.count; ++task) {
      unused_[task] = table.tasks[task].share;
    }
    returns_.open(arena, most_jobs);
  }

  /// Reserves for a released job and sets its budget; `left` is its work. False rejects it.
  bool admit(PathJob& job, Nanoseconds left, Nanoseconds now) {
    take_back(now);
    job.held = 0;
    if (table_->tasks[job.place.task].hard) {
      job.budget = left;
      return true;
    }
    std::int64_t share = job.utilisation;
    if (rule_ == SoftRule::SHARES) {
      const std::int64_t unused = unused_[job.place.task];
      if (unused < share) share = unused;
      if (share == 0) return false;
    }
    if (soft_left_ - share < table_->overhead) return false;
    if (returns_.full()) return false;
    soft_left_ -= share;
    unused_[job.place.task] -= share;
    job.held = share;
    job.budget = part_of(job.deadline - now, share);
    return true;
  }

  /// Whether a job whose budget is used up goes on as long as no other is ready.
  bool alone(const PathJob& job) const { return job.utilisation < FULL - table_->overhead; }

  /// A reservation ends with its job, and not before its deadline.
  void on_complete(const PathJob& job, Nanoseconds now) {
    if (table_->tasks[job.place.task].hard) return;
    if (job.deadline <= now || !returns_.push({job.deadline, job.held, job.place.task})) {
      give_back(job.place.task, job.held);
    }
  }

 private:
  void take_back(Nanoseconds now) {
    while (!returns_.empty() && returns_.top().deadline <= now) {
      const Return over = returns_.pop();
      give_back(over.task, over.held);
    }
  }

  void give_back(Index task, std::int64_t held) {
    soft_left_ += held;
    unused_[task] += held;
  }

  const LedgerTable* table_ = nullptr;
  SoftRule rule_ = SoftRule::WHOLE_TUPLES;
  std::int64_t soft_left_ = 0;
  std::int64_t* unused_ = nullptr;
  Heap<Return> returns_;
};

// ---------------------------------------------------------------- over a run

/// Oversees a run under a policy that reserves, on any clock: polices its sources, admits its jobs
/// and looks at their budgets. Keys are deadlines; those of overrun jobs lie above all others.
template <class Time>
class Reservations final : public Overseer, public Gatekeeper {
  /// A source: whether a tuple at this time still keeps to all its rates.
  struct Policer {
    const PolicedSource* table = nullptr;
    RateWatch* watches = nullptr;
  };

 public:
  static constexpr std::size_t bytes(const Program& program) {
    const ReservationTables& tables = *program.reservations;
    const std::size_t jobs = most_jobs(program);
    std::size_t sum = aligned(tables.ledgers.count * sizeof(Ledger));
    for (const LedgerTable& ledger : tables.ledgers) sum += Ledger::bytes(ledger, jobs);
    sum += aligned(tables.sources.count * sizeof(Policer));
    for (const PolicedSource& source : tables.sources) {
      sum += aligned(source.rates.count * sizeof(RateWatch));
      for (const DeclaredRate& rate : source.rates) sum += RateWatch::bytes(rate);
    }
    return sum + Slots::bytes(sizeof(PathJob), jobs);
  }

  explicit Reservations(Kernel<Time>& kernel) : kernel_(kernel) {}

  void open(Arena& arena) {
    const Program& program = kernel_.program();
    tables_ = program.reservations;
    const std::size_t jobs = most_jobs(program);
    ledgers_ = static_cast<Ledger*>(arena.take(tables_->ledgers.count * sizeof(Ledger)));
    for (std::uint32_t place = 0; place < tables_->ledgers.count; ++place) {
      (new (ledgers_ + place) Ledger())->open(tables_->ledgers[place], tables_->rule, jobs, arena);
    }
    policers_ = static_cast<Policer*>(arena.take(tables_->sources.count * sizeof(Policer)));
    for (std::uint32_t source = 0; source < tables_->sources.count; ++source) {
      Policer* const policer = new (policers_ + source) Policer();
      policer->table = &tables_->sources[source];
      const Span<DeclaredRate> rates = policer->table->rates;
      policer->watches = static_cast<RateWatch*>(arena.take(rates.count * sizeof(RateWatch)));
      for (std::uint32_t rate = 0; rate < rates.count; ++rate) {
        (new (policer->watches + rate) RateWatch())->open(rates[rate], arena);
      }
    }
    path_jobs_.open(arena, sizeof(PathJob), jobs);
    kernel_.gatekeeper = this;
  }

  // -------------------------------------------------------------- entering

  Index origin(Index source) override { return tables_->sources[source].origin; }

  /// A tuple beyond the declared rate of a hard path is listed as rejected, and goes to soft trains
  /// only.
  bool lets_in(Index source, const void* row, std::int64_t root, bool late) override {
    const Policer& policer = policers_[source];
    if (policer.table->rates.empty() || keeps_to(policer)) return true;
    kernel_.drop_at_source(source, DropKind::REJECTED, Reason::BEYOND_RATE, source, row, {});
    for (const Index output : policer.table->outputs) kernel_.put_out(output, row, late);
    const Program& program = kernel_.program();
    const std::uint32_t row_bytes = program.sources[source].row_bytes;
    for (const Entry& taker : policer.table->takers) {
      kernel_.offer(kernel_.unit(taker.unit), taker.port, row, row_bytes, root, late);
    }
    return false;
  }

  // -------------------------------------------------------------- admission

  /// The job of a tuple before a unit is that of the train which made it, if both are on one path,
  /// else a new one, which has to be admitted. Where nothing is declared nothing is reserved.
  bool admit(Job& job) override {
    if (job.key > LATEST) job.key = LATEST;
    const UnitReservation& unit = tables_->units[job.unit->index];
    Index source = source_of(job.root);
    if (source >= unit.places.count) source = unit.first_source;
    const PathPlace* place = source < unit.places.count ? &unit.places[source] : nullptr;
    if (place != nullptr && place->ledger == NONE) place = nullptr;
    if (at_work_ != nullptr && (place == nullptr || same(at_work_->place, *place))) {
      ++at_work_->pending;
      job.path = at_work_;
    } else if (place != nullptr) {
      job.path = released(job, unit, source, *place);
      if (job.path == nullptr) {
        reject(job, place->hard);
        return false;
      }
    }
    job.key = key_of(job);
    return true;
  }

  // -------------------------------------------------------------- between processes

  /// In place of a root that leaves for another process: its source, which is all that is asked for
  /// there (NONE: a timer or a window made it).
  static Index leaving(std::int64_t root) { return source_of(root); }
  /// A root of our own for a tuple that another process let leave.
  std::int64_t coming(Index source) { return root_of(++kernel_.roots, source); }

  // -------------------------------------------------------------- budgets

  /// The key of a job before its next operator, for which its budget must do.
  std::int64_t key_now(Job& job, bool others, bool& overran) override {
    overran = false;
    if (job.path == nullptr) return job.key;
    PathJob& path = *job.path;
    overran = overruns(path, job.cost, others);
    if (overran) path.overrun = true;
    return key_of(job);
  }

  bool overrun(const Job& job) const override { return overrun(job.key); }
  bool overrun(std::int64_t key) const override { return key > LATEST; }

  EventKind resumed(const Job& job) const override {
    return overrun(job.key) ? EventKind::REPLENISH : EventKind::RESUME;
  }

  void works(Job& job) override { at_work_ = job.path; }

  void worked(Job&, Nanoseconds taken) override {
    if (at_work_ != nullptr) at_work_->budget -= taken;
    at_work_ = nullptr;  // what windows give out now is not of this job
  }

  /// A train has run; if it was the job's last, its reservation is returned.
  void ended(PathJob* path) override {
    if (path == nullptr || --path->pending != 0) return;
    ledgers_[path->place.ledger].on_complete(*path, kernel_.now);
    path_jobs_.give(path);
  }

 private:
  /// Keys of overrun jobs are so much larger than their deadlines.
  static constexpr std::int64_t OVERRUN = std::int64_t{1} << 62;
  /// The latest deadline that is told from others.
  static constexpr std::int64_t LATEST = OVERRUN / 4 * 3 - 1;

  static constexpr std::size_t most_jobs(const Program& program) {
    std::size_t sum = 1;
    for (const Unit& unit : program.units) sum += unit.most_jobs;
    return sum;
  }

  static bool same(const PathPlace& left, const PathPlace& right) {
    return left.ledger == right.ledger && left.task == right.task && left.stage == right.stage &&
           left.hard == right.hard;
  }

  /// Decides on a tuple that comes now, and counts it if it may.
  bool keeps_to(const Policer& policer) {
    const std::uint32_t count = policer.table->rates.count;
    for (std::uint32_t rate = 0; rate < count; ++rate) {
      if (kernel_.now < policer.watches[rate].earliest()) return false;
    }
    for (std::uint32_t rate = 0; rate < count; ++rate) policer.watches[rate].arrived(kernel_.now);
    return true;
  }

  PathJob* released(const Job& job, const UnitReservation& unit, Index source,
                    const PathPlace& place) {
    const Unit& table = *job.unit->table;
    const Port port = job.port == NO_PORT ? Port{0} : job.port;
    const PathWork& work = unit.works[std::uint32_t{source} * table.ports + port];
    const std::uint32_t items =
        job.work == Work::GATHERED_BATCH ? static_cast<const Batch*>(job.row)->items : 1;
    PathJob* const path = static_cast<PathJob*>(path_jobs_.take());
    if (path == nullptr) return nullptr;
    Nanoseconds left = work.once + static_cast<Nanoseconds>(items) * work.each;
    path->place = place;
    path->overrun = false;
    path->pending = 1;
    path->deadline = job.key + work.last - table.deadline;
    path->utilisation = utilisation_of(left, path->deadline - kernel_.now);
    if (place.hard && !work.bounded) left = UNLIMITED;
    if (!ledgers_[place.ledger].admit(*path, left, kernel_.now)) {
      path_jobs_.give(path);
      return nullptr;
    }
    return path;
  }

  /// Every tuple that is lost is listed: of a gathering all that were gathered.
  void reject(const Job& job, bool hard) {
    if (hard) ++kernel_.counts.refused;
    if (job.work == Work::FRESH_TUPLE) ++job.unit->consumed[0];  // else it is known already
    kernel_.drop_job(job, DropKind::SHED, hard ? Reason::NO_TIME_LEFT_HARD : Reason::NO_TIME_LEFT);
  }

  /// Before an operator that takes `time`: whether the job has overrun now. An operator that the
  /// budget does not hold to its end is not begun while another job is ready.
  bool overruns(const PathJob& path, Nanoseconds time, bool others) const {
    if (path.overrun || path.budget >= time) return false;
    return others || !ledgers_[path.place.ledger].alone(path);
  }

  std::int64_t key_of(const Job& job) const {
    if (job.path == nullptr || !job.path->overrun) return job.key;
    const PathJob& path = *job.path;
    return OVERRUN + (path.deadline < LATEST ? path.deadline : LATEST);
  }

  Kernel<Time>& kernel_;
  const ReservationTables* tables_ = nullptr;
  Ledger* ledgers_ = nullptr;
  Policer* policers_ = nullptr;
  Slots path_jobs_;
  /// Whose operator ends now.
  PathJob* at_work_ = nullptr;
};

}  // namespace headway
