// How far time has come at each operator, and what that closes.
//
// A watermark says that no unmarked tuple older than it comes any more. It starts at the sources,
// follows the operators, and never runs ahead of jobs and messages that are still under way.
#pragma once

#include "headway/ingest.hpp"

namespace headway {

/// Times that time moves between two sweeps of the joins' memory.
inline constexpr std::uint32_t JOIN_TOLD_EVERY = 64;

/// Moves watermarks on and closes windows, for a kernel that gives `source_mark`, `unit`, `ingest`,
/// and `close_windows` for what a closing operator puts out.
template <class Kernel>
class Watermarks {
 public:
  static constexpr std::size_t bytes(const Program& program) {
    const std::size_t marks = program.sources.count + program.windowed.count;
    std::size_t sum = 2 * aligned(marks * sizeof(Microseconds));
    sum += aligned(program.streams.count * sizeof(Flights));
    for (const Stream& stream : program.streams) {
      if (stream.holds_windows_back) sum += Flights::bytes(program.most_messages);
    }
    return sum;
  }

  void open(const Program& program, Kernel& kernel, Arena& arena) {
    program_ = &program;
    kernel_ = &kernel;
    const std::size_t marks = program.sources.count + program.windowed.count;
    entering_ = static_cast<Microseconds*>(arena.take(marks * sizeof(Microseconds)));
    leaving_ = static_cast<Microseconds*>(arena.take(marks * sizeof(Microseconds)));
    messages_ = static_cast<Flights*>(arena.take(program.streams.count * sizeof(Flights)));
    for (std::uint32_t stream = 0; stream < program.streams.count; ++stream) {
      new (messages_ + stream) Flights();
      if (program.streams[stream].holds_windows_back) {
        messages_[stream].open(arena, program.most_messages);
      }
    }
  }

  /// Messages of a stream that are under way between nodes.
  Flights& messages(Index stream) { return messages_[stream]; }

  /// Time has moved. Aggregates close the windows that nothing can reach any more; joins, for which
  /// it only frees memory, are told now and then. `eager` looks whether or not a window may be due.
  void look(bool eager) {
    const bool told_joins = ++moves_ % JOIN_TOLD_EVERY == 0;
    if (!told_joins && !may_close(eager)) return;
    look_at_all();
    for (const ClosingOperator& closing : program_->closing) {
      const Microseconds mark = entering_[closing.mark];
      if (mark == NO_TIME) continue;
      // What went out may wait on its way now, and holds the later windows back.
      if (kernel_->close_windows(closing, mark)) look_at_all();
    }
    if (told_joins) {  // last: windows that just closed may have gone to them
      for (const ForgettingOperator& join : program_->forgetting) {
        const Microseconds mark = entering_[join.mark];
        if (mark != NO_TIME) kernel_->forget(join, mark);
      }
    }
  }

  /// What joins and the like could forget, they forget: a state is to be written.
  void tidy() {
    if (program_->forgetting.empty()) return;
    look_at_all();
    for (const ForgettingOperator& join : program_->forgetting) {
      const Microseconds mark = entering_[join.mark];
      if (mark != NO_TIME) join.stateful->tidy(mark);
    }
  }

  /// The watermark of what an operator gives out, by its place, looked at now.
  Microseconds leaving(Index mark) {
    look_at_all();
    return leaving_[mark];
  }

  void save(StateWriter& writer) const { writer.put(moves_); }
  bool load(StateReader& reader) { return reader.get(moves_); }

 private:
  /// Whether an aggregate may have a window to close: the time of every source before it has come
  /// far enough. What is under way can only hold it back.
  bool may_close(bool eager) const {
    if (eager) return !program_->closing.empty();
    for (const ClosingOperator& closing : program_->closing) {
      const Microseconds due = closing.stateful->next_due();
      if (due == NO_TIME) return true;
      bool reached = true;
      for (const Index source : closing.sources) {
        const Microseconds mark = kernel_->ingest(source).watermark();
        if (mark == NO_TIME || mark < due) {
          reached = false;
          break;
        }
      }
      if (reached) return true;
    }
    return false;
  }

  /// For each operator up to the last window: no unmarked tuple older than this comes to it any
  /// more. NO_TIME as long as a source has not begun.
  void look_at_all() {
    for (std::uint32_t source = 0; source < program_->sources.count; ++source) {
      leaving_[source] = kernel_->source_mark(static_cast<Index>(source));
    }
    for (const WindowedOperator& windowed : program_->windowed) {
      Microseconds mark = INT64_MAX;
      for (std::uint32_t input = 0; input < windowed.input_marks.count; ++input) {
        const Microseconds before = leaving_[windowed.input_marks[input]];
        if (before == NO_TIME) {
          mark = NO_TIME;
          break;
        }
        const Microseconds received = messages_[windowed.input_streams[input]].oldest(before);
        if (received < mark) mark = received;
      }
      if (mark != NO_TIME) {
        for (const Index unit : windowed.units) mark = kernel_->unit(unit).flights.oldest(mark);
      }
      entering_[windowed.mark] = mark;
      if (mark != NO_TIME && windowed.stateful != nullptr) {
        mark = windowed.stateful->output_watermark(mark);
        if (windowed.gathering_unit != NONE) {
          const UnitState& gathering = kernel_->unit(windowed.gathering_unit);
          if (gathering.gathers_some && gathering.oldest < mark) mark = gathering.oldest;
        }
      }
      leaving_[windowed.mark] = mark;
    }
  }

  const Program* program_ = nullptr;
  Kernel* kernel_ = nullptr;
  Microseconds* entering_ = nullptr;
  Microseconds* leaving_ = nullptr;
  Flights* messages_ = nullptr;
  std::uint32_t moves_ = 0;
};

}  // namespace headway
