// Queues of ready jobs and the cores they feed; which of them may have something to choose.
#pragma once

#include "headway/jobs.hpp"

namespace headway {

/// One queue and its cores: all cores of a node (global), or one of them (partitioned).
struct CoreQueue {
  const CoreGroup* table = nullptr;
  Heap<Ready> ready;
  /// Cores without a job; the last one is used next.
  List<Index> free;
  std::uint32_t cores = 0;
  /// Cost of preemptions, paid before the next job.
  Nanoseconds penalty = 0;
  /// Whether it may have something to choose.
  bool waits = false;
};

/// All queues of a run.
class CoreQueues {
 public:
  static constexpr std::size_t bytes(const Program& program) {
    std::size_t sum = aligned(program.groups.count * sizeof(CoreQueue));
    sum += List<Index>::bytes(program.groups.count);
    for (std::uint32_t group = 0; group < program.groups.count; ++group) {
      sum += List<Index>::bytes(program.groups[group].places.count);
      sum += Heap<Ready>::bytes(most_jobs(program, group));
    }
    return sum;
  }

  void open(const Program& program, Arena& arena) {
    waiting_.open(arena, program.groups.count);
    queues_ = static_cast<CoreQueue*>(arena.take(program.groups.count * sizeof(CoreQueue)));
    for (std::uint32_t place = 0; place < program.groups.count; ++place) {
      CoreQueue* const queue = new (queues_ + place) CoreQueue();
      queue->table = &program.groups[place];
      queue->cores = queue->table->places.count;
      queue->free.open(arena, queue->cores);
      for (std::uint32_t core = 0; core < queue->cores; ++core) {
        queue->free.push(static_cast<Index>(core));
      }
      queue->ready.open(arena, most_jobs(program, place));
    }
  }

  CoreQueue& operator[](Index place) { return queues_[place]; }
  CoreQueue& of(const Job& job) { return queues_[job.unit->table->group]; }
  Index place_of(const CoreQueue& queue) const { return static_cast<Index>(&queue - queues_); }

  // -------------------------------------------------------------- who may have to choose

  bool any_waits() const { return !waiting_.empty(); }

  /// The one that came to it first.
  CoreQueue& first_waiting() { return queues_[waiting_[0]]; }

  void wait(CoreQueue& queue) {
    if (queue.waits) return;
    queue.waits = true;
    waiting_.push(place_of(queue));
  }

  void wait_no_more(CoreQueue& queue) {
    if (!queue.waits) return;
    queue.waits = false;
    std::size_t where = 0;
    while (waiting_[where] != place_of(queue)) ++where;
    waiting_.erase(where);
  }

  /// A core is free.
  void leave(CoreQueue& queue, Index core) {
    queue.free.push(core);
    wait(queue);
  }

 private:
  static constexpr std::size_t most_jobs(const Program& program, std::uint32_t group) {
    std::size_t sum = 0;
    for (const Unit& unit : program.units) {
      if (unit.group == group) sum += unit.most_jobs;
    }
    return sum;
  }

  CoreQueue* queues_ = nullptr;
  /// In the order in which they came to it.
  List<Index> waiting_;
};

}  // namespace headway
