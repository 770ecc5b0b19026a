// How a job runs: operator by operator, its results through the rest of the train depth first, each
// to its end before the next; a gathered batch as one execution or item by item; a train without
// state as one function.
//
// An operator does what it does at the end of its time. Between two operators a job can be left
// alone: what it needs to go on stands in it.
#pragma once

#include "headway/jobs.hpp"

namespace headway {

/// Of a kernel that gives `now`, `pass_on`, `start_timer`, `leaving_mark`, `drop_at_step`,
/// `no_room` and `ITEM_BY_ITEM`.
template <class Kernel>
class JobSteps {
 public:
  explicit JobSteps(Kernel& kernel) : kernel_(kernel) {}

  /// A job that was queued begins: its first operator is known.
  void begin(Job& job) {
    const Unit& unit = *job.unit->table;
    job.begun = true;
    job.inner = job.pending = nullptr;
    job.items_left = 0;
    job.until = MANDATORY;
    job.step = 0;
    switch (job.work) {
      case Work::FRESH_TUPLE:
        job.row_late = job.late;
        ++job.unit->consumed[0];
        job.cost = unit.steps[0].cost;
        break;
      case Work::HEAD_RESULT:
        job.cost = unit.steps[0].cost;
        break;
      case Work::GATHERED_BATCH:
        begin_batch(job);
        break;
    }
  }

  /// The time of the operator under way is over: it does what it does; whether another follows.
  /// Results go through the rest of the train depth first, each to its end before the next.
  bool step_on(Job& job) {
    UnitState& unit = *job.unit;
    if (job.until != MANDATORY) return run_piece(job);
    switch (job.work) {
      case Work::FRESH_TUPLE:
        if (run_operator(job)) return true;
        break;
      case Work::HEAD_RESULT:
        job.work = Work::FRESH_TUPLE;  // from here on like any other
        job.row_late = job.late;
        job.step = 1;
        if (unit.steps > 1) ++unit.produced[0];
        break;
      case Work::GATHERED_BATCH:
        if (step_of_batch(job)) return true;
        break;
    }
    return find_next(job);
  }

  /// The rest of the optional part is left out; whether an operator follows.
  bool cut(Job& job) {
    end_optional_part(job);
    return find_next(job);
  }

  /// Runs a stateless train as one; what passes stands in the unit's scratch memory.
  WholeResult run_whole(UnitState& unit, Port port, const void* row, const void*& out) {
    out = unit.scratch[0];
    if (unit.table->whole != nullptr) return unit.table->whole(row, unit.scratch[0]);
    return run_steps(unit, port, row, out);
  }

  /// Gives back what a job keeps.
  void forget(Job& job) {
    UnitState& unit = *job.unit;
    if (job.begun) {
      give_inner(unit, job);
      while (job.pending != nullptr) {
        InnerRow* const next = job.pending->next;
        unit.inner.give(job.pending);
        job.pending = next;
      }
    }
    if (job.work == Work::GATHERED_BATCH) give_batch(unit, job.batch());
    if (unit.at_items == &job) unit.at_items = nullptr;
  }

 private:
  /// Of a step of a job: results join those that are pending in it.
  class StepOutput final : public OperatorOutput {
   public:
    StepOutput(Kernel& kernel, Job& job, const Step& step)
        : kernel_(kernel), job_(job), step_(step), last_(&first) {}

    void emit(const void* row) override {
      InnerRow* const slot = static_cast<InnerRow*>(job_.unit->inner.take());
      if (slot == nullptr) {
        kernel_.no_room(step_, NO_PORT, row);
        return;
      }
      std::memcpy(slot->row(), row, step_.row_bytes);
      slot->next = nullptr;
      slot->step = static_cast<std::uint16_t>(job_.step + 1);
      slot->late = job_.row_late;
      const Microseconds timestamp = timestamp_of(row);
      if (timestamp < oldest) oldest = timestamp;
      *last_ = slot;
      last_ = &slot->next;
      ++count;
    }
    void drop(DropKind kind, Reason reason, std::int64_t detail, Port port,
              const void* row) override {
      kernel_.drop_at_step(step_, kind, reason, detail, port, row);
    }
    void start_timer(Nanoseconds at, std::int64_t token) override {
      kernel_.start_timer(at, {CallKind::EXPIRE, job_.unit->index, 0, token, 0, step_.stateful});
    }

    /// Puts the results before what is pending in the job; those of an item behind those of the
    /// items before it.
    void hand_over() {
      InnerRow** place = &job_.pending;
      if (job_.work == Work::GATHERED_BATCH) {
        while (*place != nullptr) place = &(*place)->next;
      }
      *last_ = *place;
      *place = first;
    }

    InnerRow* first = nullptr;
    Microseconds oldest = INT64_MAX;
    std::uint32_t count = 0;

   private:
    Kernel& kernel_;
    Job& job_;
    const Step& step_;
    InnerRow** last_;
  };

  // -------------------------------------------------------------- batches

  /// The oldest timestamp of what the operator under way was given.
  static Microseconds oldest_given(Job& job) {
    if (job.work != Work::GATHERED_BATCH) return timestamp_of(job.row);
    Microseconds oldest = INT64_MAX;
    for (const Gathered* first : job.batch().first) {
      for (const Gathered* one = first; one != nullptr; one = one->next) {
        const Microseconds timestamp = timestamp_of(one->row());
        if (timestamp < oldest) oldest = timestamp;
      }
    }
    return oldest;
  }

  void begin_batch(Job& job) {
    const Unit& unit = *job.unit->table;
    const std::uint32_t items = job.batch().items;
    job.row_late = job.late;
    job.cost = unit.base_cost;
    if (unit.between_items) {
      job.items_left = items;
    } else {
      job.cost += static_cast<Nanoseconds>(items) * unit.item_cost;
    }
  }

  /// The time of a batch, or of one of its items, is over; whether another item follows, or the
  /// optional part.
  bool step_of_batch(Job& job) {
    UnitState& unit = *job.unit;
    const Unit& table = *unit.table;
    const Step& head = table.steps[0];
    Batch& batch = job.batch();
    if (Kernel::ITEM_BY_ITEM && table.between_items) return step_of_items(job);
    if (job.items_left > 0) {
      --job.items_left;
      job.cost = table.item_cost;
      return true;
    }
    StepOutput output(kernel_, job, head);
    table.gathering->execute(batch, table.ports, kernel_.now, job.timed_out, output);
    take_results(job, *table.gathering, output);
    end_of_batch(job);
    return begin_optional_part(job, true);
  }

  void end_of_batch(Job& job) {
    give_batch(*job.unit, job.batch());
    job.work = Work::FRESH_TUPLE;  // from here on like any other: a row after another
    job.row = nullptr;
  }

  /// Item by item: first the beginning, then each item, the end with the last of them. Whether
  /// another item follows, or the optional part.
  bool step_of_items(Job& job) {
    UnitState& unit = *job.unit;
    const Unit& table = *unit.table;
    if (unit.at_items == nullptr) {
      unit.at_items = &job;
      table.gathering->begin(job.batch(), kernel_.now, job.timed_out);
      job.row = first_from(job, 0);
      job.cost = table.item_cost;
      return true;
    }
    run_item(job);
    if (job.items_left > 0) return true;
    unit.at_items = nullptr;
    StepOutput output(kernel_, job, table.steps[0]);
    table.gathering->end(kernel_.now, output);
    take_results(job, *table.gathering, output);
    end_of_batch(job);
    return begin_optional_part(job, true);
  }

  /// The tuple at hand, to which the job's row points, and then the one after it.
  void run_item(Job& job) {
    --job.items_left;
    const Unit& table = *job.unit->table;
    const Gathered& tuple = *static_cast<const Gathered*>(job.row);
    StepOutput output(kernel_, job, table.steps[0]);
    table.gathering->item(tuple, output);
    take_results(job, *table.gathering, output);
    job.row = tuple.next;
    if (tuple.next == nullptr) job.row = first_from(job, static_cast<Port>(tuple.port + 1));
  }

  /// The first tuple of a batch by this port or one after it.
  static const Gathered* first_from(Job& job, Port port) {
    const Port ports = job.unit->table->ports;
    while (port < ports && job.batch().first[port] == nullptr) ++port;
    return port < ports ? job.batch().first[port] : nullptr;
  }

  // -------------------------------------------------------------- optional parts

  /// The operator under way has given what it gives: its results, which nothing but outputs take,
  /// wait for its optional part. Not so where another tuple of the job still has something
  /// mandatory before it (the operator was not `alone`): then the part is left out. Whether a piece
  /// follows.
  bool begin_optional_part(Job& job, bool alone) {
    const OptionalPart* const part = job.unit->table->optional;
    if (part == nullptr || job.step + 1 != job.unit->steps || job.pending == nullptr) return false;
    job.pieces_done = 0;
    if (!alone) {
      end_optional_part(job);
      return false;
    }
    Microseconds oldest = INT64_MAX;
    for (InnerRow* one = job.pending; one != nullptr; one = one->next) {
      const Microseconds timestamp = timestamp_of(one->row());
      if (timestamp < oldest) oldest = timestamp;
    }
    job.until = nanoseconds_of(oldest) + job.unit->table->deadline;
    job.since = kernel_.now;
    job.cost = part->piece_cost;
    return true;
  }

  /// The time of a piece is over; whether another follows.
  bool run_piece(Job& job) {
    const OptionalPart& part = *job.unit->table->optional;
    if (part.refines->refine(job.pending, job.pieces_done, job.since)) {
      ++job.pieces_done;
    } else {
      job.pieces_done = part.pieces;  // there was less to do than declared
    }
    if (job.pieces_done < part.pieces) return true;
    end_optional_part(job);
    return find_next(job);
  }

  void end_optional_part(Job& job) {
    job.until = MANDATORY;
    job.unit->precision.done += job.pieces_done;
    job.unit->precision.asked += job.unit->table->optional->pieces;
  }

  // -------------------------------------------------------------- operator by operator

  /// The operator under way gets its row; whether its optional part follows.
  bool run_operator(Job& job) {
    UnitState& unit = *job.unit;
    const Step& step = unit.table->steps[job.step];
    const Port port = job.step == 0 ? job.port : step.port;
    switch (step.kind) {
      case StepKind::FILTER:
        if (!step.filter(job.row)) {
          give_inner(unit, job);
          return false;
        }
        break;
      case StepKind::MAP:
        if (!make_row(unit, job, step, step.map, port)) return false;
        break;
      case StepKind::CONVERT:
        if (step.by_port[port] != nullptr && !make_row(unit, job, step, step.by_port[port], port)) {
          return false;
        }
        break;
      case StepKind::PASS:
        break;
      case StepKind::STATEFUL: {
        StepOutput output(kernel_, job, step);
        const bool alone = job.pending == nullptr;
        step.stateful->accept(port, job.row, kernel_.now, job.row_late, output);
        take_results(job, *step.stateful, output);
        give_inner(unit, job);
        return output.count != 0 && begin_optional_part(job, alone);
      }
    }
    if (job.step + 1 < unit.steps) ++unit.produced[job.step];
    ++job.step;
    return false;
  }

  bool make_row(UnitState& unit, Job& job, const Step& step, MapFunction map, Port port) {
    InnerRow* const slot = static_cast<InnerRow*>(unit.inner.take());
    if (slot == nullptr) {
      kernel_.no_room(step, port, job.row);
      give_inner(unit, job);
      return false;
    }
    map(job.row, slot->row());
    const std::uint16_t place = job.step;
    give_inner(unit, job);
    job.inner = slot;
    job.row = slot->row();
    job.step = place;
    return true;
  }

  /// The row of a job is used up.
  void give_inner(UnitState& unit, Job& job) {
    if (job.inner != nullptr) unit.inner.give(job.inner);
    job.inner = nullptr;
    job.row = nullptr;
  }

  /// Results of a stateful step. What a user's class gives a timestamp older than all it was given
  /// may be older than the windows after it still wait for: then it is marked late here, as a
  /// source's would be, so that what becomes of it depends on nothing but the order of arrival.
  void take_results(Job& job, Operator& stateful, StepOutput& output) {
    UnitState& unit = *job.unit;
    if (output.count != 0 && unit.holds_windows_back() && unit.marks[job.step] != NONE &&
        !job.row_late && stateful.own_timestamps() && output.oldest < oldest_given(job)) {
      const Microseconds mark = kernel_.leaving_mark(unit.marks[job.step]);
      for (InnerRow* one = output.first; one != nullptr && mark != NO_TIME; one = one->next) {
        one->late = timestamp_of(one->row()) < mark;
      }
    }
    if (job.step + 1 < unit.steps) unit.produced[job.step] += output.count;
    output.hand_over();
  }

  /// The next operator that a row of the job comes to; results of the train are passed on.
  bool find_next(Job& job) {
    UnitState& unit = *job.unit;
    while (true) {
      if (job.row == nullptr) {
        InnerRow* const next = job.pending;
        if (next == nullptr) return false;
        job.pending = next->next;
        job.inner = next;
        job.row = next->row();
        job.row_late = next->late;
        job.step = next->step;
      }
      if (job.step < unit.steps) {
        ++unit.consumed[job.step];
        job.cost = unit.table->steps[job.step].cost;
        return true;
      }
      kernel_.pass_on(unit.table->exit, job.row, job.root, job.row_late);
      give_inner(unit, job);
    }
  }

  /// Operator by operator, without a function for the whole train.
  WholeResult run_steps(UnitState& unit, Port port, const void* row, const void*& out) {
    unsigned to = 0;
    for (Index place = 0; place < unit.steps; ++place) {
      const Step& step = unit.table->steps[place];
      if (step.kind == StepKind::FILTER) {
        if (!step.filter(row)) return {static_cast<std::uint16_t>(place + 1), false};
        continue;
      }
      const Port by = place == 0 ? port : step.port;
      MapFunction map = nullptr;
      if (step.kind == StepKind::MAP) map = step.map;
      if (step.kind == StepKind::CONVERT) map = step.by_port[by];
      if (map == nullptr) continue;
      map(row, unit.scratch[to]);
      row = unit.scratch[to];
      to = 1 - to;
    }
    out = row;
    return {unit.steps, true};
  }

  Kernel& kernel_;
};

}  // namespace headway
