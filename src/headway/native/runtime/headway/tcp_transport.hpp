// The protocol of Python nodes over TCP, so that a car may mix native and Python nodes. The twin of
// engine/nodes/{links,peers}.py in one thread and fixed memory.
//
// Whoever sends a stream connects to whoever receives it. Frames of a stream are numbered and kept
// until acknowledged; the receiver says on every connection how far it got, so nothing is lost or
// doubled by a reconnect. Whoever has not proved the key of the build has little time, little room
// and no say; and what one connection may ask of a turn is limited, so that the others have theirs.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "headway/greeting.hpp"
#include "headway/transport.hpp"
#include "headway/wall_clock.hpp"

namespace headway {

/// Strangers at a time; then the one that got least far goes, the oldest first.
inline constexpr std::size_t MOST_STRANGERS = 16;
/// Senders that are no nodes of the plan: drivers.
inline constexpr std::size_t MOST_DRIVERS = 4;
inline constexpr int ACCEPTED_A_TURN = 4;
inline constexpr int READS_A_TURN = 8;
inline constexpr int FRAMES_A_TURN = 256;
inline constexpr std::size_t KEPT_BYTES = std::size_t{256} << 10;
inline constexpr Nanoseconds GOODBYE = 200 * MILLISECOND;

/// A socket that never waits, and the few frames that wait for it beside the streams.
class TcpConnection {
 public:
  LinkStage stage = LinkStage::HELLO;
  Nanoseconds opened = 0;
  Nanoseconds heard = 0;
  Nanoseconds spoke = 0;
  /// Frames may wait that had no room in this turn.
  bool more = false;
  FrameReader reader;

  static constexpr std::size_t control_bytes(std::size_t wires) {
    const std::size_t positions = POSITION_BYTES * wires;
    return 2 * (FRAME_OVERHEAD + (positions > MOST_GREETING ? positions : MOST_GREETING));
  }
  static constexpr std::size_t bytes(std::size_t wires, std::size_t payload) {
    return aligned(control_bytes(wires)) + aligned(FRAME_OVERHEAD + payload);
  }

  void lay_out(Arena& arena, std::size_t wires, std::size_t payload) {
    control_room_ = control_bytes(wires);
    control_ = static_cast<std::uint8_t*>(arena.take(control_room_));
    reader.open(static_cast<std::uint8_t*>(arena.take(FRAME_OVERHEAD + payload)),
                FRAME_OVERHEAD + payload);
  }

  void begin(int descriptor, LinkStage at_stage, Nanoseconds now) {
    const int one = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    descriptor_ = descriptor;
    stage = at_stage;
    opened = heard = spoke = now;
    more = false;
    control_begin_ = control_end_ = 0;
    reader.forget();
  }

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

  /// Gives the socket to another connection.
  int release() {
    const int descriptor = descriptor_;
    descriptor_ = -1;
    return descriptor;
  }

  /// A frame beside the streams. One for which there is no room is left out: its peer does not
  /// read, and is given up if that goes on.
  void say(const std::uint8_t* frame, std::size_t size) {
    if (control_begin_ == control_end_) control_begin_ = control_end_ = 0;
    if (control_room_ - control_end_ < size) return;
    std::memcpy(control_ + control_end_, frame, size);
    control_end_ += size;
  }
  void say(const GreetingFrame& frame) { say(frame.bytes, frame.size); }
  void say(FrameKind kind) {
    std::uint8_t frame[FRAME_OVERHEAD];
    say(frame, seal_frame(frame, kind, 0, 0, 0, 0));
  }
  void say_positions(const NodeProgram& node, const StreamPositions& positions) {
    if (control_begin_ == control_end_) control_begin_ = control_end_ = 0;
    if (control_room_ - control_end_ < FRAME_OVERHEAD + POSITION_BYTES * node.wires.count) return;
    std::uint8_t* const frame = control_ + control_end_;
    const std::size_t length = positions.write(node, frame + FRAME_OVERHEAD);
    control_end_ += seal_frame(frame, FrameKind::ACKNOWLEDGE, 0, 0, 0, length);
  }
  bool has_control() const { return control_begin_ < control_end_; }

  enum class Written : std::uint8_t { ALL, SOME, BROKEN };

  Written write_control(Nanoseconds now) {
    while (has_control()) {
      std::size_t written = 0;
      const Written result =
          write(control_ + control_begin_, control_end_ - control_begin_, false, written, now);
      control_begin_ += written;
      if (result != Written::ALL) return result;
    }
    return Written::ALL;
  }

  /// `written`: how many bytes went out; ALL when the rest may be tried at once.
  Written write(const std::uint8_t* bytes, std::size_t count, bool more_follows,
                std::size_t& written, Nanoseconds now) {
    const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (more_follows ? MSG_MORE : 0);
    const ssize_t result = ::send(descriptor_, bytes, count, flags);
    written = result > 0 ? static_cast<std::size_t>(result) : 0;
    if (result >= 0) {
      spoke = now;
      return written == count ? Written::ALL : Written::SOME;
    }
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? Written::SOME
                                                                     : Written::BROKEN;
  }

  enum class Received : std::uint8_t { FRAME, NOTHING, CLOSED, BAD };

  /// The next frame, reading at most `reads` times.
  Received receive(WireFrame& frame, WireFault& fault, int& reads, Nanoseconds now) {
    while (true) {
      const ReadResult result = reader.next(frame, fault);
      if (result == ReadResult::FRAME) return Received::FRAME;
      if (result == ReadResult::BAD) return Received::BAD;
      if (reads == 0) return Received::NOTHING;
      --reads;
      std::size_t room = 0;
      std::uint8_t* const to = reader.room(room);
      const ssize_t count = ::recv(descriptor_, to, room, MSG_DONTWAIT);
      if (count == 0) return Received::CLOSED;
      if (count < 0) {
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? Received::NOTHING
                                                                         : Received::CLOSED;
      }
      heard = now;
      reader.added(static_cast<std::size_t>(count));
    }
  }

 private:
  int descriptor_ = -1;
  std::uint8_t* control_ = nullptr;
  std::size_t control_room_ = 0;
  std::size_t control_begin_ = 0;
  std::size_t control_end_ = 0;
};

class TcpTransport final : public Transport {
  struct Link {
    Receiver receiver;
    TcpConnection connection;
    OutgoingStreams streams;
    GreetingOut greeting;
    ShortText incarnation;
    bool up = false;
    bool blocked = false;
    /// Bytes of the next waiting frame that are out already.
    std::size_t begun = 0;
    Nanoseconds retry_at = 0;
    Nanoseconds backoff = 0;
  };
  struct Sender {
    ShortText name;
    ShortText incarnation;
    Index peer = NONE;
    bool known = false;
    TcpConnection connection;
    StreamPositions positions;
    PendingRows pending;
  };
  struct Stranger {
    TcpConnection connection;
    GreetingIn greeting;
  };

 public:
  /// The longest payload that a sender may send: what a Python node packs together, at most.
  static constexpr std::size_t most_payload(const NodeProgram& node) {
    const std::size_t packed = COUNT_BYTES + MOST_TOGETHER * largest_row_on_wire(node);
    const std::size_t least = packed < MOST_GREETING ? MOST_GREETING : packed;
    return least < MOST_PAYLOAD ? least : MOST_PAYLOAD;
  }
  static constexpr std::size_t link_payload(const NodeProgram& node) {
    const std::size_t positions = POSITION_BYTES * node.wires.count;
    return positions > MOST_GREETING ? positions : MOST_GREETING;
  }
  /// `links`: receivers that are reached by it; all peers may send.
  static constexpr std::size_t bytes(const NodeProgram& node, std::size_t links) {
    const std::size_t wires = node.wires.count;
    const std::size_t senders = node.peers.count + MOST_DRIVERS;
    return Objects<Link>::bytes(links) + Objects<Sender>::bytes(senders) +
           Objects<Stranger>::bytes(MOST_STRANGERS) +
           links * (TcpConnection::bytes(wires, link_payload(node)) +
                    OutgoingStreams::bytes(node, KEPT_BYTES)) +
           senders *
               (TcpConnection::bytes(wires, most_payload(node)) + StreamPositions::bytes(wires)) +
           MOST_STRANGERS * TcpConnection::bytes(0, MOST_GREETING) + StreamReader::bytes(node) +
           Liveness::bytes(links + senders);
  }

  /// `listener` is a socket that listens, or -1 where nobody may connect.
  void open(Arena& arena, const NodeProgram& node, const Identity& me, const PeerTiming& timing,
            PeerHandler& handler, std::size_t links, int listener, Nanoseconds now) {
    node_ = &node;
    me_ = &me;
    timing_ = &timing;
    handler_ = &handler;
    listener_ = listener;
    looked_ = upkeep_at_ = now;
    links_.open(arena, links);
    senders_.open(arena, node.peers.count + MOST_DRIVERS);
    strangers_.open(arena, MOST_STRANGERS);
    for (Link& link : links_) {
      link.connection.lay_out(arena, node.wires.count, link_payload(node));
      link.streams.open(arena, node, KEPT_BYTES);
    }
    for (Sender& sender : senders_) {
      sender.connection.lay_out(arena, node.wires.count, most_payload(node));
      sender.positions.open(arena, node.wires.count);
    }
    for (Stranger& stranger : strangers_) stranger.connection.lay_out(arena, 0, MOST_GREETING);
    reader_.open(arena, node, handler, counts);
    liveness_.open(arena, links_.size() + senders_.size(), timing, handler);
  }

  void add_receiver(const Receiver& receiver, Nanoseconds now) {
    links_[receivers_++].receiver = receiver;
    liveness_.add(receiver.peer, receiver.name, now);
  }

  void add_sender(Index peer, const char* name, Nanoseconds now) {
    for (Sender& sender : senders_) {
      if (sender.known) continue;
      sender.known = true;
      sender.peer = peer;
      copy_text(sender.name, name);
      break;
    }
    liveness_.add(peer, name, now);
  }

  // ---------------------------------------------------------------- out

  void send_row(Index wire, const void* row, std::uint64_t number, bool late) override {
    const WireStream& stream = node_->wires[wire];
    const std::size_t most = COUNT_BYTES + most_row_on_wire(stream);
    for (Link& link : wanting(wire)) {
      std::uint8_t* const payload = room(link, most);
      const std::size_t written =
          payload == nullptr
              ? 0
              : write_row(stream, row, number, late, payload + COUNT_BYTES, most - COUNT_BYTES);
      if (written == 0) {
        ++counts.unsendable;
        continue;
      }
      put_big_endian(payload, 1, COUNT_BYTES);
      link.streams.keep(FrameKind::ROWS, wire, payload, COUNT_BYTES + written, 0, 1);
    }
  }

  void send_mark(Index wire, Microseconds mark) override {
    for (Link& link : wanting(wire)) append_mark(link, FrameKind::MARK, wire, mark);
  }

  void send_end(Index wire) override {
    for (Link& link : wanting(wire)) append_mark(link, FrameKind::END, wire, 0);
  }

  bool all_done() const override {
    for (const Link& link : links_) {
      if (link.receiver.peer == NONE) continue;
      if (!link.streams.frames.empty() && !liveness_.is_gone(link.receiver.peer)) return false;
    }
    return true;
  }

  Nanoseconds lost_since(Index peer) const override { return liveness_.lost_since(peer); }
  std::uint32_t peers_alive() const override { return liveness_.alive(); }

  // ---------------------------------------------------------------- turns

  std::uint32_t watch(pollfd* list, std::uint32_t room) const override {
    std::uint32_t count = 0;
    const auto add = [&](int descriptor, bool writes) {
      if (descriptor < 0 || count == room) return;
      const int events = POLLIN | (writes ? POLLOUT : 0);
      list[count++] = {descriptor, static_cast<short>(events), 0};
    };
    add(deaf_until_ == 0 ? listener_ : -1, false);
    for (const Link& link : links_) {
      const TcpConnection& connection = link.connection;
      add(connection.descriptor(), connection.stage == LinkStage::OPENED || link.blocked);
    }
    for (const Sender& sender : senders_) add(sender.connection.descriptor(), false);
    for (const Stranger& stranger : strangers_) add(stranger.connection.descriptor(), false);
    return count;
  }

  static constexpr std::uint32_t most_watched(const NodeProgram& node, std::size_t links) {
    return static_cast<std::uint32_t>(1 + links + node.peers.count + MOST_DRIVERS + MOST_STRANGERS);
  }

  Nanoseconds next_due() const override {
    Nanoseconds due = upkeep_at_;
    const auto earlier = [&due](Nanoseconds at) { due = at < due ? at : due; };
    for (const Link& link : links_) {
      if (link.receiver.peer == NONE) continue;
      if (!link.connection.is_open()) earlier(link.retry_at);
      if (link.connection.more) earlier(0);
    }
    for (const Sender& sender : senders_) {
      if (sender.connection.is_open() && sender.connection.more) earlier(0);
    }
    return due;
  }

  void turn(Nanoseconds now) override {
    const Nanoseconds step = timing_->heartbeat / 4;
    const Nanoseconds unlooked = now - looked_ - 2 * step;
    const Nanoseconds stalled = unlooked > 0 ? unlooked : 0;
    looked_ = now;
    accept_some(now);
    for (Link& link : links_) {
      if (link.connection.is_open()) serve_link(link, now);
    }
    for (Sender& sender : senders_) {
      if (sender.connection.is_open()) serve_sender(sender, now);
    }
    for (Stranger& stranger : strangers_) {
      if (stranger.connection.is_open()) serve_stranger(stranger, now);
    }
    if (now >= upkeep_at_ || stalled > 0) {
      upkeep_at_ = now + step;
      look_after(now, stalled);
      liveness_.check(now, stalled);
    }
    connect_all(now);
    for (Link& link : links_) {
      if (link.connection.is_open()) flush(link, now);
    }
  }

  void say_goodbye() override {
    const Nanoseconds until = monotonic_now() + GOODBYE;
    for_greeted([&](TcpConnection& connection) {
      connection.say(FrameKind::BYE);
      connection.write_control(0);
      ::shutdown(connection.descriptor(), SHUT_WR);
    });
    // A moment to have read it: what is closed with bytes unread is reset, and the word lost.
    for_greeted([&](TcpConnection& connection) {
      std::uint8_t ignored[512];
      while (true) {
        const Nanoseconds left = until - monotonic_now();
        pollfd one{connection.descriptor(), POLLIN, 0};
        if (left <= 0 || ::poll(&one, 1, static_cast<int>(left / MILLISECOND) + 1) <= 0) break;
        if (::recv(connection.descriptor(), ignored, sizeof ignored, MSG_DONTWAIT) <= 0) break;
      }
    });
    for (Link& link : links_) link.connection.close();
    for (Sender& sender : senders_) sender.connection.close();
    for (Stranger& stranger : strangers_) stranger.connection.close();
    if (listener_ >= 0) ::close(listener_);
    listener_ = -1;
  }

 private:
  template <class Take>
  void for_greeted(Take&& take) {
    for (Link& link : links_) {
      if (link.connection.is_open() && is_greeted(link.connection.stage)) take(link.connection);
    }
    for (Sender& sender : senders_) {
      if (sender.connection.is_open() && is_greeted(sender.connection.stage)) {
        take(sender.connection);
      }
    }
  }

  /// The links that want a stream.
  struct Wanting {
    TcpTransport* transport;
    Index wire;
    struct Place {
      Link* link;
      Link* last;
      Index wire;
      void skip() {
        while (link != last && (link->receiver.peer == NONE || !link->receiver.wanted[wire]))
          ++link;
      }
      Link& operator*() const { return *link; }
      Place& operator++() {
        ++link;
        skip();
        return *this;
      }
      bool operator!=(const Place& other) const { return link != other.link; }
    };
    Place begin() const {
      Place first{transport->links_.begin(), transport->links_.end(), wire};
      first.skip();
      return first;
    }
    Place end() const { return {transport->links_.end(), transport->links_.end(), wire}; }
  };
  Wanting wanting(Index wire) { return {this, wire}; }

  /// Room for a payload; the oldest frames go if they must, and their tuples are counted unless
  /// they are out.
  std::uint8_t* room(Link& link, std::size_t most) {
    while (true) {
      std::uint8_t* const payload = link.streams.payload(most, 0);
      KeptFrames& frames = link.streams.frames;
      if (payload != nullptr || frames.empty()) return payload;
      const bool waits = frames.oldest_waits();
      if (waits && link.begun > 0) drop(link, looked_);  // it does not read
      const std::uint16_t tuples = frames.drop_oldest();
      if (waits || !link.up) counts.overflowed += tuples;
    }
  }

  void append_mark(Link& link, FrameKind kind, Index wire, Microseconds mark) {
    link.streams.note_mark(kind, wire, mark);
    std::uint8_t* const payload = room(link, sizeof mark);
    if (payload == nullptr) return;
    const std::size_t length = kind == FrameKind::MARK ? sizeof mark : 0;
    put_big_endian(payload, static_cast<std::uint64_t>(mark), length);
    link.streams.keep(kind, wire, payload, length, 0, 0);
  }

  void flush(Link& link, Nanoseconds now) {
    TcpConnection& connection = link.connection;
    link.blocked = false;
    while (true) {
      TcpConnection::Written result = TcpConnection::Written::ALL;
      if (link.begun == 0 && connection.has_control()) {
        result = connection.write_control(now);
      } else if (link.up && link.streams.frames.has_waiting()) {
        std::size_t size = 0;
        const std::uint8_t* const frame = link.streams.frames.waiting(size);
        std::size_t written = 0;
        const bool more = link.streams.frames.count_waiting() > 1;
        result = connection.write(frame + link.begun, size - link.begun, more, written, now);
        link.begun += written;
        if (link.begun == size) {
          link.streams.frames.sent();
          link.begun = 0;
        }
      } else {
        return;
      }
      if (result == TcpConnection::Written::BROKEN) {
        drop(link, now);
        return;
      }
      if (result == TcpConnection::Written::SOME) {
        link.blocked = true;
        return;
      }
    }
  }

  // ---------------------------------------------------------------- faults

  void note_fault(WireFault fault, const char* peer) {
    if (is_refusal(fault)) {
      ++counts.refused[static_cast<std::size_t>(fault)];
      if (counts.refused[static_cast<std::size_t>(fault)] <= NOTED) {
        handler_->note("refused", peer, refusal_name(fault));
      }
    } else {
      ++counts.bad_frames;
      if (counts.bad_frames <= NOTED) handler_->note("bad frame", peer, "");
    }
  }

  /// Ends a connection of ours; it is tried again.
  void drop(Link& link, Nanoseconds now) {
    ++counts.resets;
    link.connection.close();
    link.backoff = timing_->next_backoff(link.backoff);
    link.retry_at = link.up ? now : now + link.backoff;
    link.up = false;
    link.blocked = false;
    link.begun = 0;
  }

  void drop(TcpConnection& connection) {
    ++counts.resets;
    connection.close();
  }

  // ---------------------------------------------------------------- connections that come

  void accept_some(Nanoseconds now) {
    if (listener_ < 0 || now < deaf_until_) return;
    deaf_until_ = 0;
    for (int count = 0; count < ACCEPTED_A_TURN; ++count) {
      const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (descriptor < 0) {
        if (errno == ECONNABORTED || errno == EINTR) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) {
          // Too many open files, no memory: the listener stays readable, so we look away.
          deaf_until_ = now + timing_->slowest_retry;
          handler_->note("cannot accept connections", "", "");
        }
        return;
      }
      Stranger* room = nullptr;
      for (Stranger& stranger : strangers_) {
        if (!stranger.connection.is_open()) {
          room = &stranger;
          break;
        }
        if (room == nullptr || stranger.connection.stage < room->connection.stage ||
            (stranger.connection.stage == room->connection.stage &&
             stranger.connection.opened < room->connection.opened)) {
          room = &stranger;
        }
      }
      if (room->connection.is_open()) {
        note_fault(WireFault::CROWDED_OUT, "");
        drop(room->connection);
      }
      room->connection.begin(descriptor, LinkStage::HELLO, now);
    }
  }

  void serve_stranger(Stranger& stranger, Nanoseconds now) {
    TcpConnection& connection = stranger.connection;
    WireFrame frame{};
    WireFault fault = WireFault::FINE;
    int reads = 1;
    while (connection.is_open()) {
      const TcpConnection::Received received = connection.receive(frame, fault, reads, now);
      if (received == TcpConnection::Received::NOTHING) break;
      if (received == TcpConnection::Received::CLOSED) {
        drop(connection);
        return;
      }
      if (received == TcpConnection::Received::FRAME) {
        fault = in_place(connection.stage, frame.kind) ? greet(stranger, frame, now)
                                                       : WireFault::OUT_OF_PLACE;
      }
      if (fault != WireFault::FINE) {
        note_fault(fault, "");
        drop(connection);
        return;
      }
    }
    if (connection.is_open() && connection.write_control(now) == TcpConnection::Written::BROKEN) {
      drop(connection);
    }
  }

  WireFault greet(Stranger& stranger, const WireFrame& frame, Nanoseconds now) {
    TcpConnection& connection = stranger.connection;
    GreetingFrame answer;
    if (connection.stage == LinkStage::HELLO) {
      const WireFault fault = stranger.greeting.begin(*me_, frame);
      if (fault != WireFault::FINE) return fault;
      stranger.greeting.challenge(answer);
      connection.say(answer);
      connection.stage = LinkStage::PROOF;
      return WireFault::FINE;
    }
    const WireFault fault = stranger.greeting.check(*me_, frame);
    if (fault != WireFault::FINE) return fault;
    Sender* const sender = sender_of(stranger.greeting.name());
    if (sender == nullptr) return WireFault::TOO_MANY_SENDERS;
    if (!same_text(sender->incarnation.text, stranger.greeting.incarnation().text)) {
      sender->incarnation = stranger.greeting.incarnation();
      sender->positions.clear();
    }
    if (sender->connection.is_open()) drop(sender->connection);
    sender->pending = PendingRows();
    sender->connection.begin(connection.release(), LinkStage::FROM_SENDER, now);
    if (!sender->connection.reader.take_over(connection.reader)) return WireFault::TOO_LONG;
    sender->connection.more = true;
    stranger.greeting.welcome(*me_, answer);
    sender->connection.say(answer);
    sender->connection.say_positions(*node_, sender->positions);
    if (sender->connection.write_control(now) == TcpConnection::Written::BROKEN) {
      drop(sender->connection);
    }
    liveness_.heard(sender->peer, now);
    return WireFault::FINE;
  }

  /// By name; one that nobody knows gets a free place, if there is one.
  Sender* sender_of(const char* name) {
    for (Sender& sender : senders_) {
      if (sender.known && same_text(sender.name.text, name)) return &sender;
    }
    for (Sender& sender : senders_) {
      if (sender.known) continue;
      sender.known = true;
      copy_text(sender.name, name);
      return &sender;
    }
    return nullptr;
  }

  void serve_sender(Sender& sender, Nanoseconds now) {
    TcpConnection& connection = sender.connection;
    WireFrame frame{};
    WireFault fault = WireFault::FINE;
    int reads = READS_A_TURN;
    connection.more = false;
    for (int count = 0; connection.is_open(); ++count) {
      if (count == FRAMES_A_TURN || !reader_.go_on(sender.pending)) {
        connection.more = true;
        break;
      }
      const TcpConnection::Received received = connection.receive(frame, fault, reads, now);
      if (received == TcpConnection::Received::NOTHING) break;
      if (received == TcpConnection::Received::CLOSED) {
        drop(connection);
        return;
      }
      if (received == TcpConnection::Received::FRAME) {
        fault = in_place(connection.stage, frame.kind) ? take(sender, frame, now)
                                                       : WireFault::OUT_OF_PLACE;
      }
      if (fault != WireFault::FINE) {
        note_fault(fault, sender.name.text);
        drop(connection);
        return;
      }
    }
    if (connection.write_control(now) == TcpConnection::Written::BROKEN) drop(connection);
  }

  WireFault take(Sender& sender, const WireFrame& frame, Nanoseconds now) {
    if (frame.kind == FrameKind::BYE) {
      sender.connection.stage = LinkStage::OVER;
      liveness_.finished(sender.peer, now);
      return WireFault::FINE;
    }
    if (frame.kind != FrameKind::HEARTBEAT) {
      const WireFault fault = reader_.take(frame, sender.positions, sender.pending);
      if (fault != WireFault::FINE) return fault;
      if (frame.kind == FrameKind::END) {
        sender.connection.say_positions(*node_, sender.positions);
      }
    }
    liveness_.heard(sender.peer, now);
    return WireFault::FINE;
  }

  // ---------------------------------------------------------------- connections that we open

  void connect_all(Nanoseconds now) {
    for (Link& link : links_) {
      if (link.receiver.peer == NONE || link.connection.is_open() || now < link.retry_at) continue;
      const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      if (descriptor < 0) {
        handler_->note("cannot connect", link.receiver.name, "no socket");
        drop(link, now);
        continue;
      }
      link.connection.begin(descriptor, LinkStage::OPENED, now);
      const sockaddr_in address = link.receiver.address.socket_address();
      const int result =
          ::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address);
      if (result != 0 && errno != EINPROGRESS) drop(link, now);
    }
  }

  void serve_link(Link& link, Nanoseconds now) {
    TcpConnection& connection = link.connection;
    if (connection.stage == LinkStage::OPENED && !connected(link, now)) return;
    WireFrame frame{};
    WireFault fault = WireFault::FINE;
    int reads = READS_A_TURN;
    connection.more = false;
    for (int count = 0; connection.is_open(); ++count) {
      if (count == FRAMES_A_TURN) {
        connection.more = true;
        break;
      }
      const TcpConnection::Received received = connection.receive(frame, fault, reads, now);
      if (received == TcpConnection::Received::NOTHING) break;
      if (received == TcpConnection::Received::CLOSED) {
        drop(link, now);
        return;
      }
      if (received == TcpConnection::Received::FRAME) {
        fault = in_place(connection.stage, frame.kind) ? take(link, frame, now)
                                                       : WireFault::OUT_OF_PLACE;
      }
      if (fault != WireFault::FINE) {
        note_fault(fault, link.receiver.name);
        drop(link, now);
        return;
      }
    }
  }

  /// Whether the connection is established; then it greets.
  bool connected(Link& link, Nanoseconds now) {
    pollfd one{link.connection.descriptor(), POLLOUT, 0};
    if (::poll(&one, 1, 0) <= 0) return false;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(link.connection.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0 || !link.greeting.begin(*me_, link.receiver.name)) {
      liveness_.refused(link.receiver.peer, now);
      drop(link, now);
      return false;
    }
    GreetingFrame hello;
    link.greeting.hello(*me_, hello);
    link.connection.say(hello);
    link.connection.stage = LinkStage::CHALLENGE;
    return true;
  }

  WireFault take(Link& link, const WireFrame& frame, Nanoseconds now) {
    TcpConnection& connection = link.connection;
    GreetingFrame answer;
    WireFault fault = WireFault::FINE;
    switch (connection.stage) {
      case LinkStage::CHALLENGE:
        fault = link.greeting.answer(*me_, frame, answer);
        if (fault != WireFault::FINE) return fault;
        connection.say(answer);
        connection.stage = LinkStage::WELCOME;
        return WireFault::FINE;
      case LinkStage::WELCOME:
        fault = link.greeting.check(*me_, frame);
        if (fault == WireFault::FINE) connection.stage = LinkStage::POSITIONS;
        return fault;
      case LinkStage::POSITIONS:
        if (!welcomed(link, frame)) return WireFault::BAD_POSITIONS;
        connection.stage = LinkStage::FROM_RECEIVER;
        break;
      default:
        if (frame.kind == FrameKind::BYE) {
          connection.stage = LinkStage::OVER;
          liveness_.finished(link.receiver.peer, now);
          return WireFault::FINE;
        }
        if (frame.kind == FrameKind::ACKNOWLEDGE) {
          if (!link.streams.acknowledged.read(*node_, frame)) return WireFault::BAD_POSITIONS;
          link.streams.forget_acknowledged();
        }
    }
    liveness_.heard(link.receiver.peer, now);
    return WireFault::FINE;
  }

  /// The receiver says how far it got: what it lacks is sent. One that was started anew also gets
  /// the last watermark or end of every stream again.
  bool welcomed(Link& link, const WireFrame& positions) {
    OutgoingStreams& streams = link.streams;
    streams.acknowledged.clear();
    if (!streams.acknowledged.read(*node_, positions)) return false;
    const bool again = link.incarnation.text[0] != '\0' &&
                       !same_text(link.incarnation.text, link.greeting.incarnation.text);
    link.incarnation = link.greeting.incarnation;
    streams.frames.all_out();
    streams.forget_acknowledged();
    streams.frames.rewind();
    link.up = true;
    link.backoff = 0;
    link.begun = 0;
    if (again) {
      streams.repeat_marks([&](Index wire, FrameKind kind, Microseconds mark) {
        append_mark(link, kind, wire, mark);
      });
    }
    return true;
  }

  // ---------------------------------------------------------------- upkeep

  /// Whether a connection is to be ended for what it did not say.
  bool is_overdue(TcpConnection& connection, Nanoseconds now, Nanoseconds stalled) {
    connection.opened += stalled;
    connection.heard += stalled;
    return is_greeted(connection.stage) ? now - connection.heard > timing_->dead()
                                        : now - connection.opened > timing_->greeting;
  }

  bool is_to_speak(const TcpConnection& connection, Nanoseconds now) const {
    return is_greeted(connection.stage) && now - connection.spoke >= timing_->heartbeat * 3 / 4;
  }

  void look_after(Nanoseconds now, Nanoseconds stalled) {
    for (Link& link : links_) {
      if (!link.connection.is_open()) continue;
      if (is_overdue(link.connection, now, stalled)) {
        if (!is_greeted(link.connection.stage)) {
          note_fault(WireFault::DID_NOT_WELCOME, link.receiver.name);
        }
        drop(link, now);
      } else if (is_to_speak(link.connection, now)) {
        link.connection.spoke = now;
        link.connection.say(FrameKind::HEARTBEAT);
      }
    }
    for (Sender& sender : senders_) {
      if (!sender.connection.is_open()) continue;
      if (is_overdue(sender.connection, now, stalled)) {
        drop(sender.connection);
      } else if (is_to_speak(sender.connection, now)) {
        sender.connection.spoke = now;
        sender.connection.say_positions(*node_, sender.positions);
        if (sender.connection.write_control(now) == TcpConnection::Written::BROKEN) {
          drop(sender.connection);
        }
      }
    }
    for (Stranger& stranger : strangers_) {
      if (!stranger.connection.is_open()) continue;
      if (is_overdue(stranger.connection, now, stalled)) {
        note_fault(WireFault::DID_NOT_GREET, "");
        drop(stranger.connection);
      }
    }
  }

  /// Faults of one sort that are noted one by one; after that only counted.
  static constexpr std::int64_t NOTED = 20;

  const NodeProgram* node_ = nullptr;
  const Identity* me_ = nullptr;
  const PeerTiming* timing_ = nullptr;
  PeerHandler* handler_ = nullptr;
  int listener_ = -1;
  Nanoseconds deaf_until_ = 0;
  Nanoseconds looked_ = 0;
  Nanoseconds upkeep_at_ = 0;
  std::size_t receivers_ = 0;
  Objects<Link> links_;
  Objects<Sender> senders_;
  Objects<Stranger> strangers_;
  StreamReader reader_;
  Liveness liveness_;
};

}  // namespace headway
