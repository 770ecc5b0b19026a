// Wall-clock time: the same rules as in virtual time, but operators really take their time. The
// twin of engine/wall_time.py.
//
// One thread runs everything. It takes in what is due (arrivals, messages, timers), then runs the
// most urgent job, operator by operator, and item by item where the query allows it; after each of
// them it takes in again and lets a more urgent job go first. A job that has begun the items of its
// unit is not overtaken by another of the same unit: it is given that one's urgency instead.
//
// What lies outside the process (the other nodes of a plan, sockets) is an `Outside`; where
// recorded tuples come from is an `ArrivalSource`.
#pragma once

#include "headway/overseer.hpp"
#include "headway/wall_clock.hpp"

namespace headway {

/// A watermark beyond this: nothing comes any more.
inline constexpr Microseconds ENDED = NEVER >> 1;
/// A busy node looks this often whether windows can close; an idle one always.
inline constexpr std::uint32_t JOBS_BETWEEN_MARKS = 16;

/// The other nodes, as a run in wall-clock time sees them.
class Outside {
 public:
  /// Takes in what has come, without waiting. Called between two operators.
  virtual void exchange() = 0;
  /// Waits until the clock shows a time, or something has come; NEVER waits for something.
  virtual void wait(Nanoseconds until) = 0;
  /// A tuple leaves for them.
  virtual void send(const Outlet& outlet, const void* row, std::int64_t root, bool late) = 0;
  /// Watermarks may have moved on, and windows closed.
  virtual void time_moved() = 0;
  /// How far time has come on a source that is a stream of theirs; `is_remote` says which are.
  virtual bool is_remote(Index source) const = 0;
  virtual Microseconds mark_of(Index source) const = 0;

 protected:
  ~Outside() = default;
};

/// A tuple that reaches a source at a time of the engine; `malformed` if it does not have the form
/// that its source promises.
struct RecordedArrival {
  Nanoseconds time;
  Index source;
  bool malformed;
  const void* row;
};

/// Recorded arrivals, in order of time.
class ArrivalSource {
 public:
  /// The next one, whose row is valid until the next call; false at the end.
  virtual bool next(RecordedArrival& arrival) = 0;

 protected:
  ~ArrivalSource() = default;
};

template <class Clock>
class WallTime {
 public:
  static constexpr bool FREE_UNITS = false;
  static constexpr bool ITEM_BY_ITEM = true;

  Kernel<WallTime> kernel;
  PacedClock<Clock> pace;
  KeepingUp keeping_up;

  WallTime(const Program& program, Sinks& sinks, Clock& clock, Outside& outside)
      : kernel(program, *this, sinks), pace(clock), program_(program), outside_(outside) {}

  static constexpr std::size_t most_jobs(const Program& program) {
    std::size_t jobs = 0;
    for (const Unit& unit : program.units) jobs += unit.most_jobs;
    return jobs;
  }

  static constexpr std::size_t bytes(const Program& program) {
    return Kernel<WallTime>::bytes(program) + Heap<Ready>::bytes(most_jobs(program)) +
           Heap<TimedCall>::bytes(program.most_events) +
           List<SourceState>::bytes(program.sources.count);
  }

  /// Lays out its memory; called once, before the first tuple. `overseer`: every job is admitted,
  /// and looked at before each of its operators.
  void open(Arena& arena, Overseer* overseer = nullptr) {
    overseer_ = overseer;
    kernel.open(arena, true);
    ready_.open(arena, most_jobs(program_));
    events_.open(arena, program_.most_events);
    sources_.open(arena, program_.sources.count);
    for (std::uint32_t source = 0; source < program_.sources.count; ++source) {
      sources_.push({false, false, false});
    }
  }

  /// A source that is fed from outside, until it is ended; the others are replayed.
  void set_live(Index source) { sources_[source].live = true; }

  // ---------------------------------------------------------------- what the kernel asks for

  bool at(Nanoseconds time, Order order, const Call& call) {
    return events_.push({time, TimedCall::turn_of(order, kernel.next_number()), call});
  }

  bool queue(Job& job) {
    if (overseer_ != nullptr && !overseer_->admit(job)) return false;
    kernel.number_job(job);
    if (ready_.push(Ready::of(job))) return true;
    ++kernel.counts.no_room;
    kernel.drop_job(job, DropKind::SHED, Reason::NO_ROOM);
    if (overseer_ != nullptr) overseer_->ended(job.path);
    return false;
  }

  void send(const Outlet& outlet, const void* row, std::int64_t root, bool late) {
    outside_.send(outlet, row, root, late);
  }

  void time_moved() { moved_ = true; }
  Nanoseconds completed() { return pace.now(); }

  /// A source that has ended holds back nothing; of one that is not heard of, time is taken to go
  /// on as it does elsewhere.
  Microseconds source_mark(Index source) {
    if (has_ended(source)) return NEVER;
    const Microseconds own = told_mark(source);
    if (!sources_[source].lost) return own;
    Microseconds least = NEVER;
    bool heard_of_any = false;
    for (std::uint32_t place = 0; place < program_.sources.count; ++place) {
      if (sources_[place].lost || sources_[place].ended) continue;
      const Microseconds mark = told_mark(static_cast<Index>(place));
      if (mark == NO_TIME) return own;
      heard_of_any = true;
      if (mark < least) least = mark;
    }
    if (!heard_of_any) return own;
    const Microseconds before = own == NO_TIME ? 0 : own;
    return least > before ? least : before;
  }

  // ---------------------------------------------------------------- the run

  /// Replays the arrivals, and returns when all sources have ended and nothing is left to do.
  [[gnu::noinline]] void run(ArrivalSource& arrivals) {
    arrivals_ = &arrivals;
    next_arrival();
    while (true) {
      take_in();
      if (moved_ && (ready_.empty() || jobs_since_ >= JOBS_BETWEEN_MARKS)) look();
      if (!ready_.empty()) {
        run_most_urgent();
      } else if (!moved_) {
        Nanoseconds due = events_.empty() ? NEVER : events_.top().time;
        if (arrivals_ != nullptr && arrival_.time < due) due = arrival_.time;
        if (due == NEVER && all_ended()) return;
        outside_.wait(pace.clock_time(due));
      }
    }
  }

  /// A tuple of a live source has come; it was due at a time of the engine.
  void take(Index source, const void* row, Nanoseconds due) {
    ++kernel.counts.arrived;
    keeping_up.arrived(pace.clock_duration(kernel.now - due));
    moved_ = true;
    kernel.arrive(source, row);
  }

  /// Whether another tuple of a source finds room where it goes first. One that is recorded, or
  /// comes from another node, waits for it: the process may have been stopped for a while, and is
  /// not to lose what came meanwhile.
  bool has_room(Index source) {
    if (ready_.empty() && events_.empty()) return true;
    for (const Entry& entry : program_.outlets[program_.sources[source].outlet].entries) {
      UnitState& unit = kernel.unit(entry.unit);
      const bool gathers = unit.table->gather != Gather::NOTHING;
      const std::size_t most = gathers ? unit.table->most_gathered : unit.table->most_jobs;
      if ((gathers ? unit.gathered : unit.jobs).taken() >= most) return false;
    }
    return true;
  }

  /// A tuple of another node's stream has come.
  void receive(Index source, const void* row, std::int64_t root, bool late) {
    kernel.receive(program_.sources[source].outlet, row, root, late);
    moved_ = true;
  }

  /// Nothing more comes from this source.
  void end(Index source) {
    sources_[source].ended = true;
    moved_ = true;
  }

  bool is_ended(Index source) const { return sources_[source].ended; }

  /// Its node is not heard of: windows do not wait for it; or it is heard of again.
  void set_lost(Index source, bool lost) {
    if (sources_[source].ended && lost) return;
    sources_[source].lost = lost;
    moved_ = true;
  }

  bool is_lost(Index source) const { return sources_[source].lost; }

  /// Whether nothing is left to wait for but sources that are lost.
  bool waits_for_the_lost_only() const {
    bool any = false;
    for (const SourceState& source : sources_) {
      if (!source.ended && !source.lost) return false;
      any = any || source.lost;
    }
    return any;
  }

  /// Takes no more input; what is inside is finished.
  void stop() {
    arrivals_ = nullptr;
    for (SourceState& source : sources_) {
      source.lost = false;
      source.ended = true;
    }
    moved_ = true;
  }

  std::size_t jobs_waiting() const { return ready_.size(); }

 private:
  struct SourceState {
    bool live;
    bool ended;
    bool lost;
  };

  bool has_ended(Index source) {
    Ingest& ingest = kernel.ingest(source);
    return sources_[source].ended && (!ingest.sheds || ingest.shedder.size() == 0);
  }

  Microseconds told_mark(Index source) {
    if (outside_.is_remote(source)) return outside_.mark_of(source);
    return kernel.ingest(source).watermark();
  }

  bool all_ended() const {
    for (const SourceState& source : sources_) {
      if (!source.ended) return false;
    }
    return true;
  }

  void next_arrival() {
    if (arrivals_ != nullptr && arrivals_->next(arrival_)) return;
    arrivals_ = nullptr;
    for (SourceState& source : sources_) source.ended = source.ended || !source.live;
    moved_ = true;
  }

  /// All that is due. An overdue arrival counts from when it was due, so that a busy node sheds and
  /// times out as an idle one would.
  void take_in() {
    kernel.now = pace.now();
    outside_.exchange();
    const Nanoseconds now = kernel.now;
    while (true) {
      const bool arrives =
          arrivals_ != nullptr && arrival_.time <= now && has_room(arrival_.source);
      const Nanoseconds due = arrives ? arrival_.time : NEVER;
      if (!events_.empty() && events_.top().time < due) {
        if (events_.top().time > now) break;
        kernel.now = now;
        const TimedCall event = events_.pop();
        kernel.run(event.call);
        moved_ = true;
      } else if (arrives) {
        kernel.now = due;
        ++kernel.counts.arrived;
        keeping_up.arrived(pace.clock_duration(now - due));
        moved_ = true;
        if (arrival_.malformed) {
          kernel.reject(arrival_.source, arrival_.row);
        } else {
          kernel.arrive(arrival_.source, arrival_.row);
        }
        next_arrival();
      } else {
        break;
      }
    }
    kernel.now = now;
    keeping_up.queued(ready_.size());
  }

  /// Runs a job until it ends or gives way at the border of an operator.
  void run_most_urgent() {
    Job& job = take_most_urgent();
    ++kernel.counts.decisions;
    if (job.begun) {
      note(overseer_ == nullptr ? EventKind::RESUME : overseer_->resumed(job), job);
    } else {
      kernel.begin(job);
    }
    if (overseer_ != nullptr && changes_key(job)) {
      if (!ready_.empty() && ready_.top().key < job.key) {
        ready_.push(Ready::of(job));  // it had not begun, so this is no preemption
        return;
      }
      if (overseer_->overrun(job)) note(EventKind::REPLENISH, job);
    }
    while (step_on(job)) {
      take_in();
      if (job.until != MANDATORY) {
        if (has_slack(job)) continue;
        note(EventKind::CUT, job);
        if (!cut(job)) break;
      }
      if (program_.preemptive && outranked(job)) {
        ++kernel.counts.preemptions;
        note(EventKind::PREEMPT, job);
        ready_.push(Ready::of(job));
        return;
      }
    }
    ++jobs_since_;
    PathJob* const path = job.path;
    const bool flew = job.flight != NO_FLIGHT;
    kernel.end(job);
    if (overseer_ != nullptr) overseer_->ended(path);
    if (flew) moved_ = true;
  }

  /// An operator does what it does, and takes its time for it; whether another follows.
  bool step_on(Job& job) {
    const Nanoseconds start = pace.now();
    const std::uint16_t step = job.step;
    const bool optional = job.until != MANDATORY;
    kernel.now = start;
    if (overseer_ != nullptr) overseer_->works(job);
    const bool more = kernel.step_on(job);
    if (overseer_ != nullptr) {
      kernel.now = pace.now();
      overseer_->worked(job, optional ? 0 : kernel.now - start);
    }
    if (kernel.traced()) note_run(job, start, pace.now(), step);
    return more;
  }

  /// The rest of an optional part is left out; whether an operator follows.
  bool cut(Job& job) {
    kernel.now = pace.now();
    if (overseer_ != nullptr) overseer_->works(job);
    const bool more = kernel.cut(job);
    if (overseer_ != nullptr) overseer_->worked(job, 0);
    return more;
  }

  /// Whether there is time for a piece of an optional part: nothing else is to do, and it ends
  /// before its deadline if it takes what it declares.
  bool has_slack(const Job& job) {
    if (moved_) look();
    return ready_.empty() && pace.now() + job.cost <= job.until;
  }

  /// Windows may close.
  void look() {
    moved_ = false;
    jobs_since_ = 0;
    kernel.look(true);
    outside_.time_moved();
  }

  /// Whether another job is to go before the next operator of one that has begun.
  bool outranked(Job& job) {
    if (overseer_ == nullptr) return !ready_.empty() && more_urgent(ready_.top(), job);
    const bool changed = changes_key(job);
    if (!ready_.empty() && ready_.top().key < job.key) return true;
    if (changed && overseer_->overrun(job)) note(EventKind::REPLENISH, job);
    return false;
  }

  /// Under an overseer: whether its key before its next operator is another one.
  bool changes_key(Job& job) {
    const bool others = !ready_.empty() && !overseer_->overrun(ready_.top().key);
    bool overran = false;
    const std::int64_t key = overseer_->key_now(job, others, overran);
    if (overran) note(EventKind::OVERRUN, job);
    const bool changed = key != job.key;
    job.key = key;
    return changed;
  }

  /// The least job; or, where its unit is in the midst of another's items, that other one, which
  /// goes on as urgently as the least would.
  Job& take_most_urgent() {
    const Ready least = ready_.pop();
    Job* const begun = least.job->unit->at_items;
    if (begun == nullptr || begun == least.job) return *least.job;
    std::size_t place = 0;
    while (ready_.items()[place].job != begun) ++place;
    ready_.take(place);
    ready_.push(least);
    begun->key = least.key;
    return *begun;
  }

  void note(EventKind kind, const Job& job) {
    if (kernel.traced()) note_span(kind, job, kernel.now, kernel.now, 0, 0);
  }

  void note_run(const Job& job, Nanoseconds start, Nanoseconds end, std::uint16_t step) {
    note_span(EventKind::RUN, job, start, end, step, 1);
  }

  void note_span(EventKind kind, const Job& job, Nanoseconds start, Nanoseconds end,
                 std::int32_t first, std::int32_t ran) {
    const Unit& unit = *job.unit->table;
    const char* const node = program_.nodes[unit.node].name;
    kernel.note(kind, start, end, node, node, unit.name, job.number(), first, ran);
  }

  const Program& program_;
  Outside& outside_;
  Overseer* overseer_ = nullptr;
  Heap<TimedCall> events_;
  Heap<Ready> ready_;
  List<SourceState> sources_;
  ArrivalSource* arrivals_ = nullptr;
  RecordedArrival arrival_{};
  std::uint32_t jobs_since_ = 0;
  bool moved_ = true;
};

}  // namespace headway
