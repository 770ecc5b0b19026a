// Buses, links and gateways in virtual time: contention frame by frame, by priority.
//
// A tuple takes the frames that the compiler counted. The most urgent waiting frame goes when the
// medium is free; a frame under way is never stopped. A stream for several receivers is sent once
// on each medium it enters.
#pragma once

#include "headway/kernel.hpp"

namespace headway {

/// A tuple between nodes; its row follows at ROW_OFFSET.
struct Message {
  std::int64_t root;
  /// Its place among the messages under way that windows wait for.
  std::uint32_t flight;
  /// Media that still have to carry it.
  std::uint32_t carriers;
  Index stream;
  bool late;

  void* row();
};
inline constexpr std::size_t MESSAGE_ROW_OFFSET = aligned(sizeof(Message));
inline void* Message::row() { return reinterpret_cast<std::byte*>(this) + MESSAGE_ROW_OFFSET; }

/// A message at a medium: the most urgent goes first, then the one that came first.
struct WaitingFrame {
  std::int32_t priority;
  Index branch;
  std::uint32_t sent;
  std::int64_t number;
  Message* message;
};
inline bool operator<(const WaitingFrame& left, const WaitingFrame& right) {
  if (left.priority != right.priority) return left.priority < right.priority;
  return left.number < right.number;
}

/// All media of a vehicle and the ways of the crossing streams. `Time` gives `at`, `deliver` (a
/// message has reached an outlet) and `frame_begins`, and its `kernel`.
template <class Time>
class BusNetwork {
  struct MediumState {
    Heap<WaitingFrame> waiting;
    std::int64_t number = 0;
    bool busy = false;
    /// Frame time so far, for the load.
    Nanoseconds carried = 0;
  };

 public:
  static constexpr std::size_t bytes(const Program& program) {
    std::size_t sum = aligned(program.media.count * sizeof(MediumState));
    sum += program.media.count * Heap<WaitingFrame>::bytes(program.most_messages);
    sum += aligned(program.streams.count * sizeof(Index));
    return sum + Slots::bytes(MESSAGE_ROW_OFFSET + widest_row(program), program.most_messages);
  }

  explicit BusNetwork(Time& time) : time_(time) {}

  void open(const Program& program, Arena& arena) {
    program_ = &program;
    media_ = static_cast<MediumState*>(arena.take(program.media.count * sizeof(MediumState)));
    for (std::uint32_t medium = 0; medium < program.media.count; ++medium) {
      (new (media_ + medium) MediumState())->waiting.open(arena, program.most_messages);
    }
    crossings_ = static_cast<Index*>(arena.take(program.streams.count * sizeof(Index)));
    for (std::uint32_t stream = 0; stream < program.streams.count; ++stream) {
      crossings_[stream] = NONE;
    }
    for (std::uint32_t place = 0; place < program.crossings.count; ++place) {
      crossings_[program.crossings[place].stream] = static_cast<Index>(place);
    }
    messages_.open(arena, MESSAGE_ROW_OFFSET + widest_row(program), program.most_messages);
  }

  /// A message with a copy of the row; null when too many are under way.
  Message* message(Index stream, const void* row, std::int64_t root, bool late) {
    Message* const made = static_cast<Message*>(messages_.take());
    if (made == nullptr) return nullptr;
    made->root = root;
    made->flight = NO_FLIGHT;
    made->carriers = 0;
    made->stream = stream;
    made->late = late;
    std::memcpy(made->row(), row, program_->streams[stream].row_bytes);
    return made;
  }

  /// A tuple leaves its node, to all nodes that want its stream.
  void send(Message& message) {
    message.carriers = 1;  // this call
    if (crossings_[message.stream] != NONE) {
      for (const Index branch : program_->crossings[crossings_[message.stream]].first_branches) {
        ++message.carriers;
        offer(branch, message);
      }
    }
    carried_by_one_less(message);
  }

  /// The outlet that gets a stream's tuple last: then all have it.
  Index last_receiver(Index stream) const {
    return program_->crossings[crossings_[stream]].last_receiver;
  }

  /// Frame time of a medium so far.
  Nanoseconds carried(Index medium) const { return media_[medium].carried; }

  /// A call of this network's own.
  void run(const Call& call) {
    Message& message = *static_cast<Message*>(call.argument);
    if (call.what == CallKind::PASS_ON) {
      offer(call.place, message);
    } else {
      sent({program_->branches[call.place].priority, call.place,
            static_cast<std::uint32_t>(call.root), call.number, &message});
    }
  }

 private:
  static constexpr std::uint32_t widest_row(const Program& program) {
    std::uint32_t widest = 0;
    for (const Crossing& crossing : program.crossings) {
      const std::uint32_t bytes = program.streams[crossing.stream].row_bytes;
      if (bytes > widest) widest = bytes;
    }
    return widest;
  }

  /// A tuple wants to be sent.
  void offer(Index branch, Message& message) {
    const Branch& table = program_->branches[branch];
    MediumState& medium = media_[table.medium];
    if (!medium.waiting.push({table.priority, branch, 0, ++medium.number, &message})) {
      lost(message);
      return;
    }
    if (!medium.busy) next(table.medium);
  }

  void next(Index place) {
    MediumState& medium = media_[place];
    if (medium.waiting.empty()) return;
    const WaitingFrame frame = medium.waiting.pop();
    const Branch& branch = program_->branches[frame.branch];
    const Nanoseconds time = branch.frames[frame.sent];
    medium.busy = true;
    medium.carried += time;
    time_.frame_begins(branch, *frame.message, time, frame.sent);
    const Call call{CallKind::FRAME_SENT, frame.branch, 0, frame.number, frame.sent, frame.message};
    if (!time_.at(time_.kernel.now + time, Order::DELIVERY, call)) {
      medium.busy = false;
      lost(*frame.message);
    }
  }

  void sent(const WaitingFrame& frame) {
    const Branch& branch = program_->branches[frame.branch];
    MediumState& medium = media_[branch.medium];
    medium.busy = false;
    if (frame.sent + 1 < branch.frames.count) {
      WaitingFrame rest = frame;
      ++rest.sent;
      if (!medium.waiting.push(rest)) lost(*frame.message);
    } else {
      arrived(branch, *frame.message);
    }
    if (!medium.busy) next(branch.medium);
  }

  /// The last frame is through: nodes on the medium have the tuple, gateways pass it on.
  void arrived(const Branch& branch, Message& message) {
    for (const Index outlet : branch.receivers) time_.deliver(outlet, message);
    for (const Onward& onward : branch.onward) {
      const Index following = branch_on(branch.stream, onward.medium);
      const Call call{CallKind::PASS_ON, following, 0, 0, 0, &message};
      ++message.carriers;
      if (!time_.at(time_.kernel.now + onward.delay, Order::DELIVERY, call)) lost(message);
    }
    carried_by_one_less(message);
  }

  Index branch_on(Index stream, Index medium) const {
    for (std::uint32_t place = 0; place < program_->branches.count; ++place) {
      const Branch& branch = program_->branches[place];
      if (branch.stream == stream && branch.medium == medium) return static_cast<Index>(place);
    }
    return NONE;
  }

  void carried_by_one_less(Message& message) {
    if (--message.carriers != 0) return;
    time_.message_ends(message);
    messages_.give(&message);
  }

  void lost(Message& message) {
    time_.message_lost(message);
    carried_by_one_less(message);
  }

  Time& time_;
  const Program* program_ = nullptr;
  MediumState* media_ = nullptr;
  Index* crossings_ = nullptr;
  Slots messages_;
};

}  // namespace headway
