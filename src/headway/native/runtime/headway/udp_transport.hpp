// Frames as datagrams, between native nodes: one frame each, numbered, never sent twice. What is
// lost is counted by who misses it (`gaps`); watermarks and ends are repeated once a heartbeat, so
// a run ends however much is lost.
//
// Who may speak is decided by the same greeting as over TCP. It ends with a key that only the two
// of them can make (HMAC-SHA256 of the whole greeting by the key of the build), and every datagram
// after it carries a tag of 16 bytes by that key: one that was not sent by the peer, was changed on
// the way, belongs to another greeting or runs the other way is dropped and counted. One that was
// overheard and is sent again has an old number and is dropped as well. Nothing is encrypted.
//
// At most `UDP_WINDOW` frames are under way to a receiver; it says how far it got at least every
// `UDP_ACKNOWLEDGED` of them. So a burst waits here, where it is counted, and not in a socket.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "headway/greeting.hpp"
#include "headway/transport.hpp"

namespace headway {

inline constexpr std::size_t TAG_BYTES = 16;
inline constexpr std::size_t MOST_DATAGRAM = 65'000;
inline constexpr std::size_t UDP_KEPT_BYTES = std::size_t{128} << 10;
inline constexpr std::uint64_t UDP_WINDOW = 128;
inline constexpr std::uint32_t UDP_ACKNOWLEDGED = 32;
inline constexpr int DATAGRAMS_A_TURN = 64;
/// Greetings under way of those who have not proved who they are; a newer one takes the oldest's
/// place.
inline constexpr std::size_t MOST_UDP_STRANGERS = 16;

class UdpTransport final : public Transport {
  /// The two ends of a greeting tag what they say differently, so nothing can be turned round.
  enum class Side : std::uint8_t { SENDER = 's', RECEIVER = 'r' };

  struct Link {
    Receiver receiver;
    OutgoingStreams streams;
    /// Of each stream: the last number sent, and that when the window was last opened.
    StreamPositions sent;
    StreamPositions opened;
    GreetingOut greeting;
    HmacSha256 session;
    LinkStage stage = LinkStage::OPENED;
    bool up = false;
    Nanoseconds retry_at = 0;
    Nanoseconds backoff = 0;
    Nanoseconds heard = 0;
    Nanoseconds spoke = 0;
    Nanoseconds repeated = 0;
    std::uint64_t under_way_before = 0;
  };
  struct Sender {
    ShortText name;
    ShortText incarnation;
    Index peer = NONE;
    bool greeted = false;
    Address address;
    HmacSha256 session;
    StreamPositions positions;
    std::uint32_t unacknowledged = 0;
    Nanoseconds spoke = 0;
  };
  struct Stranger {
    bool used = false;
    Address address;
    Nanoseconds since = 0;
    GreetingIn greeting;
  };

 public:
  static constexpr std::size_t datagram_bytes(const NodeProgram& node) {
    const std::size_t row = COUNT_BYTES + largest_row_on_wire(node);
    const std::size_t positions = POSITION_BYTES * node.wires.count;
    std::size_t most = row > positions ? row : positions;
    if (most < MOST_GREETING) most = MOST_GREETING;
    const std::size_t whole = FRAME_OVERHEAD + most + TAG_BYTES;
    return whole < MOST_DATAGRAM ? whole : MOST_DATAGRAM;
  }
  static constexpr std::size_t bytes(const NodeProgram& node, std::size_t links) {
    const std::size_t wires = node.wires.count;
    return Objects<Link>::bytes(links) + Objects<Sender>::bytes(node.peers.count) +
           Objects<Stranger>::bytes(MOST_UDP_STRANGERS) +
           links *
               (OutgoingStreams::bytes(node, UDP_KEPT_BYTES) + 2 * StreamPositions::bytes(wires)) +
           node.peers.count * StreamPositions::bytes(wires) + StreamReader::bytes(node) +
           Liveness::bytes(2 * node.peers.count) + 2 * aligned(datagram_bytes(node) + 1);
  }

  /// `socket` is bound to the node's address and does not block.
  void open(Arena& arena, const NodeProgram& node, const Identity& me, const PeerTiming& timing,
            PeerHandler& handler, std::size_t links, int socket, Nanoseconds now) {
    node_ = &node;
    me_ = &me;
    timing_ = &timing;
    handler_ = &handler;
    socket_ = socket;
    looked_ = upkeep_at_ = now;
    links_.open(arena, links);
    for (Link& link : links_) {
      link.streams.open(arena, node, UDP_KEPT_BYTES);
      link.sent.open(arena, node.wires.count);
      link.opened.open(arena, node.wires.count);
    }
    senders_.open(arena, node.peers.count);
    for (Sender& sender : senders_) sender.positions.open(arena, node.wires.count);
    strangers_.open(arena, MOST_UDP_STRANGERS);
    reader_.open(arena, node, handler, counts);
    liveness_.open(arena, 2 * node.peers.count, timing, handler);
    // One byte more than any datagram of ours, so that a longer one is seen to be.
    received_ = static_cast<std::uint8_t*>(arena.take(datagram_bytes(node) + 1));
    spoken_ = static_cast<std::uint8_t*>(arena.take(datagram_bytes(node) + 1));
  }

  void add_receiver(const Receiver& receiver, Nanoseconds now) {
    links_[receivers_++].receiver = receiver;
    liveness_.add(receiver.peer, receiver.name, now);
  }

  void add_sender(Index peer, const char* name, Nanoseconds now) {
    Sender& sender = senders_[known_senders_++];
    sender.peer = peer;
    copy_text(sender.name, name);
    liveness_.add(peer, name, now);
  }

  // ---------------------------------------------------------------- out

  void send_row(Index wire, const void* row, std::uint64_t number, bool late) override {
    const WireStream& stream = node_->wires[wire];
    const std::size_t most = COUNT_BYTES + most_row_on_wire(stream);
    for (Link& link : links_) {
      if (!wants(link, wire)) continue;
      std::uint8_t* const payload =
          FRAME_OVERHEAD + most + TAG_BYTES > MOST_DATAGRAM ? nullptr : room(link, most);
      const std::size_t written =
          payload == nullptr
              ? 0
              : write_row(stream, row, number, late, payload + COUNT_BYTES, most - COUNT_BYTES);
      if (written == 0) {
        ++counts.unsendable;
        continue;
      }
      put_big_endian(payload, 1, COUNT_BYTES);
      link.streams.keep(FrameKind::ROWS, wire, payload, COUNT_BYTES + written, TAG_BYTES, 1);
      flush(link, looked_);
    }
  }

  void send_mark(Index wire, Microseconds mark) override {
    for (Link& link : links_) {
      if (wants(link, wire)) append_mark(link, FrameKind::MARK, wire, mark);
    }
  }

  void send_end(Index wire) override {
    for (Link& link : links_) {
      if (wants(link, wire)) append_mark(link, FrameKind::END, wire, 0);
    }
  }

  bool all_done() const override {
    for (const Link& link : links_) {
      if (link.receiver.peer == NONE || liveness_.is_gone(link.receiver.peer)) continue;
      if (!link.streams.frames.empty() || !link.streams.ends_acknowledged()) return false;
    }
    return true;
  }

  Nanoseconds lost_since(Index peer) const override { return liveness_.lost_since(peer); }
  std::uint32_t peers_alive() const override { return liveness_.alive(); }

  // ---------------------------------------------------------------- turns

  std::uint32_t watch(pollfd* list, std::uint32_t room) const override {
    if (room == 0 || socket_ < 0) return 0;
    list[0] = {socket_, POLLIN, 0};
    return 1;
  }

  Nanoseconds next_due() const override {
    Nanoseconds due = upkeep_at_;
    for (const Link& link : links_) {
      if (link.receiver.peer != NONE && !link.up && link.retry_at < due) due = link.retry_at;
    }
    return due;
  }

  void turn(Nanoseconds now) override {
    const Nanoseconds step = timing_->heartbeat / 4;
    const Nanoseconds unlooked = now - looked_ - 2 * step;
    const Nanoseconds stalled = unlooked > 0 ? unlooked : 0;
    looked_ = now;
    receive_some(now);
    if (now >= upkeep_at_ || stalled > 0) {
      upkeep_at_ = now + step;
      look_after(now, stalled);
      liveness_.check(now, stalled);
    }
    for (Link& link : links_) {
      if (link.receiver.peer == NONE) continue;
      if (!link.up && now >= link.retry_at) say_hello(link, now);
      flush(link, now);
    }
  }

  void say_goodbye() override {
    for (Link& link : links_) {
      if (link.up) say(FrameKind::BYE, 0, link.session, Side::SENDER, link.receiver.address);
    }
    for (Sender& sender : senders_) {
      if (sender.greeted) say(FrameKind::BYE, 0, sender.session, Side::RECEIVER, sender.address);
    }
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }

 private:
  bool wants(const Link& link, Index wire) const {
    return link.receiver.peer != NONE && link.receiver.wanted[wire];
  }

  std::uint8_t* room(Link& link, std::size_t most) {
    while (true) {
      std::uint8_t* const payload = link.streams.payload(most, TAG_BYTES);
      if (payload != nullptr || link.streams.frames.empty()) return payload;
      counts.overflowed += link.streams.frames.drop_oldest();
    }
  }

  void append_mark(Link& link, FrameKind kind, Index wire, Microseconds mark) {
    link.streams.note_mark(kind, wire, mark);
    std::uint8_t* const payload = room(link, sizeof mark);
    if (payload == nullptr) return;
    const std::size_t length = kind == FrameKind::MARK ? sizeof mark : 0;
    put_big_endian(payload, static_cast<std::uint64_t>(mark), length);
    link.streams.keep(kind, wire, payload, length, TAG_BYTES, 0);
    flush(link, looked_);
  }

  /// Frames that are out and of which nothing was heard.
  std::uint64_t under_way(const Link& link) const {
    std::uint64_t sum = 0;
    for (std::uint32_t place = 0; place < node_->wires.count; ++place) {
      const Index wire = static_cast<Index>(place);
      const std::uint64_t heard = link.streams.acknowledged[wire] > link.opened[wire]
                                      ? link.streams.acknowledged[wire]
                                      : link.opened[wire];
      if (link.sent[wire] > heard) sum += link.sent[wire] - heard;
    }
    return sum;
  }

  void open_window(Link& link) {
    for (std::uint32_t wire = 0; wire < node_->wires.count; ++wire) {
      link.opened[static_cast<Index>(wire)] = link.sent[static_cast<Index>(wire)];
    }
  }

  void flush(Link& link, Nanoseconds now) {
    KeptFrames& frames = link.streams.frames;
    if (!link.up || !frames.has_waiting()) return;
    std::uint64_t out = under_way(link);
    while (frames.has_waiting() && out < UDP_WINDOW) {
      std::size_t size = 0;
      std::uint8_t* const frame = const_cast<std::uint8_t*>(frames.waiting(size));
      tag(frame, size - TAG_BYTES, link.session, Side::SENDER);
      if (!put_out(frame, size, link.receiver.address)) return;
      link.sent[frames.waiting_wire()] = frames.waiting_sequence();
      link.spoke = now;
      frames.sent();
      frames.drop_oldest();
      ++out;
    }
  }

  static void tag(std::uint8_t* frame, std::size_t size, const HmacSha256& session, Side side) {
    const Digest digest = digest_of(frame, size, session, side);
    std::memcpy(frame + size, digest.bytes, TAG_BYTES);
  }

  static Digest digest_of(const std::uint8_t* frame, std::size_t size, const HmacSha256& session,
                          Side side) {
    HmacSha256 message = session;
    message.add(&side, sizeof side);
    message.add(frame, size);
    return message.finish();
  }

  /// False when the socket has no room now. One that cannot be reached is lost on the way.
  bool put_out(const std::uint8_t* bytes, std::size_t size, const Address& to) {
    const sockaddr_in address = to.socket_address();
    const ssize_t sent = ::sendto(socket_, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL,
                                  reinterpret_cast<const sockaddr*>(&address), sizeof address);
    return sent >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS);
  }

  /// A frame beside the streams; its payload stands in `spoken_` already.
  void say(FrameKind kind, std::size_t length, const HmacSha256& session, Side side,
           const Address& to) {
    const std::size_t size = seal_frame(spoken_, kind, 0, 0, 0, length);
    tag(spoken_, size, session, side);
    put_out(spoken_, size + TAG_BYTES, to);
  }

  void acknowledge(Sender& sender, Nanoseconds now) {
    const std::size_t length = sender.positions.write(*node_, spoken_ + FRAME_OVERHEAD);
    say(FrameKind::ACKNOWLEDGE, length, sender.session, Side::RECEIVER, sender.address);
    sender.unacknowledged = 0;
    sender.spoke = now;
  }

  // ---------------------------------------------------------------- in

  void note_fault(WireFault fault, const char* peer) {
    const std::int64_t count =
        is_refusal(fault) ? ++counts.refused[static_cast<std::size_t>(fault)] : ++counts.bad_frames;
    if (count > NOTED) return;
    handler_->note(is_refusal(fault) ? "refused" : "bad frame", peer, refusal_name(fault));
  }

  void receive_some(Nanoseconds now) {
    for (int count = 0; count < DATAGRAMS_A_TURN; ++count) {
      if (!reader_.go_on(pending_)) return;
      sockaddr_in from{};
      socklen_t from_size = sizeof from;
      const ssize_t size = ::recvfrom(socket_, received_, datagram_bytes(*node_) + 1, MSG_DONTWAIT,
                                      reinterpret_cast<sockaddr*>(&from), &from_size);
      if (size < 0) {
        if (errno == ECONNREFUSED || errno == EINTR) continue;  // of a datagram sent before
        return;
      }
      if (from.sin_family != AF_INET) continue;
      const Address address{from.sin_addr.s_addr, ntohs(from.sin_port)};
      const WireFault fault = take(address, static_cast<std::size_t>(size), now);
      if (fault != WireFault::FINE) note_fault(fault, "");
    }
  }

  WireFault take(const Address& from, std::size_t size, Nanoseconds now) {
    WireFrame frame{};
    WireFault fault = WireFault::FINE;
    const ReadResult result =
        read_frame(received_, size, datagram_bytes(*node_) - FRAME_OVERHEAD, frame, fault);
    if (result == ReadResult::BAD) return fault;
    if (result == ReadResult::INCOMPLETE) return WireFault::NOT_A_FRAME;
    const std::size_t behind = size - FRAME_OVERHEAD - frame.length;
    switch (frame.kind) {
      case FrameKind::HELLO:
      case FrameKind::PROOF:
      case FrameKind::CHALLENGE:
      case FrameKind::WELCOME:
        if (behind != 0 || frame.length > MOST_GREETING) return WireFault::TOO_LONG;
        return greet(from, frame, now);
      default:
        if (behind != TAG_BYTES) return WireFault::BAD_TAG;
    }
    const std::size_t covered = size - TAG_BYTES;
    for (Sender& sender : senders_) {
      if (sender.greeted && same(sender.address, from) &&
          is_tagged(covered, sender.session, Side::SENDER)) {
        return take(sender, frame, now);
      }
    }
    for (Link& link : links_) {
      if (link.stage >= LinkStage::POSITIONS && same(link.receiver.address, from) &&
          is_tagged(covered, link.session, Side::RECEIVER)) {
        return take(link, frame, now);
      }
    }
    return WireFault::BAD_TAG;
  }

  bool is_tagged(std::size_t size, const HmacSha256& session, Side side) const {
    const Digest digest = digest_of(received_, size, session, side);
    return same_secret(digest.bytes, received_ + size, TAG_BYTES);
  }

  static bool same(const Address& left, const Address& right) {
    return left.host == right.host && left.port == right.port;
  }

  WireFault take(Sender& sender, const WireFrame& frame, Nanoseconds now) {
    if (!in_place(LinkStage::FROM_SENDER, frame.kind)) return WireFault::OUT_OF_PLACE;
    if (frame.kind == FrameKind::BYE) {
      sender.greeted = false;
      liveness_.finished(sender.peer, now);
      return WireFault::FINE;
    }
    liveness_.heard(sender.peer, now);
    if (frame.kind == FrameKind::HEARTBEAT) return WireFault::FINE;
    const WireFault fault = reader_.take(frame, sender.positions, pending_);
    if (fault != WireFault::FINE) return fault;
    if (++sender.unacknowledged >= UDP_ACKNOWLEDGED || frame.kind == FrameKind::END) {
      acknowledge(sender, now);
    }
    return WireFault::FINE;
  }

  WireFault take(Link& link, const WireFrame& frame, Nanoseconds now) {
    if (!in_place(LinkStage::FROM_RECEIVER, frame.kind)) return WireFault::OUT_OF_PLACE;
    if (frame.kind == FrameKind::BYE) {
      link.up = false;
      link.stage = LinkStage::OPENED;
      link.retry_at = now + timing_->slowest_retry;
      liveness_.finished(link.receiver.peer, now);
      return WireFault::FINE;
    }
    link.heard = now;
    liveness_.heard(link.receiver.peer, now);
    if (frame.kind != FrameKind::ACKNOWLEDGE) return WireFault::FINE;
    if (link.stage == LinkStage::POSITIONS) {
      link.streams.acknowledged.clear();
      link.stage = LinkStage::FROM_RECEIVER;
      link.up = true;
      link.backoff = 0;
      link.repeated = 0;
      open_window(link);
    }
    return link.streams.acknowledged.read(*node_, frame) ? WireFault::FINE
                                                         : WireFault::BAD_POSITIONS;
  }

  // ---------------------------------------------------------------- greetings

  void say_hello(Link& link, Nanoseconds now) {
    link.backoff = timing_->next_backoff(link.backoff);
    link.retry_at = now + link.backoff;
    link.stage = LinkStage::OPENED;
    if (!link.greeting.begin(*me_, link.receiver.name)) return;
    GreetingFrame hello;
    link.greeting.hello(*me_, hello);
    link.stage = LinkStage::CHALLENGE;
    put_out(hello.bytes, hello.size, link.receiver.address);
  }

  WireFault greet(const Address& from, const WireFrame& frame, Nanoseconds now) {
    GreetingFrame answer;
    if (frame.kind == FrameKind::HELLO) return begin_greeting(from, frame, now);
    if (frame.kind == FrameKind::PROOF) return end_greeting(from, frame, now);
    for (Link& link : links_) {
      if (link.receiver.peer == NONE || !same(link.receiver.address, from)) continue;
      if (!in_place(link.stage, frame.kind)) return WireFault::OUT_OF_PLACE;
      if (frame.kind == FrameKind::CHALLENGE) {
        const WireFault fault = link.greeting.answer(*me_, frame, answer);
        if (fault != WireFault::FINE) return fault;
        link.stage = LinkStage::WELCOME;
        put_out(answer.bytes, answer.size, from);
        return WireFault::FINE;
      }
      const WireFault fault = link.greeting.check(*me_, frame);
      if (fault != WireFault::FINE) return fault;
      const Digest key = link.greeting.session_key(*me_);
      link.session = HmacSha256(key.bytes, sizeof key.bytes);
      link.stage = LinkStage::POSITIONS;
      link.heard = now;
      return WireFault::FINE;
    }
    return WireFault::OUT_OF_PLACE;
  }

  WireFault begin_greeting(const Address& from, const WireFrame& hello, Nanoseconds now) {
    Stranger* chosen = nullptr;
    for (Stranger& stranger : strangers_) {
      if (stranger.used && same(stranger.address, from)) {
        chosen = &stranger;
        break;
      }
      if (chosen == nullptr ||
          (chosen->used && (!stranger.used || stranger.since < chosen->since))) {
        chosen = &stranger;
      }
    }
    chosen->used = true;
    chosen->address = from;
    chosen->since = now;
    const WireFault fault = chosen->greeting.begin(*me_, hello);
    if (fault != WireFault::FINE) {
      chosen->used = false;
      return fault;
    }
    GreetingFrame answer;
    chosen->greeting.challenge(answer);
    put_out(answer.bytes, answer.size, from);
    return WireFault::FINE;
  }

  WireFault end_greeting(const Address& from, const WireFrame& proof, Nanoseconds now) {
    for (Stranger& stranger : strangers_) {
      if (!stranger.used || !same(stranger.address, from)) continue;
      const WireFault fault = stranger.greeting.check(*me_, proof);
      if (fault != WireFault::FINE) return fault;
      stranger.used = false;
      for (Sender& sender : senders_) {
        if (!same_text(sender.name.text, stranger.greeting.name())) continue;
        admit(sender, stranger, from, now);
        return WireFault::FINE;
      }
      return WireFault::TOO_MANY_SENDERS;
    }
    return WireFault::OUT_OF_PLACE;
  }

  void admit(Sender& sender, const Stranger& stranger, const Address& from, Nanoseconds now) {
    if (!same_text(sender.incarnation.text, stranger.greeting.incarnation().text)) {
      sender.incarnation = stranger.greeting.incarnation();
      sender.positions.clear();
    }
    const Digest key = stranger.greeting.session_key(*me_);
    sender.session = HmacSha256(key.bytes, sizeof key.bytes);
    sender.greeted = true;
    sender.address = from;
    GreetingFrame welcome;
    stranger.greeting.welcome(*me_, welcome);
    put_out(welcome.bytes, welcome.size, from);
    acknowledge(sender, now);
    liveness_.heard(sender.peer, now);
  }

  // ---------------------------------------------------------------- upkeep

  void look_after(Nanoseconds now, Nanoseconds stalled) {
    for (Link& link : links_) {
      if (!link.up) continue;
      link.heard += stalled;
      if (now - link.heard > timing_->silence()) {
        ++counts.resets;
        link.up = false;
        link.retry_at = now;
        continue;
      }
      if (now - link.repeated >= timing_->heartbeat * 3 / 4) repeat(link, now);
    }
    for (Sender& sender : senders_) {
      if (sender.greeted && now - sender.spoke >= timing_->heartbeat * 3 / 4) {
        acknowledge(sender, now);
      }
    }
  }

  /// A sign of life, and what was told last of each stream: it may have been lost.
  void repeat(Link& link, Nanoseconds now) {
    link.repeated = now;
    const std::uint64_t out = under_way(link);
    if (out >= UDP_WINDOW && out == link.under_way_before) open_window(link);
    link.under_way_before = out;
    say(FrameKind::HEARTBEAT, 0, link.session, Side::SENDER, link.receiver.address);
    if (link.streams.frames.has_waiting()) return;
    link.streams.repeat_marks([&](Index wire, FrameKind kind, Microseconds mark) {
      const bool came = link.streams.acknowledged[wire] >= link.sent[wire];
      if (!came) append_mark(link, kind, wire, mark);
    });
  }

  static constexpr std::int64_t NOTED = 20;

  const NodeProgram* node_ = nullptr;
  const Identity* me_ = nullptr;
  const PeerTiming* timing_ = nullptr;
  PeerHandler* handler_ = nullptr;
  int socket_ = -1;
  Nanoseconds looked_ = 0;
  Nanoseconds upkeep_at_ = 0;
  std::size_t receivers_ = 0;
  std::size_t known_senders_ = 0;
  Objects<Link> links_;
  Objects<Sender> senders_;
  Objects<Stranger> strangers_;
  StreamReader reader_;
  Liveness liveness_;
  /// Of the datagram that was received last.
  PendingRows pending_;
  std::uint8_t* received_ = nullptr;
  std::uint8_t* spoken_ = nullptr;
};

}  // namespace headway
