// Virtual time: all nodes of a plan, their processors and buses, as one discrete-event simulation.
//
// What happens at one instant goes in this order: operators that end, arrivals at sources,
// deliveries by the network, timers; then free cores choose. Within a kind, the earlier scheduled
// goes first.
//
// A core runs the most urgent ready job operator by operator. While nothing else can happen before
// an operator ends, time jumps there; otherwise its end is an event among the others, and after it
// a more urgent job may go first. Trains without state run as one (fast_path.hpp). Under a policy
// that reserves, every job is admitted, and looked at before each of its operators.
#pragma once

#include "headway/bus_network.hpp"
#include "headway/fast_path.hpp"
#include "headway/reservations.hpp"

namespace headway {

/// A tuple reaches a source. `row` stays valid until the next but one arrival is asked for.
struct SourceArrival {
  Nanoseconds time;
  Index source;
  /// It does not have the form that its source promises.
  bool malformed;
  const void* row;
};

class VirtualTime {
 public:
  static constexpr bool FREE_UNITS = true;
  static constexpr bool ITEM_BY_ITEM = false;

  Kernel<VirtualTime> kernel;

  VirtualTime(const Program& program, Sinks& sinks)
      : kernel(program, *this, sinks),
        program_(program),
        network_(*this),
        reservations_(kernel),
        fast_(*this) {}
  VirtualTime(const VirtualTime&) = delete;
  VirtualTime& operator=(const VirtualTime&) = delete;

  /// The memory that `open` lays out.
  static constexpr std::size_t bytes(const Program& program) {
    std::size_t sum = Kernel<VirtualTime>::bytes(program) + BusNetwork<VirtualTime>::bytes(program);
    sum += Heap<TimedCall>::bytes(program.most_events) + CoreQueues::bytes(program);
    sum += FastPath<VirtualTime>::bytes(program);
    if (program.reservations != nullptr) sum += Reservations<VirtualTime>::bytes(program);
    return sum;
  }

  /// Lays out the memory of the run; operators are opened by who owns them.
  void open(Arena& arena) {
    kernel.open(arena, true);
    network_.open(program_, arena);
    events_.open(arena, program_.most_events);
    queues_.open(program_, arena);
    if (program_.reservations != nullptr) {
      reservations_.open(arena);
      overseer_ = &reservations_;
      for (std::uint32_t place = 0; place < program_.units.count; ++place) {
        UnitState& unit = kernel.unit(static_cast<Index>(place));
        if (!unit.free) unit.whole = false;
      }
    }
    fast_.open(program_, arena, queues_, overseer_ == nullptr);
  }

  /// Takes in all arrivals, in order of time, and runs until nothing is left to do. `Arrivals`
  /// gives `bool next(SourceArrival&)`.
  template <class Arrivals>
  void run(Arrivals& arrivals) {
    take_next(arrivals);
    drain(arrivals);
    for (const ClosingOperator& closing : program_.closing) {
      kernel.finish(closing);
      drain(arrivals);
    }
  }

  // -------------------------------------------------------------- for the kernel

  bool at(Nanoseconds time, Order order, const Call& call) {
    return events_.push({time, TimedCall::turn_of(order, kernel.next_number()), call});
  }

  bool queue(Job& job) {
    if (overseer_ != nullptr && !overseer_->admit(job)) return false;
    kernel.number_job(job);
    CoreQueue& group = queues_.of(job);
    if (!group.ready.push(Ready::of(job))) {
      ++kernel.counts.no_room;
      kernel.drop_job(job, DropKind::SHED, Reason::NO_ROOM);
      if (overseer_ != nullptr) overseer_->ended(job.path);
      return false;
    }
    if (!group.free.empty()) queues_.wait(group);
    return true;
  }

  void send(const Outlet& outlet, const void* row, std::int64_t root, bool late) {
    const Stream& stream = program_.streams[outlet.stream];
    Message* const message = network_.message(outlet.stream, row, root, late);
    if (message == nullptr) {
      drop_message(outlet.stream, row);
      return;
    }
    if (stream.holds_windows_back) {
      Flights& flights = kernel.watermarks.messages(outlet.stream);
      kernel.take_off(flights, timestamp_of(row), message->flight);
    }
    if (kernel.traced()) {
      const char* const node = program_.nodes[outlet.node].name;
      kernel.note(EventKind::SEND, kernel.now, kernel.now, node, "", stream.name, root_number(root),
                  0, 0);
    }
    network_.send(*message);
  }

  void time_moved() { kernel.look(false); }
  Microseconds source_mark(Index source) { return kernel.ingest(source).watermark(); }
  Nanoseconds completed() const { return kernel.now; }

  // -------------------------------------------------------------- for the network

  void deliver(Index outlet, Message& message) {
    kernel.receive(outlet, message.row(), message.root, message.late);
    if (message.flight != NO_FLIGHT && network_.last_receiver(message.stream) == outlet) {
      kernel.watermarks.messages(message.stream).land(message.flight);
      kernel.landed();
    }
  }

  void frame_begins(const Branch& branch, const Message& message, Nanoseconds time,
                    std::uint32_t place) {
    if (!kernel.traced()) return;
    kernel.note(EventKind::FRAME, kernel.now, kernel.now + time, "",
                program_.media[branch.medium].name, program_.streams[message.stream].name,
                root_number(message.root), static_cast<std::int32_t>(place),
                static_cast<std::int32_t>(branch.frames.count));
  }

  void message_ends(Message& message) {
    if (message.flight != NO_FLIGHT) {
      kernel.watermarks.messages(message.stream).land(message.flight);
    }
  }

  void message_lost(Message& message) { drop_message(message.stream, message.row()); }

 private:
  void drop_message(Index stream, const void* row) {
    ++kernel.counts.no_room;
    for (std::uint32_t source = 0; source < program_.sources.count; ++source) {
      if (program_.outlets[program_.sources[source].outlet].stream != stream) continue;
      const Index place = static_cast<Index>(source);
      kernel.drop_at_source(place, DropKind::SHED, Reason::NO_ROOM, 0, row, {});
      return;
    }
    for (const Unit& unit : program_.units) {
      if (program_.outlets[unit.exit].stream != stream) continue;
      const Step& last = unit.steps[unit.steps.count - 1];
      kernel.drop_at_step(last, DropKind::SHED, Reason::NO_ROOM, 0, NO_PORT, row);
      return;
    }
  }

  // -------------------------------------------------------------- time

  template <class Arrivals>
  void take_next(Arrivals& arrivals) {
    next_arrival_ = arrivals.next(arrival_) ? arrival_.time : NEVER;
  }

  template <class Arrivals>
  void drain(Arrivals& arrivals) {
    while (true) {
      Nanoseconds time = next_arrival_;
      if (!events_.empty() && events_.top().time < time) time = events_.top().time;
      if (queues_.any_waits() && time > kernel.now) {
        CoreQueue& group = queues_.first_waiting();
        queues_.wait_no_more(group);
        choose(group);
        continue;
      }
      if (time == NEVER) return;
      kernel.now = time;
      while (!events_.empty() && events_.top().time == time &&
             events_.top().order() == Order::FINISH) {
        run_call(events_.pop().call);
      }
      while (next_arrival_ <= time) {
        const SourceArrival arrival = arrival_;
        ++kernel.counts.arrived;
        // Taken first, so that whoever handles this arrival knows when the next one comes.
        take_next(arrivals);
        if (arrival.malformed) {
          kernel.reject(arrival.source, arrival.row);
        } else if (!fast_.arrive(arrival.source, arrival.row)) {
          kernel.arrive(arrival.source, arrival.row);
        }
      }
      while (!events_.empty() && events_.top().time == time) run_call(events_.pop().call);
    }
  }

  void run_call(const Call& call) {
    switch (call.what) {
      case CallKind::OPERATOR_ENDS:
        operator_ends(queues_[call.place], call.core, *static_cast<Job*>(call.argument));
        break;
      case CallKind::COURSE_ENDS:
        fast_.operator_ends(queues_[call.place], call.core, *static_cast<Job*>(call.argument));
        break;
      case CallKind::CONTINUE:
      case CallKind::CONTINUE_COURSE:
        go_on(queues_[call.place], call.core, *static_cast<Job*>(call.argument));
        break;
      case CallKind::FRAME_SENT:
      case CallKind::PASS_ON:
        network_.run(call);
        break;
      default:
        kernel.run(call);
        break;
    }
  }

  /// Whether anything else happens at this instant, before cores choose.
  bool more_now() const {
    return next_arrival_ <= kernel.now || (!events_.empty() && events_.top().time <= kernel.now);
  }

  /// Whether nothing else happens before `end`, nor at it but arrivals.
  bool quiet(const CoreQueue& group, Nanoseconds end) const {
    if (end > next_arrival_ || queues_.any_waits() || group.cores > 1) return false;
    return events_.empty() || events_.top().time > end;
  }

  /// The last instant of which nothing but arrivals is known.
  Nanoseconds undisturbed_until() const {
    if (!events_.empty() && events_.top().time <= next_arrival_) return events_.top().time - 1;
    return next_arrival_;
  }
  Nanoseconds next_arrival() const { return next_arrival_; }

  void call_job(Nanoseconds time, Order order, CallKind what, CoreQueue& group, Index core,
                Job& job) {
    if (at(time, order, {what, queues_.place_of(group), core, 0, 0, &job})) return;
    // No room for its end among the events: the job is lost, its core free.
    ++kernel.counts.no_room;
    queues_.leave(group, core);
    if (overseer_ != nullptr) overseer_->ended(job.path);
    kernel.forget_job(job);
  }

  // -------------------------------------------------------------- choosing

  /// Gives free cores the most urgent jobs, and runs them as far as nothing can happen.
  void choose(CoreQueue& group) {
    while (!group.ready.empty() && !group.free.empty()) {
      if (more_now()) {
        queues_.wait(group);
        return;
      }
      queues_.wait_no_more(group);
      Job& job = *group.ready.pop().job;
      ++kernel.counts.decisions;
      const Nanoseconds start = kernel.now + group.table->decision_cost + group.penalty;
      group.penalty = 0;
      UnitState& unit = *job.unit;
      if (!unit.whole) {
        run_job(group, job, start);
      } else if (job.begun) {
        const Index core = group.free.pop();
        note_instant(EventKind::RESUME, group, core, job);
        fast_.follow(group, core, job, start);
      } else {
        fast_.run(group, job, start);
      }
    }
  }

  /// Whether another job is to go before the next operator of one that has begun.
  bool outranked(CoreQueue& group, Job& job) {
    if (!program_.preemptive) return false;
    if (overseer_ != nullptr) {
      const std::int64_t key = key_now(group, job);
      return !group.ready.empty() && group.ready.top().key < key;
    }
    return !group.ready.empty() && more_urgent(group.ready.top(), job);
  }

  // -------------------------------------------------------------- operator by operator

  /// Gives a job a free core: it begins, or goes on.
  void run_job(CoreQueue& group, Job& job, Nanoseconds start) {
    const Index core = group.free.pop();
    if (job.begun) {
      const EventKind kind = overseer_ == nullptr ? EventKind::RESUME : overseer_->resumed(job);
      note_instant(kind, group, core, job);
    } else {
      kernel.begin(job);
    }
    step(group, core, job, start);
  }

  /// Runs the job's operators one by one while nothing can happen before their end.
  void step(CoreQueue& group, Index core, Job& job, Nanoseconds start) {
    if (overseer_ != nullptr && job.until == MANDATORY) {
      const std::int64_t key = key_now(group, job);
      if (key != job.key) {
        job.key = key;
        if (!group.ready.empty() && group.ready.top().key < key) {
          group.ready.push(Ready::of(job));
          queues_.leave(group, core);
          return;
        }
        if (overseer_->overrun(job)) note_instant(EventKind::REPLENISH, group, core, job);
      }
    }
    while (true) {
      const Nanoseconds end = start + job.cost;
      note_run(group, core, job, start, end, job.step, 1);
      if (!quiet(group, end)) {
        call_job(end, Order::FINISH, CallKind::OPERATOR_ENDS, group, core, job);
        return;
      }
      kernel.now = start = end;
      if (!step_on(job)) {
        end_job(group, core, job);
        return;
      }
      if (more_now()) {
        call_job(start, Order::DECISION, CallKind::CONTINUE, group, core, job);
        return;
      }
      if (!may_go_on(group, core, job)) return;
    }
  }

  /// An operator has ended at an instant at which other things happen too: go on after them.
  void operator_ends(CoreQueue& group, Index core, Job& job) {
    if (step_on(job)) {
      go_on_after_others(CallKind::CONTINUE, group, core, job);
    } else {
      end_job(group, core, job);
    }
  }

  /// An operator does what it does; whether another one follows. An optional part costs its job
  /// nothing, because it runs when nothing else would.
  bool step_on(Job& job) {
    if (overseer_ == nullptr) return kernel.step_on(job);
    const Nanoseconds cost = job.until == MANDATORY ? job.cost : 0;
    overseer_->works(job);
    const bool more = kernel.step_on(job);
    overseer_->worked(job, cost);
    return more;
  }

  /// The rest of an optional part is left out; whether an operator follows.
  bool cut(CoreQueue& group, Index core, Job& job) {
    note_instant(EventKind::CUT, group, core, job);
    if (overseer_ == nullptr) return kernel.cut(job);
    overseer_->works(job);
    const bool more = kernel.cut(job);
    overseer_->worked(job, 0);
    return more;
  }

  /// Whether a job is to run its next operator now. If not it has given way, or an optional part
  /// was all it had left and is cut.
  bool may_go_on(CoreQueue& group, Index core, Job& job) {
    if (job.until != MANDATORY) {
      if (group.ready.empty() && kernel.now + job.cost <= job.until) return true;
      if (!cut(group, core, job)) {
        end_job(group, core, job);
        return false;
      }
    }
    if (!outranked(group, job)) return true;
    preempt(group, core, job);
    return false;
  }

  void go_on_after_others(CallKind what, CoreQueue& group, Index core, Job& job) {
    if (more_now()) {
      call_job(kernel.now, Order::DECISION, what, group, core, job);
    } else {
      go_on(group, core, job);
    }
  }

  void go_on(CoreQueue& group, Index core, Job& job) {
    if (!may_go_on(group, core, job)) return;
    if (job.unit->whole) {
      fast_.follow(group, core, job, kernel.now);
    } else {
      step(group, core, job, kernel.now);
    }
  }

  /// A job gives way, for the cost of a preemption.
  void preempt(CoreQueue& group, Index core, Job& job) {
    if (overseer_ != nullptr) job.key = key_now(group, job);
    ++kernel.counts.preemptions;
    note_instant(EventKind::PREEMPT, group, core, job);
    group.penalty += group.table->preemption_cost;
    group.ready.push(Ready::of(job));
    queues_.leave(group, core);
  }

  void end_job(CoreQueue& group, Index core, Job& job) {
    queues_.leave(group, core);
    if (overseer_ == nullptr) {
      kernel.end(job);
      return;
    }
    PathJob* const path = job.path;
    kernel.end(job);
    overseer_->ended(path);
  }

  /// The key of a job before its next operator, under an overseer.
  std::int64_t key_now(CoreQueue& group, Job& job) {
    const bool others = !group.ready.empty() && !overseer_->overrun(group.ready.top().key);
    bool overran = false;
    const std::int64_t key = overseer_->key_now(job, others, overran);
    if (overran) note_instant(EventKind::OVERRUN, group, 0, job);
    return key;
  }

  // -------------------------------------------------------------- trace

  void note_run(const CoreQueue& group, Index core, const UnitState& unit, std::int64_t number,
                Nanoseconds start, Nanoseconds end, std::int32_t first, std::int32_t ran) {
    kernel.note(EventKind::RUN, start, end, program_.nodes[unit.table->node].name,
                group.table->places[core], unit.table->name, number, first, ran);
  }

  void note_run(const CoreQueue& group, Index core, const Job& job, Nanoseconds start,
                Nanoseconds end, std::int32_t first, std::int32_t ran) {
    if (kernel.traced()) note_run(group, core, *job.unit, job.number(), start, end, first, ran);
  }

  void note_instant(EventKind kind, const CoreQueue& group, Index core, const Job& job) {
    if (!kernel.traced()) return;
    const UnitState& unit = *job.unit;
    kernel.note(kind, kernel.now, kernel.now, program_.nodes[unit.table->node].name,
                group.table->places[core], unit.table->name, job.number(), 0, 0);
  }

  friend class FastPath<VirtualTime>;

  const Program& program_;
  BusNetwork<VirtualTime> network_;
  Reservations<VirtualTime> reservations_;
  Heap<TimedCall> events_;
  CoreQueues queues_;
  FastPath<VirtualTime> fast_;
  Overseer* overseer_ = nullptr;
  SourceArrival arrival_{};
  Nanoseconds next_arrival_ = NEVER;
};

/// The memory that a program needs in virtual time, operators aside.
constexpr std::size_t kernel_bytes(const Program& program) { return VirtualTime::bytes(program); }

}  // namespace headway
