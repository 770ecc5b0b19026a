// The rest of the plan, as the run of one node sees it: streams leave for peers and come from them,
// with their time; and the one place where the node waits. The twin of `OtherNodes` in
// engine/nodes/node_process.py.
#pragma once

#include <poll.h>
#include <signal.h>

#include "headway/application.hpp"
#include "headway/transport.hpp"
#include "headway/wall_time.hpp"

namespace headway {

/// A busy node looks at its sockets at most this often: a look costs some microseconds.
inline constexpr Nanoseconds EXCHANGED_EVERY = 30'000;

/// Set by a signal: no more input.
inline volatile sig_atomic_t stop_asked = 0;

/// Signals come only while the node waits; one that is always busy looks for them.
inline void look_for_signals() {
  sigset_t pending;
  ::sigemptyset(&pending);
  ::sigpending(&pending);
  if (::sigismember(&pending, SIGTERM) == 1 || ::sigismember(&pending, SIGINT) == 1) stop_asked = 1;
}

/// Is told what is worth a line among the node's events, and when there is time to write.
class NodeNotes {
 public:
  virtual void note(const char* event, const char* peer, const char* reason) = 0;
  virtual void idle() = 0;

 protected:
  ~NodeNotes() = default;
};

template <class Clock>
class OtherNodes final : public Outside, public PeerHandler {
  struct Route {
    Index source = NONE;
    Index sender = NONE;
  };
  struct Sent {
    Microseconds told = NO_TIME;
  };

 public:
  static constexpr std::size_t MOST_TRANSPORTS = 8;

  std::int64_t received = 0;
  std::int64_t sent = 0;

  OtherNodes(const NodeProgram& node, Clock& clock, NodeNotes& notes, const PeerTiming& timing)
      : node_(node), clock_(clock), notes_(notes), timing_(timing) {}

  static constexpr std::size_t bytes(const NodeProgram& node, std::size_t watched) {
    return Objects<Route>::bytes(node.wires.count) + Objects<Sent>::bytes(node.sent.count) +
           Objects<Index>::bytes(node.program->streams.count) +
           2 * Objects<Microseconds>::bytes(node.program->sources.count) +
           Objects<Nanoseconds>::bytes(node.peers.count) + aligned(watched * sizeof(pollfd));
  }

  void open(Arena& arena, WallTime<Clock>& time, ApplicationBase* application,
            std::uint32_t watched) {
    time_ = &time;
    application_ = application;
    routes_.open(arena, node_.wires.count);
    told_.open(arena, node_.sent.count);
    sent_of_stream_.open(arena, node_.program->streams.count);
    marks_.open(arena, node_.program->sources.count);
    sender_of_.open(arena, node_.program->sources.count);
    asked_.open(arena, node_.peers.count);
    watched_ = static_cast<pollfd*>(arena.take(watched * sizeof(pollfd)));
    most_watched_ = watched;
    for (Index& one : sent_of_stream_) one = NONE;
    for (Microseconds& mark : marks_) mark = NO_TIME;
    for (Index& sender : sender_of_) sender = NONE;
    for (std::uint32_t place = 0; place < node_.sent.count; ++place) {
      sent_of_stream_[node_.sent[place].stream] = static_cast<Index>(place);
    }
    for (const ReceivedStream& one : node_.received) {
      routes_[one.wire] = {one.source, one.sender};
      sender_of_[one.source] = one.sender;
      time.set_live(one.source);
    }
    for (const OwnSource& one : node_.own) routes_[one.wire].source = one.source;
  }

  void add(Transport& transport) { transports_[transports_count_++] = &transport; }

  // ---------------------------------------------------------------- for the time keeper

  void exchange() override {
    const Nanoseconds now = clock_.now();
    if (stop_asked != 0 && !stopped_) {
      stopped_ = true;
      notes_.note("stopping", "", "");
      time_->stop();
    }
    if (application_ != nullptr) take_pushed();
    if (!unsent_ && now - exchanged_ < EXCHANGED_EVERY) return;
    serve(now);
  }

  void wait(Nanoseconds until) override {
    notes_.idle();
    const Nanoseconds now = clock_.now();
    Nanoseconds wake = until;
    for (std::size_t place = 0; place < transports_count_; ++place) {
      const Nanoseconds due = transports_[place]->next_due();
      if (due < wake) wake = due;
    }
    if (stop_asked == 0 || stopped_) {
      std::uint32_t count = 0;
      for (std::size_t place = 0; place < transports_count_; ++place) {
        count += transports_[place]->watch(watched_ + count, most_watched_ - count);
      }
      const int descriptor = application_ == nullptr ? -1 : application_->watched_descriptor();
      if (descriptor >= 0 && count < most_watched_) watched_[count++] = {descriptor, POLLIN, 0};
      sleep(count, wake, now);
    }
    exchanged_ = 0;  // something may have come
  }

  void send(const Outlet& outlet, const void* row, std::int64_t root, bool late) override {
    const Index place = sent_of_stream_[outlet.stream];
    if (place == NONE) return;
    ++sent;
    unsent_ = true;
    // Where processor time is reserved all that is asked for there is the source.
    const std::uint64_t number =
        reserves() ? source_of(root) : static_cast<std::uint64_t>(root_number(root));
    for (std::size_t at = 0; at < transports_count_; ++at) {
      transports_[at]->send_row(node_.sent[place].wire, row, number, late);
    }
  }

  /// A tuple of an output, for a subscriber.
  void publish(Index output, const void* row, Nanoseconds completed) {
    unsent_ = true;
    for (std::size_t at = 0; at < transports_count_; ++at) {
      transports_[at]->send_row(node_.output_wires[output], row,
                                static_cast<std::uint64_t>(completed), false);
    }
  }

  void end_outputs() {
    for (const Index wire : node_.output_wires) {
      for (std::size_t at = 0; at < transports_count_; ++at) transports_[at]->send_end(wire);
    }
  }

  /// Tells the nodes behind how far time has come.
  void time_moved() override {
    for (std::uint32_t place = 0; place < node_.sent.count; ++place) {
      const SentStream& stream = node_.sent[place];
      Microseconds& told = told_[place].told;
      if (told == ENDED) continue;
      const Microseconds mark = time_->kernel.watermarks.leaving(stream.mark);
      if (mark == NO_TIME || (told != NO_TIME && mark <= told)) continue;
      told = mark >= ENDED ? ENDED : mark;
      unsent_ = true;
      for (std::size_t at = 0; at < transports_count_; ++at) {
        if (told == ENDED) {
          transports_[at]->send_end(stream.wire);
        } else {
          transports_[at]->send_mark(stream.wire, mark);
        }
      }
    }
  }

  bool is_remote(Index source) const override { return sender_of_[source] != NONE; }
  Microseconds mark_of(Index source) const override { return marks_[source]; }

  // ---------------------------------------------------------------- from the transports

  /// A sensor does not wait: what it sends beyond its rate is shed. Other nodes do.
  bool has_room(Index wire) override {
    const Route& route = routes_[wire];
    return route.sender == NONE || time_->has_room(route.source);
  }

  void row(Index wire, const void* row, const SentRow& given) override {
    const Route& route = routes_[wire];
    ++received;
    if (route.sender != NONE) {
      time_->receive(route.source, row, own_root(given.number), given.late);
    } else if (!time_->is_ended(route.source)) {
      time_->take(route.source, row, time_->kernel.now);
    }
  }

  void mark(Index wire, Microseconds mark) override {
    Microseconds& before = marks_[routes_[wire].source];
    if (before != NO_TIME && mark <= before) return;
    before = mark;
    time_->time_moved();
  }

  void ended(Index wire) override {
    const Index source = routes_[wire].source;
    if (time_->is_ended(source)) return;
    time_->set_lost(source, false);
    time_->end(source);
  }

  void lost(Index peer) override {
    for (const ReceivedStream& one : node_.received) {
      if (one.sender == peer) time_->set_lost(one.source, true);
    }
  }

  void back(Index peer) override {
    for (const ReceivedStream& one : node_.received) {
      if (one.sender == peer) time_->set_lost(one.source, false);
    }
  }

  void note(const char* event, const char* peer, const char* reason) override {
    notes_.note(event, peer, reason);
  }

  // ---------------------------------------------------------------- the end

  /// Waits until everything is acknowledged by those who are there, then says good-bye.
  void finish() {
    const Nanoseconds until = clock_.now() + timing_.linger;
    while (!all_done() && clock_.now() < until) {
      serve(clock_.now());
      std::uint32_t count = 0;
      Nanoseconds wake = until;
      for (std::size_t at = 0; at < transports_count_; ++at) {
        count += transports_[at]->watch(watched_ + count, most_watched_ - count);
        const Nanoseconds due = transports_[at]->next_due();
        if (due < wake) wake = due;
      }
      if (!all_done()) sleep(count, wake, clock_.now());
    }
    for (std::size_t at = 0; at < transports_count_; ++at) transports_[at]->say_goodbye();
  }

 private:
  bool reserves() const { return node_.program->reservations != nullptr; }

  /// The root of a tuple that comes with a number: that of its arrival at the sender, or its
  /// source.
  std::int64_t own_root(std::uint64_t number) {
    if (!reserves()) return root_number(static_cast<std::int64_t>(number));
    return root_of(++time_->kernel.roots, number < NONE ? static_cast<Index>(number) : NONE);
  }

  bool all_done() const {
    for (std::size_t at = 0; at < transports_count_; ++at) {
      if (!transports_[at]->all_done()) return false;
    }
    return true;
  }

  void serve(Nanoseconds now) {
    exchanged_ = now;
    unsent_ = false;
    look_for_signals();
    for (std::size_t at = 0; at < transports_count_; ++at) transports_[at]->turn(now);
    give_up(now);
  }

  /// A lost peer is given up when it stays away and all else has ended.
  void give_up(Nanoseconds now) {
    for (std::uint32_t place = 0; place < node_.peers.count; ++place) {
      const Index peer = static_cast<Index>(place);
      for (std::size_t at = 0; at < transports_count_; ++at) {
        const Nanoseconds since = transports_[at]->lost_since(peer);
        if (since == NEVER) continue;
        const Nanoseconds from = asked_[place] > since ? asked_[place] : since;
        if (now - from <= timing_.give_up) continue;
        asked_[place] = now - timing_.give_up * 3 / 4;
        if (time_->waits_for_the_lost_only()) end_lost(peer);
      }
    }
  }

  void end_lost(Index peer) {
    bool any = false;
    for (const ReceivedStream& one : node_.received) {
      if (one.sender != peer || !time_->is_lost(one.source)) continue;
      time_->set_lost(one.source, false);
      time_->end(one.source);
      any = true;
    }
    if (any) notes_.note("peer given up", node_.peers[peer], "");
  }

  void take_pushed() {
    PushedTuple pushed;
    while (application_->take(pushed)) {
      if (time_->is_ended(pushed.source)) continue;
      if (pushed.row == nullptr) {
        time_->end(pushed.source);
      } else {
        time_->take(pushed.source, pushed.row, time_->kernel.now);
      }
    }
  }

  /// Until something comes, a signal too, or the clock shows a time. Signals are let through only
  /// here, so none can come between a look at them and the wait.
  void sleep(std::uint32_t count, Nanoseconds until, Nanoseconds now) {
    if (until <= now) until = now;
    timespec timeout{};
    const Nanoseconds left = until - now;
    timeout.tv_sec = static_cast<time_t>(left / SECOND);
    timeout.tv_nsec = static_cast<long>(left % SECOND);
    sigset_t none;
    ::sigemptyset(&none);
    const int ready = ::ppoll(watched_, count, until >= NEVER ? nullptr : &timeout, &none);
    if (ready <= 0 || application_ == nullptr) return;
    const int descriptor = application_->watched_descriptor();
    for (std::uint32_t place = 0; place < count; ++place) {
      if (descriptor >= 0 && watched_[place].fd == descriptor && watched_[place].revents != 0) {
        application_->on_readable();
      }
    }
  }

  const NodeProgram& node_;
  Clock& clock_;
  NodeNotes& notes_;
  const PeerTiming& timing_;
  WallTime<Clock>* time_ = nullptr;
  ApplicationBase* application_ = nullptr;
  Transport* transports_[MOST_TRANSPORTS] = {};
  std::size_t transports_count_ = 0;
  Objects<Route> routes_;
  Objects<Sent> told_;
  Objects<Index> sent_of_stream_;
  Objects<Microseconds> marks_;
  Objects<Index> sender_of_;
  Objects<Nanoseconds> asked_;
  pollfd* watched_ = nullptr;
  std::uint32_t most_watched_ = 0;
  Nanoseconds exchanged_ = 0;
  bool unsent_ = false;
  bool stopped_ = false;
};

}  // namespace headway
