// The fast path of virtual time: a source's lane into its only train, whole trains as one function.
//
// Where a train is stateless it takes the place of the kernel's entrance and of the stepping of
// virtual_time.hpp, and gives the same results at the same times with less work for each tuple.
// Keys are not asked for again once a job is queued: no run under an overseer takes this path.
#pragma once

#include "headway/core_queues.hpp"
#include "headway/kernel.hpp"

namespace headway {

/// The short cuts of a time keeper that gives its `kernel`, `quiet`, `undisturbed_until`,
/// `next_arrival`, `call_job`, `go_on_after_others` and `note_run`.
template <class Time>
class FastPath {
  /// A source whose tuples all enter one stateless train on a single core, and nothing else.
  struct Lane {
    UnitState* unit = nullptr;
    CoreQueue* group = nullptr;
    Ingest* ingest = nullptr;
    Index outlet = 0;
    Port port = 0;
    std::uint32_t row_bytes = 0;
  };

 public:
  static constexpr std::size_t bytes(const Program& program) {
    return aligned(program.sources.count * sizeof(Lane));
  }

  explicit FastPath(Time& time) : time_(time), kernel_(time.kernel) {}

  /// `lanes`: whether sources may have some.
  void open(const Program& program, Arena& arena, CoreQueues& queues, bool lanes) {
    queues_ = &queues;
    lanes_ = static_cast<Lane*>(arena.take(program.sources.count * sizeof(Lane)));
    for (std::uint32_t source = 0; source < program.sources.count; ++source) {
      Lane* const lane = new (lanes_ + source) Lane();
      if (lanes) *lane = lane_of(program, static_cast<Index>(source));
    }
  }

  /// From a source into its only train: run at once if the node is idle and stays undisturbed, else
  /// queue. False: the source has no lane.
  bool arrive(Index source, const void* row) {
    const Lane& lane = lanes_[source];
    if (lane.unit == nullptr) return false;
    UnitState& unit = *lane.unit;
    CoreQueue& group = *lane.group;
    Ingest& ingest = *lane.ingest;
    if (ingest.watched) ingest.watch.arrived(kernel_.now);
    const std::int64_t root = root_of(++kernel_.roots, source);
    kernel_.count_passed(lane.outlet);
    const bool late = ingest.mark(timestamp_of(row));
    const Nanoseconds start = kernel_.now + group.table->decision_cost;
    if (!group.ready.empty() || group.free.empty() || group.penalty != 0 ||
        !time_.quiet(group, start + unit.table->cost)) {
      kernel_.release_fresh(unit, lane.port, row, lane.row_bytes, root, late);
      return true;
    }
    ++kernel_.counts.decisions;
    const void* out = nullptr;
    const WholeResult result = kernel_.run_whole(unit, lane.port, row, out);
    ++unit.ran[result.ran];
    const Nanoseconds end = start + unit.spent[result.ran];
    kernel_.now = end;
    if (kernel_.traced()) {
      time_.note_run(group, group.free[0], unit, kernel_.next_number(), start, end, 0, result.ran);
    }
    if (result.passed) kernel_.pass_on(unit.table->exit, out, root, late);
    return true;
  }

  /// A job of a train without state gets a core.
  void run(CoreQueue& group, Job& job, Nanoseconds start) {
    if (time_.quiet(group, start + job.unit->table->cost)) {
      run_at_once(group, job, start);
    } else {
      begin_course(job);
      follow(group, group.free.pop(), job, start);
    }
  }

  /// Runs as many operators of a train at once as end before anything can happen, and the one that
  /// is under way then.
  void follow(CoreQueue& group, Index core, Job& job, Nanoseconds start) {
    const Nanoseconds* const spent = job.unit->spent;
    const std::uint16_t first = job.done;
    std::uint16_t done = first;
    const Nanoseconds begin = start - spent[first];
    if (!queues_->any_waits() && group.cores == 1) {
      const Nanoseconds undisturbed = time_.undisturbed_until();
      while (done < job.ran && spent[done + 1] <= undisturbed - begin) ++done;
    }
    const bool under_way =
        done < job.ran && (done == first || begin + spent[done] != time_.next_arrival());
    job.done = static_cast<std::uint16_t>(done + (under_way ? 1 : 0));
    const Nanoseconds end = begin + spent[job.done];
    if (job.done > first) time_.note_run(group, core, job, start, end, first, job.done - first);
    if (under_way) {
      time_.call_job(end, Order::FINISH, CallKind::COURSE_ENDS, group, core, job);
      return;
    }
    kernel_.now = end;
    if (done < job.ran) {
      time_.call_job(end, Order::DECISION, CallKind::CONTINUE_COURSE, group, core, job);
    } else {
      end_course(group, core, job);
    }
  }

  /// An operator has ended at an instant at which other things happen too.
  void operator_ends(CoreQueue& group, Index core, Job& job) {
    if (job.done == job.ran) {
      end_course(group, core, job);
    } else {
      time_.go_on_after_others(CallKind::CONTINUE_COURSE, group, core, job);
    }
  }

 private:
  Lane lane_of(const Program& program, Index source) {
    Lane lane;
    const Outlet& entrance = program.outlets[program.sources[source].outlet];
    if (entrance.entries.count != 1 || !entrance.outputs.empty() || entrance.sent) return lane;
    Ingest& ingest = kernel_.ingest(source);
    if (ingest.sheds || kernel_.has_windows()) return lane;
    UnitState& unit = kernel_.unit(entrance.entries[0].unit);
    CoreQueue& group = (*queues_)[unit.table->group];
    if (!unit.whole || unit.free || group.cores > 1) return lane;
    lane.unit = &unit;
    lane.group = &group;
    lane.ingest = &ingest;
    lane.outlet = program.sources[source].outlet;
    lane.row_bytes = entrance.row_bytes;
    lane.port = entrance.entries[0].port;
    return lane;
  }

  /// Nothing can happen before its end.
  void run_at_once(CoreQueue& group, Job& job, Nanoseconds start) {
    UnitState& unit = *job.unit;
    const void* out = nullptr;
    const WholeResult result = kernel_.run_whole(unit, job.port, job.row, out);
    ++unit.ran[result.ran];
    const Nanoseconds end = start + unit.spent[result.ran];
    kernel_.now = end;
    time_.note_run(group, group.free[0], job, start, end, 0, result.ran);
    if (result.passed) kernel_.pass_on(unit.table->exit, out, job.root, job.late);
    kernel_.end(job);
  }

  /// Nobody sees the result of a train before its end, so the train has run when its job begins;
  /// the result takes the place of the tuple.
  void begin_course(Job& job) {
    UnitState& unit = *job.unit;
    const void* out = nullptr;
    const WholeResult result = kernel_.run_whole(unit, job.port, job.row, out);
    job.begun = true;
    job.inner = job.pending = nullptr;
    job.until = MANDATORY;
    job.ran = result.ran;
    job.done = 0;
    job.passed = result.passed;
    if (result.passed && out != job.row) {
      std::memcpy(job.own_row(), out, kernel_.program().outlets[unit.table->exit].row_bytes);
    }
  }

  void end_course(CoreQueue& group, Index core, Job& job) {
    UnitState& unit = *job.unit;
    ++unit.ran[job.ran];
    if (job.passed) kernel_.pass_on(unit.table->exit, job.own_row(), job.root, job.late);
    queues_->leave(group, core);
    kernel_.end(job);
  }

  Time& time_;
  Kernel<Time>& kernel_;
  CoreQueues* queues_ = nullptr;
  Lane* lanes_ = nullptr;
};

}  // namespace headway
