// The kernel: what happens to tuples, whatever clock they are run by.
//
// From top to bottom: a tuple *arrives* at a source, is checked and *enters*; it is *passed on* to
// outputs, to units on its node and to other nodes; a unit that has what it needs is *released* as
// a job; a job runs *operator by operator*, and its results are passed on. Timers and closed
// windows release jobs too.
//
// How time passes, and who runs next, is not decided here but by a time keeper: virtual time with
// processors and buses (virtual_time.hpp), wall-clock time, or a run in which nothing costs
// anything (stepwise.hpp). It is a class that owns a `Kernel<itself>` and gives:
//
//   static constexpr bool FREE_UNITS     units without cost run at once, where they are released;
//                                        on a wall clock nothing is free
//   static constexpr bool ITEM_BY_ITEM   batches that may be left between two items really run item
//                                        by item; else an execution is one call at the end of its
//                                        time. As long as `UnitState::at_items` names a job, no
//                                        other job of that unit may go on: its operator is in the
//                                        midst of a batch
//   bool at(Nanoseconds time, Order order, const Call& call)
//       Has `Kernel::run(call)` (or what the time keeper itself asked for) called when that time
//       has come; `order` is its turn at one instant, then the number that `Kernel::next_number`
//       gives. False: there is no room for another call.
//   bool queue(Job& job)
//       A job with a cost is ready; it has its key, not yet its number (`Kernel::number_job`).
//       False: it is not taken, and the kernel forgets it. Whoever takes a job runs it by `begin`,
//       then `step_on` while that says that another operator follows, then `end`; between two of
//       these calls it may be left alone for as long as one likes. Where `Job::until` is not
//       MANDATORY what follows is a piece of an optional part: `step_on` if nothing else is ready
//       and it ends by then, else `cut`.
//   void send(const Outlet& outlet, const void* row, std::int64_t root, bool late)
//       A tuple leaves for other nodes.
//   void time_moved()
//       Windows may close: calls `Kernel::look`, now or between two jobs.
//   Microseconds source_mark(Index source)
//       No unmarked tuple of the source older than this enters any more (`Ingest::watermark`, where
//       nobody knows better); NO_TIME before the first.
//   Nanoseconds completed()
//       The time when a tuple is handed to an output: `Kernel::now`, or what a clock shows.
//
// Memory is laid out by `open`; what does not fit is shed and counted.
#pragma once

#include "headway/job_steps.hpp"
#include "headway/watermarks.hpp"

namespace headway {

/// Looks at what enters the query.
class Gatekeeper {
 public:
  /// The number of a source among those of the whole plan.
  virtual Index origin(Index source) = 0;
  /// Whether a tuple may enter; what becomes of one that may not is the gatekeeper's task.
  virtual bool lets_in(Index source, const void* row, std::int64_t root, bool late) = 0;

 protected:
  ~Gatekeeper() = default;
};

template <class Time>
class Kernel {
 public:
  Nanoseconds now = 0;
  Counts counts;
  Gatekeeper* gatekeeper = nullptr;
  /// Of the last job, flight or timer.
  std::int64_t number = 0;
  /// Tuples that have entered, and results that came without a new tuple.
  std::int64_t roots = 0;

  Kernel(const Program& program, Time& time, Sinks& sinks)
      : program_(program), time_(time), sinks_(sinks), steps_(*this) {}

  static constexpr std::size_t bytes(const Program& program) {
    std::size_t sum = aligned(program.units.count * sizeof(UnitState));
    for (const Unit& unit : program.units) sum += UnitState::bytes(unit);
    sum += aligned(program.sources.count * sizeof(Ingest));
    for (const Source& source : program.sources) sum += Ingest::bytes(source);
    sum += aligned(program.outlets.count * sizeof(std::int64_t));
    return sum + Watermarks<Kernel>::bytes(program);
  }

  /// Lays out its memory; called once, before the first tuple. `watched` counts what comes beyond
  /// the declared rates.
  void open(Arena& arena, bool watched) {
    traced_ = sinks_.traced;
    units_ = static_cast<UnitState*>(arena.take(program_.units.count * sizeof(UnitState)));
    for (std::uint32_t place = 0; place < program_.units.count; ++place) {
      UnitState* const unit = new (units_ + place) UnitState();
      unit->open(program_.units[place], static_cast<Index>(place), Time::FREE_UNITS, arena);
      for (std::uint32_t step = 0; step < unit->steps; ++step) {
        const Operator* const stateful = program_.units[place].steps[step].stateful;
        if (stateful == nullptr) continue;
        for (const WindowedOperator& windowed : program_.windowed) {
          if (windowed.stateful == stateful) unit->marks[step] = windowed.mark;
        }
      }
    }
    ingests_ = static_cast<Ingest*>(arena.take(program_.sources.count * sizeof(Ingest)));
    for (std::uint32_t place = 0; place < program_.sources.count; ++place) {
      (new (ingests_ + place) Ingest())->open(program_.sources[place], watched, arena);
    }
    const std::size_t outlets = program_.outlets.count;
    passed_ = static_cast<std::int64_t*>(arena.take(outlets * sizeof(std::int64_t)));
    watermarks.open(program_, *this, arena);
    has_windows_ = !program_.windowed.empty();
    closes_windows_ = !program_.closing.empty();
  }

  const Program& program() const { return program_; }
  Sinks& sinks() { return sinks_; }
  UnitState& unit(Index place) { return units_[place]; }
  Ingest& ingest(Index source) { return ingests_[source]; }
  Microseconds source_mark(Index source) { return time_.source_mark(source); }
  bool traced() const { return traced_; }
  /// How many tuples have appeared at an outlet.
  std::int64_t passed(Index outlet) const { return passed_[outlet]; }

  /// Of the optional part of the operator that gives a stream; nothing was asked for where it has
  /// none.
  Precision precision(Index stream) const {
    Precision sum;
    for (std::uint32_t place = 0; place < program_.units.count; ++place) {
      if (program_.outlets[program_.units[place].exit].stream != stream) continue;
      sum.done += units_[place].precision.done;
      sum.asked += units_[place].precision.asked;
    }
    return sum;
  }

  void count_passed(Index outlet) { ++passed_[outlet]; }

  std::int64_t next_number() { return ++number; }

  /// A job is queued: it gets its number.
  void number_job(Job& job) { job.set_number(job.unit->table->key.second, ++number); }

  /// Whether time that moves means something.
  bool has_windows() const { return has_windows_; }

  void look(bool eager) { watermarks.look(eager); }

  /// A time has come that the kernel asked for.
  void run(const Call& call) {
    switch (call.what) {
      case CallKind::RELEASE_SHED:
        release_shed(call.place);
        break;
      case CallKind::GATHER_TIMEOUT:
        gather_timeout(units_[call.place], call.number, call.root);
        break;
      case CallKind::EXPIRE:
        expire(units_[call.place], *static_cast<Operator*>(call.argument), call.number);
        break;
      default:
        break;  // the time keeper's own
    }
  }

  // -------------------------------------------------------------- entering

  /// A tuple reaches a source.
  void arrive(Index source, const void* row) {
    Ingest& ingest = ingests_[source];
    if (ingest.watched) ingest.watch.arrived(now);
    if (ingest.sheds) {
      arrive_at_shedder(source, ingest, row);
    } else {
      enter(source, row, ingest.mark(timestamp_of(row)));
    }
    if (has_windows_) time_.time_moved();
  }

  /// What reaches a source does not have the form that it promises.
  void reject(Index source, const void* row) {
    Ingest& ingest = ingests_[source];
    if (ingest.watched) ingest.watch.arrived(now);
    drop_at_source(source, DropKind::REJECTED, Reason::MALFORMED, 0, row, {});
    if (has_windows_) time_.time_moved();
  }

  /// A tuple that passed the entrance goes into the query.
  void enter(Index source, const void* row, bool late) {
    const Index outlet = program_.sources[source].outlet;
    if (gatekeeper == nullptr) {
      pass_on(outlet, row, root_of(++roots, source), late);
      return;
    }
    const std::int64_t root = root_of(++roots, gatekeeper->origin(source));
    if (gatekeeper->lets_in(source, row, root, late)) pass_on(outlet, row, root, late);
  }

  // -------------------------------------------------------------- passing on

  /// A tuple appears on a stream: to outputs, to units on this node, to other nodes.
  void pass_on(Index place, const void* row, std::int64_t root, bool late) {
    const Outlet& outlet = program_.outlets[place];
    ++passed_[place];
    if (!outlet.outputs.empty()) {
      now = time_.completed();
      for (const Index output : outlet.outputs) put_out(output, row, late);
    }
    for (const Entry& entry : outlet.entries) {
      offer(units_[entry.unit], entry.port, row, outlet.row_bytes, root, late);
    }
    if (outlet.sent) time_.send(outlet, row, root, late);
  }

  /// A tuple is handed to an output.
  void put_out(Index output, const void* row, bool late) {
    sinks_.output(output, row, now, late);
    if (!traced_) return;
    const Output& table = program_.outputs[output];
    const char* const node = program_.nodes[table.node].name;
    note(EventKind::OUTPUT, now, now, node, "", table.name, 0, 0, 0);
    if (now > nanoseconds_of(timestamp_of(row)) + table.deadline) {
      note(EventKind::MISS, now, now, node, "", table.name, 0, 0, 0);
    }
  }

  /// A tuple of another node's stream has come.
  void receive(Index place, const void* row, std::int64_t root, bool late) {
    const Outlet& outlet = program_.outlets[place];
    if (traced_) {
      const char* const node = program_.nodes[outlet.node].name;
      note(EventKind::RECEIVE, now, now, node, "", program_.streams[outlet.stream].name,
           root_number(root), 0, 0);
    }
    for (const Entry& entry : outlet.entries) {
      offer(units_[entry.unit], entry.port, row, outlet.row_bytes, root, late);
    }
  }

  /// A tuple comes to a unit.
  void offer(UnitState& unit, Port port, const void* row, std::uint32_t row_bytes,
             std::int64_t root, bool late) {
    if (unit.table->gather != Gather::NOTHING) {
      gather(unit, port, row, row_bytes, root, late);
    } else if (unit.free) {
      run_free(unit, port, row, root, late);
    } else {
      release_fresh(unit, port, row, row_bytes, root, late);
    }
  }

  /// A tuple waits before a unit as a job.
  void release_fresh(UnitState& unit, Port port, const void* row, std::uint32_t row_bytes,
                     std::int64_t root, bool late) {
    Job* const job = new_job(unit);
    if (job == nullptr) {
      no_room(unit.table->steps[0], port, row);
      return;
    }
    std::memcpy(job->own_row(), row, row_bytes);
    job->work = Work::FRESH_TUPLE;
    release(*job, port, timestamp_of(row), root, late);
  }

  // -------------------------------------------------------------- running

  /// A job that was queued begins: its first operator is known.
  void begin(Job& job) { steps_.begin(job); }

  /// The time of the operator under way is over: it does what it does; whether another follows.
  bool step_on(Job& job) { return steps_.step_on(job); }

  /// Its next piece of an optional part is not begun: the rest of the part is left out. Whether an
  /// operator follows.
  bool cut(Job& job) { return steps_.cut(job); }

  /// Runs a stateless train as one; what passes stands in the unit's scratch memory.
  WholeResult run_whole(UnitState& unit, Port port, const void* row, const void*& out) {
    return steps_.run_whole(unit, port, row, out);
  }

  /// A job is done. Windows that waited for it may close.
  void end(Job& job) {
    const bool flew = land_quietly(job);
    forget_job(job);
    if (flew) landed();
  }

  /// What a job keeps is given back; it was not run, or not to its end.
  void forget_job(Job& job) {
    land_quietly(job);
    steps_.forget(job);
    job.unit->jobs.give(&job);
  }

  // -------------------------------------------------------------- under way

  /// Notes that a job or message is under way: windows after it must wait for it.
  void take_off(Flights& flights, Microseconds timestamp, std::uint32_t& place) {
    ++number;
    place = NO_FLIGHT;
    if (!flights.take_off(timestamp, place)) ++counts.no_room;
  }

  /// Windows may have waited for a job or message only that is done.
  void landed() {
    if (closes_windows_) time_.time_moved();
  }

  // -------------------------------------------------------------- without a new tuple

  /// A closing operator learns how far time has come; whether anything came of it.
  bool close_windows(const ClosingOperator& closing, Microseconds mark) {
    EmittedOutput output(*this, units_[closing.unit], *closing.stateful);
    closing.stateful->advance(mark, output);
    release_made(output.first);
    return output.something;
  }

  /// The input has ended: a closing operator closes all windows.
  void finish(const ClosingOperator& closing) {
    EmittedOutput output(*this, units_[closing.unit], *closing.stateful);
    closing.stateful->finish(output);
    release_made(output.first);
  }

  /// A join or the like forgets what nothing can match any more.
  void forget(const ForgettingOperator& join, Microseconds mark) {
    SilentOutput output;
    join.stateful->advance(mark, output);
  }

  // -------------------------------------------------------------- for its parts

  static constexpr bool ITEM_BY_ITEM = Time::ITEM_BY_ITEM;

  /// The watermark of what an operator gives out, by its place, looked at now.
  Microseconds leaving_mark(Index mark) { return watermarks.leaving(mark); }

  void start_timer(Nanoseconds at, const Call& call) {
    if (!time_.at(at, Order::TIMER, call)) ++counts.no_room;
  }

  void no_room(const Step& step, Port port, const void* row) {
    ++counts.no_room;
    drop_at_step(step, DropKind::SHED, Reason::NO_ROOM, 0, port, row);
  }

  // -------------------------------------------------------------- what is told

  void note(EventKind kind, Nanoseconds start, Nanoseconds end, const char* node, const char* place,
            const char* what, std::int64_t job, std::int32_t first, std::int32_t count) {
    const std::uint8_t number_of_kind = static_cast<std::uint8_t>(kind);
    sinks_.event({number_of_kind, start, end, node, place, what, job, first, count});
  }

  void drop_at_source(Index source, DropKind kind, Reason reason, std::int64_t detail,
                      const void* row, const ShedValue& value) {
    tell({kind, reason, detail, true, source, program_.sources[source].name, NO_PORT, row, value});
  }

  void drop_at_step(const Step& step, DropKind kind, Reason reason, std::int64_t detail, Port port,
                    const void* row) {
    tell({kind, reason, detail, false, place_of(step.stateful), step.name, port, row, {}});
  }

  /// All that a job was given is lost.
  void drop_job(const Job& job, DropKind kind, Reason reason) {
    const Step& head = job.unit->table->steps[0];
    if (job.work != Work::GATHERED_BATCH) {
      const Port port = job.work == Work::HEAD_RESULT ? NO_PORT : job.port;
      drop_at_step(head, kind, reason, 0, port, job.row);
      return;
    }
    const Batch& batch = *static_cast<const Batch*>(job.row);
    for (Port port = 0; port < job.unit->table->ports; ++port) {
      for (const Gathered* one = batch.first[port]; one != nullptr; one = one->next) {
        drop_at_step(head, kind, reason, 0, port, one->row());
      }
    }
  }

  Watermarks<Kernel> watermarks;

 private:
  // -------------------------------------------------------------- what operators put out

  /// Of a head that was given no tuple: each result becomes a job.
  class EmittedOutput final : public OperatorOutput {
   public:
    EmittedOutput(Kernel& kernel, UnitState& unit, Operator& stateful)
        : kernel_(kernel), unit_(unit), stateful_(stateful), last_(&first) {}

    void emit(const void* row) override {
      something = true;
      const Step& head = unit_.table->steps[0];
      Job* const job = kernel_.new_job(unit_);
      if (job == nullptr) {
        kernel_.no_room(head, NO_PORT, row);
        return;
      }
      std::memcpy(job->own_row(), row, head.row_bytes);
      job->next = nullptr;
      *last_ = job;
      last_ = &job->next;
    }
    void drop(DropKind kind, Reason reason, std::int64_t detail, Port port,
              const void* row) override {
      something = true;
      kernel_.drop_at_step(unit_.table->steps[0], kind, reason, detail, port, row);
    }
    void start_timer(Nanoseconds at, std::int64_t token) override {
      kernel_.start_timer(at, {CallKind::EXPIRE, unit_.index, 0, token, 0, &stateful_});
    }

    Job* first = nullptr;
    bool something = false;

   private:
    Kernel& kernel_;
    UnitState& unit_;
    Operator& stateful_;
    Job** last_;
  };

  /// Of an operator that only forgets.
  class SilentOutput final : public OperatorOutput {
   public:
    void emit(const void*) override {}
    void drop(DropKind, Reason, std::int64_t, Port, const void*) override {}
    void start_timer(Nanoseconds, std::int64_t) override {}
  };

  // -------------------------------------------------------------- load shedding

  void arrive_at_shedder(Index source, Ingest& ingest, const void* row) {
    Shedder& shedder = ingest.shedder;
    List<Held>& released = shedder.release(now);
    ShedTuple shed{};
    const bool passes = shedder.offer(row, now, shed);
    // All marks before the first tuple enters: what it sets off may ask how far time has come.
    for (Held& one : released) one.late = ingest.mark(timestamp_of(one.row));
    const bool late = passes && ingest.mark(timestamp_of(row));
    for (const Held& one : released) enter(source, one.row, one.late);
    shedder.done();
    if (passes) enter(source, row, late);
    if (shed.there) {
      const std::int64_t at_most = ingest.table->shedding->at_most;
      drop_at_source(source, DropKind::SHED, shed.reason, at_most, shed.row, shed.value);
      shedder.forget(shed);
    }
    const Nanoseconds due = shedder.due();
    if (due != NEVER && ingest.announced != due) {
      ingest.announced = due;
      if (!time_.at(due, Order::ARRIVAL, {CallKind::RELEASE_SHED, source, 0, 0, 0, nullptr})) {
        ++counts.no_room;
      }
    }
  }

  /// What a source's shedder held back until now enters.
  void release_shed(Index source) {
    Ingest& ingest = ingests_[source];
    List<Held>& released = ingest.shedder.release(now);
    for (Held& one : released) one.late = ingest.mark(timestamp_of(one.row));
    for (const Held& one : released) enter(source, one.row, one.late);
    ingest.shedder.done();
    if (has_windows_) time_.time_moved();
  }

  // -------------------------------------------------------------- releasing

  Job* new_job(UnitState& unit) {
    Job* const job = static_cast<Job*>(unit.jobs.take());
    if (job == nullptr) return nullptr;
    job->unit = &unit;
    job->row = job->own_row();
    job->path = nullptr;
    job->flight = NO_FLIGHT;
    job->begun = false;
    return job;
  }

  /// A job becomes ready: it queues by its policy's key.
  void release(Job& job, Port port, Microseconds timestamp, std::int64_t root, bool late) {
    UnitState& unit = *job.unit;
    job.port = port;
    job.root = root;
    job.late = late;
    if (unit.holds_windows_back()) take_off(unit.flights, timestamp, job.flight);
    const KeyRule& rule = unit.table->key;
    job.key = rule.add;
    if (rule.base == KeyBase::TIMESTAMP) job.key += nanoseconds_of(timestamp);
    if (rule.base == KeyBase::ROOT) job.key += root_number(root);
    if (!time_.queue(job)) forget_job(job);
  }

  /// A job that has its row already; one that takes no time runs at once.
  void release_or_run(Job& job, Port port, Microseconds timestamp, std::int64_t root, bool late) {
    UnitState& unit = *job.unit;
    if (!unit.free) {
      release(job, port, timestamp, root, late);
      return;
    }
    job.port = port;
    job.root = root;
    job.late = late;
    if (unit.holds_windows_back()) take_off(unit.flights, timestamp, job.flight);
    run_to_its_end(job);
  }

  /// No time passes. Windows look when the whole arrival or timer is through, or which consumer of
  /// a stream is served first would decide what closes before it.
  void run_to_its_end(Job& job) {
    begin(job);
    while (step_on(job)) {
    }
    forget_job(job);
  }

  /// A job that takes no time.
  void run_free(UnitState& unit, Port port, const void* row, std::int64_t root, bool late) {
    if (unit.whole) {
      // Stateless: one call. Whatever holds the tuple back from windows does so until it is
      // through.
      const void* out = nullptr;
      const WholeResult result = run_whole(unit, port, row, out);
      ++unit.ran[result.ran];
      if (result.passed) pass_on(unit.table->exit, out, root, late);
      return;
    }
    Job* const job = new_job(unit);
    if (job == nullptr) {
      no_room(unit.table->steps[0], port, row);
      return;
    }
    job->work = Work::FRESH_TUPLE;
    job->row = row;  // stays where it is: the job ends before its owner goes on
    job->port = port;
    job->root = root;
    job->late = late;
    if (unit.holds_windows_back()) take_off(unit.flights, timestamp_of(row), job->flight);
    run_to_its_end(*job);
  }

  /// Results that a head gave without a new tuple.
  void release_made(Job* job) {
    while (job != nullptr) {
      Job* const next = job->next;
      job->work = Work::HEAD_RESULT;
      release_or_run(*job, NO_PORT, timestamp_of(job->row), ++roots, false);
      job = next;
    }
  }

  // -------------------------------------------------------------- gathering

  /// A tuple comes to a unit whose head gathers a batch.
  void gather(UnitState& unit, Port port, const void* row, std::uint32_t row_bytes,
              std::int64_t root, bool late) {
    const Unit& table = *unit.table;
    ++unit.consumed[0];
    Gathered* const slot = static_cast<Gathered*>(unit.gathered.take());
    if (slot == nullptr) {
      no_room(table.steps[0], port, row);
      return;
    }
    std::memcpy(slot->row(), row, row_bytes);
    slot->next = nullptr;
    slot->port = port;
    slot->late = late;
    const Microseconds timestamp = timestamp_of(row);
    const bool first = !unit.gathers_some;
    if (first || timestamp < unit.oldest || (timestamp == unit.oldest && !late)) {
      unit.oldest = timestamp;
      unit.oldest_late = late;
    }
    unit.gathers_some = true;
    Batch& batch = unit.batch;
    ++batch.items;
    if (batch.last[port] != nullptr) {
      batch.last[port]->next = slot;
      batch.last[port] = slot;
      return;
    }
    batch.first[port] = batch.last[port] = slot;
    ++unit.ports_filled;
    if (table.gather == Gather::ALL && unit.ports_filled == table.ports) {
      unit.timer = 0;
      release_batch(unit, root, false);
    } else if (first) {
      unit.timer = ++number;
      start_timer(now + table.timeout,
                  {CallKind::GATHER_TIMEOUT, unit.index, 0, unit.timer, root, nullptr});
    }
  }

  /// The timer of a batch is over: it is released as it is, unless that has been done.
  void gather_timeout(UnitState& unit, std::int64_t timer, std::int64_t root) {
    if (unit.timer != timer) return;
    unit.timer = 0;
    timed_out(unit, root);
    release_batch(unit, root, true);
    if (closes_windows_) time_.time_moved();
  }

  void release_batch(UnitState& unit, std::int64_t root, bool late_batch) {
    Job* const job = new_job(unit);
    const Microseconds oldest = unit.oldest;
    const bool late = unit.oldest_late;
    Batch batch = unit.batch;
    unit.batch = Batch{};
    unit.ports_filled = 0;
    unit.gathers_some = false;
    if (job == nullptr) {
      Job lost{};
      lost.unit = &unit;
      lost.work = Work::GATHERED_BATCH;
      lost.row = &batch;
      counts.no_room += batch.items;
      drop_job(lost, DropKind::SHED, Reason::NO_ROOM);
      give_batch(unit, batch);
      return;
    }
    std::memcpy(job->own_row(), &batch, sizeof batch);
    job->work = Work::GATHERED_BATCH;
    job->timed_out = late_batch;
    release_or_run(*job, NO_PORT, oldest, root, late);
  }

  // -------------------------------------------------------------- timers and drops

  bool land_quietly(Job& job) {
    if (job.flight == NO_FLIGHT) return false;
    job.unit->flights.land(job.flight);
    return true;
  }

  /// A timer of a stateful head is over.
  void expire(UnitState& unit, Operator& stateful, std::int64_t token) {
    EmittedOutput output(*this, unit, stateful);
    stateful.expire(token, now, output);
    if (output.first == nullptr) return;
    timed_out(unit, 0);
    release_made(output.first);
    if (closes_windows_) time_.time_moved();
  }

  void timed_out(UnitState& unit, std::int64_t root) {
    ++counts.timeouts;
    if (!traced_) return;
    const char* const node = program_.nodes[unit.table->node].name;
    note(EventKind::TIMEOUT, now, now, node, "", unit.table->steps[0].name, root_number(root), 0,
         0);
  }

  Index place_of(const Operator* stateful) const {
    for (std::uint32_t place = 0; place < program_.stateful.count; ++place) {
      if (stateful != nullptr && program_.stateful[place] == stateful) {
        return static_cast<Index>(place);
      }
    }
    return NONE;
  }

  void tell(const Dropped& dropped) {
    if (traced_) {
      constexpr EventKind KINDS[] = {EventKind::LATE, EventKind::FAILED, EventKind::REJECTED,
                                     EventKind::SHED};
      const EventKind kind = KINDS[static_cast<std::size_t>(dropped.kind)];
      note(kind, now, now, "", "", dropped.name, 0, 0, 0);
    }
    sinks_.dropped(dropped, now);
  }

  const Program& program_;
  Time& time_;
  Sinks& sinks_;
  JobSteps<Kernel> steps_;
  UnitState* units_ = nullptr;
  Ingest* ingests_ = nullptr;
  std::int64_t* passed_ = nullptr;
  bool traced_ = false;
  bool has_windows_ = false;
  bool closes_windows_ = false;
};

}  // namespace headway
