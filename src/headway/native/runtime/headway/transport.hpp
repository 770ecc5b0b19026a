// One interface to the other nodes, whatever carries the frames, and what all carriers share: who
// is there (`Liveness`), frames that wait or may have to be sent again (`KeptFrames`), timing.
//
// A transport never waits and never allocates after `open`. What comes is handed to a `PeerHandler`
// at once, in the node's only thread, between two operators. Whatever is wrong with what comes ends
// a connection or a datagram, never the process.
#pragma once

#include <netinet/in.h>
#include <poll.h>

#include "headway/node_tables.hpp"
#include "headway/storage.hpp"
#include "headway/wire_format.hpp"

namespace headway {

inline constexpr Nanoseconds MILLISECOND = 1'000'000;
inline constexpr Nanoseconds SECOND = 1'000'000'000;

/// All in nanoseconds. A peer not heard of for `missed` heartbeats is lost. Reconnecting starts
/// after `first_retry` and backs off to `slowest_retry`. `give_up`: how long a node waits for a
/// lost peer's streams when all else has ended; `start`: for a peer to appear; `linger`: until
/// those who are there have acknowledged everything; `greeting`: until one who connects has proved
/// who it is.
struct PeerTiming {
  Nanoseconds heartbeat = 50 * MILLISECOND;
  std::int64_t missed = 3;
  Nanoseconds first_retry = 20 * MILLISECOND;
  Nanoseconds slowest_retry = 500 * MILLISECOND;
  Nanoseconds give_up = 5 * SECOND;
  Nanoseconds start = 20 * SECOND;
  Nanoseconds linger = 30 * SECOND;
  Nanoseconds greeting = 5 * SECOND;

  Nanoseconds silence() const { return heartbeat * missed; }
  /// After so long without a word a connection is given up, too; its peer may open another.
  Nanoseconds dead() const { return silence() > start ? silence() : start; }
  Nanoseconds next_backoff(Nanoseconds before) const {
    const Nanoseconds doubled = 2 * before < first_retry ? first_retry : 2 * before;
    return doubled < slowest_retry ? doubled : slowest_retry;
  }
};

/// What happens with what comes. `wire` and `peer` are places in the node's tables.
class PeerHandler {
 public:
  /// Whether another tuple can be taken in. If not, what comes waits where it is, and its sender
  /// with it.
  virtual bool has_room(Index wire) = 0;
  virtual void row(Index wire, const void* row, const SentRow& sent) = 0;
  virtual void mark(Index wire, Microseconds mark) = 0;
  virtual void ended(Index wire) = 0;
  virtual void lost(Index peer) = 0;
  virtual void back(Index peer) = 0;
  /// What is worth a line in the node's events.
  virtual void note(const char* event, const char* peer, const char* reason) = 0;

 protected:
  ~PeerHandler() = default;
};

struct TransportCounts {
  std::int64_t bad_frames = 0;
  std::int64_t refused[WIRE_FAULTS] = {};
  std::int64_t resets = 0;
  std::int64_t duplicates = 0;
  /// Frames of a stream that never came.
  std::int64_t gaps = 0;
  /// Tuples dropped because nobody took them.
  std::int64_t overflowed = 0;
  /// Tuples that came with a text for which there is no room, or do not fit a frame.
  std::int64_t unfit = 0;
  std::int64_t unsendable = 0;
};

struct Address {
  std::uint32_t host = 0;  // network order
  std::uint16_t port = 0;  // of this machine's order

  sockaddr_in socket_address() const {
    sockaddr_in made{};
    made.sin_family = AF_INET;
    made.sin_addr.s_addr = host;
    made.sin_port = htons(port);
    return made;
  }
};

/// A peer that takes streams of ours: where it is, and which wires go to it, by their places.
struct Receiver {
  Index peer = NONE;
  const char* name = "";
  Address address;
  const bool* wanted = nullptr;
};

/// An array of objects in an arena, made once.
template <class T>
class Objects {
 public:
  static constexpr std::size_t bytes(std::size_t count) { return aligned(count * sizeof(T)); }
  void open(Arena& arena, std::size_t count) {
    items_ = static_cast<T*>(arena.take(count * sizeof(T)));
    count_ = items_ == nullptr ? 0 : count;
    for (std::size_t place = 0; place < count_; ++place) new (items_ + place) T();
  }
  T& operator[](std::size_t place) { return items_[place]; }
  const T& operator[](std::size_t place) const { return items_[place]; }
  T* begin() { return items_; }
  T* end() { return items_ + count_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + count_; }
  std::size_t size() const { return count_; }

 private:
  T* items_ = nullptr;
  std::size_t count_ = 0;
};

/// Which wires may come to a node, and how far those of one sender have come.
class StreamPositions {
 public:
  static constexpr std::size_t bytes(std::size_t wires) {
    return Objects<std::uint64_t>::bytes(wires);
  }
  void open(Arena& arena, std::size_t wires) { last_.open(arena, wires); }
  void clear() {
    for (std::uint64_t& last : last_) last = 0;
  }
  std::uint64_t& operator[](Index wire) { return last_[wire]; }
  std::uint64_t operator[](Index wire) const { return last_[wire]; }

  /// As the payload of an acknowledgement; its bytes.
  std::size_t write(const NodeProgram& node, std::uint8_t* to) const {
    std::size_t at = 0;
    for (std::uint32_t wire = 0; wire < node.wires.count; ++wire) {
      if (last_[wire] == 0) continue;
      put_big_endian(to + at, node.wires[wire].id, 2);
      put_big_endian(to + at + 2, last_[wire], 8);
      at += POSITION_BYTES;
    }
    return at;
  }

  /// From an acknowledgement; streams that are not ours are passed over.
  bool read(const NodeProgram& node, const WireFrame& frame) {
    return read_positions(frame.payload, frame.length,
                          [&](std::uint16_t stream, std::uint64_t last) {
                            for (std::uint32_t wire = 0; wire < node.wires.count; ++wire) {
                              if (node.wires[wire].id == stream) last_[wire] = last;
                            }
                          });
  }

 private:
  Objects<std::uint64_t> last_;
};

/// Tuples of a frame that wait to be taken in.
struct PendingRows {
  Index wire = NONE;
  RowsCursor rows;
};

/// Takes frames of streams apart and hands on what is in them: the same for all transports.
class StreamReader {
 public:
  static constexpr std::size_t bytes(const NodeProgram& node) {
    return aligned(largest_row(node)) + Objects<bool>::bytes(node.wires.count);
  }

  void open(Arena& arena, const NodeProgram& node, PeerHandler& handler, TransportCounts& counts) {
    node_ = &node;
    handler_ = &handler;
    counts_ = &counts;
    row_ = arena.take(largest_row(node));
    accepted_.open(arena, node.wires.count);
    for (const ReceivedStream& one : node.received) accepted_[one.wire] = true;
    for (const OwnSource& one : node.own) accepted_[one.wire] = true;
  }

  /// Tuples, a watermark or the end of a stream. What came before is counted and left. Tuples stay
  /// where they are until `go_on` has taken the last.
  WireFault take(const WireFrame& frame, StreamPositions& positions, PendingRows& pending) {
    Index wire = NONE;
    for (std::uint32_t place = 0; place < node_->wires.count; ++place) {
      if (node_->wires[place].id == frame.stream) wire = static_cast<Index>(place);
    }
    if (wire == NONE || !accepted_[wire]) return WireFault::UNKNOWN_STREAM;
    const WireStream& stream = node_->wires[wire];
    if (frame.schema != stream.schema) return WireFault::OTHER_SCHEMA;
    const std::uint64_t last = positions[wire];
    if (frame.sequence <= last) {
      ++counts_->duplicates;
      return WireFault::FINE;
    }
    if (frame.kind == FrameKind::ROWS) {
      pending.wire = wire;
      if (!pending.rows.begin(stream, frame.payload, frame.length, row_)) {
        return WireFault::BAD_TUPLES;
      }
    } else if (frame.kind == FrameKind::MARK) {
      if (frame.length != sizeof(Microseconds)) return WireFault::BAD_MARK;
      handler_->mark(wire, static_cast<Microseconds>(big_endian(frame.payload, 8)));
    } else {
      handler_->ended(wire);
    }
    if (last > 0) counts_->gaps += static_cast<std::int64_t>(frame.sequence - last - 1);
    positions[wire] = frame.sequence;
    go_on(pending);
    return WireFault::FINE;
  }

  /// Hands on tuples of a frame while there is room for them; whether all are.
  bool go_on(PendingRows& pending) {
    while (pending.rows.more()) {
      if (!handler_->has_room(pending.wire)) return false;
      SentRow sent;
      if (pending.rows.next(row_, sent)) {
        handler_->row(pending.wire, row_, sent);
      } else {
        ++counts_->unfit;
      }
    }
    return true;
  }

 private:
  const NodeProgram* node_ = nullptr;
  PeerHandler* handler_ = nullptr;
  TransportCounts* counts_ = nullptr;
  void* row_ = nullptr;
  Objects<bool> accepted_;
};

class Transport {
 public:
  TransportCounts counts;

  /// Descriptors to be looked at while the node waits; how many.
  virtual std::uint32_t watch(pollfd* list, std::uint32_t room) const = 0;
  /// Serves whoever has something, without waiting; `now` is the machine's monotonic time.
  virtual void turn(Nanoseconds now) = 0;
  /// When `turn` has something to do though nothing comes.
  virtual Nanoseconds next_due() const = 0;
  virtual void send_row(Index wire, const void* row, std::uint64_t number, bool late) = 0;
  virtual void send_mark(Index wire, Microseconds mark) = 0;
  virtual void send_end(Index wire) = 0;
  /// Whether all who are there have all that was sent.
  virtual bool all_done() const = 0;
  /// The run is over: says so to all, and closes.
  virtual void say_goodbye() = 0;
  /// When a peer was lost or finished; NEVER if it is there or is still awaited.
  virtual Nanoseconds lost_since(Index peer) const = 0;
  virtual std::uint32_t peers_alive() const = 0;

 protected:
  ~Transport() = default;
};

// ---------------------------------------------------------------- who is there

/// Decides, notes and tells.
class Liveness {
  struct Peer {
    Index peer;
    bool alive;
    bool seen;
    bool finished;
    Nanoseconds heard;
    Nanoseconds lost_at;
    const char* name;
  };

 public:
  static constexpr std::size_t bytes(std::size_t peers) { return List<Peer>::bytes(peers); }

  void open(Arena& arena, std::size_t peers, const PeerTiming& timing, PeerHandler& handler) {
    peers_.open(arena, peers);
    timing_ = &timing;
    handler_ = &handler;
  }

  void add(Index peer, const char* name, Nanoseconds now) {
    if (find(peer) == nullptr) peers_.push({peer, false, false, false, now, NEVER, name});
  }

  void heard(Index peer, Nanoseconds at) {
    Peer* const found = find(peer);
    if (found == nullptr) return;
    if (at > found->heard) found->heard = at;
    if (found->alive) return;
    const bool returns = found->seen;
    if (found->lost_at != NEVER) handler_->back(peer);
    found->alive = found->seen = true;
    found->finished = false;
    found->lost_at = NEVER;
    handler_->note(returns ? "peer back" : "peer found", found->name, "");
  }

  /// The peer has said good-bye. Streams of it that have not ended are not waited for: it may have
  /// ended them for a process of this node that was killed since.
  void finished(Index peer, Nanoseconds now) {
    Peer* const found = find(peer);
    if (found == nullptr || found->finished) return;
    found->finished = true;
    found->alive = false;
    found->lost_at = now;
    handler_->note("peer finished", found->name, "");
    handler_->lost(peer);
  }

  /// Nobody listens where the peer was: it need not be waited for.
  void refused(Index peer, Nanoseconds now) {
    Peer* const found = find(peer);
    if (found != nullptr && found->alive) {
      lose(*found, now, "its connection closed and its port refuses new ones");
    }
  }

  /// Finds the silent. `stalled`: how long this process itself was not running; that is no fault of
  /// theirs.
  void check(Nanoseconds now, Nanoseconds stalled) {
    for (Peer& peer : peers_) {
      peer.heard += stalled;
      const Nanoseconds silent = now - peer.heard;
      if (peer.alive && silent > timing_->silence()) {
        lose(peer, now, "not heard of for longer than the limit");
      } else if (!peer.seen && peer.lost_at == NEVER && silent > timing_->start) {
        lose(peer, now, "it never appeared");
      }
    }
  }

  Nanoseconds lost_since(Index peer) const {
    for (const Peer& one : peers_) {
      if (one.peer == peer) return one.lost_at;
    }
    return NEVER;
  }

  bool is_gone(Index peer) const {
    for (const Peer& one : peers_) {
      if (one.peer == peer) return one.finished || one.lost_at != NEVER;
    }
    return true;
  }

  std::uint32_t alive() const {
    std::uint32_t count = 0;
    for (const Peer& one : peers_) count += one.alive ? 1 : 0;
    return count;
  }

 private:
  Peer* find(Index peer) {
    for (Peer& one : peers_) {
      if (one.peer == peer) return &one;
    }
    return nullptr;
  }

  void lose(Peer& peer, Nanoseconds now, const char* reason) {
    peer.alive = false;
    peer.lost_at = now;
    handler_->note("peer lost", peer.name, reason);
    handler_->lost(peer.peer);
  }

  List<Peer> peers_;
  const PeerTiming* timing_ = nullptr;
  PeerHandler* handler_ = nullptr;
};

// ---------------------------------------------------------------- frames on their way

/// Frames in the order they were sent: some of them are out but not acknowledged, the others wait.
/// A ring of bytes in which every frame lies in one piece; when it is full the oldest goes. Places
/// count on for ever; where they lie in memory is their remainder.
class KeptFrames {
  struct Entry {
    std::uint64_t sequence;
    std::uint32_t size;
    std::uint16_t tuples;
    Index wire;
  };
  /// In place of a size: the rest up to the end of the memory is empty.
  static constexpr std::uint32_t SKIP = 0xFFFFFFFF;
  static_assert(alignof(Entry) <= ALIGNMENT, "memory of an arena is aligned for it");

 public:
  static constexpr std::size_t bytes(std::size_t capacity) { return aligned(capacity); }

  void open(Arena& arena, std::size_t capacity) {
    memory_ = static_cast<std::uint8_t*>(arena.take(capacity));
    capacity_ = memory_ == nullptr ? 0 : capacity / sizeof(Entry) * sizeof(Entry);
  }

  /// Room for a frame of so many bytes; null when it is not there. `keep` makes it one.
  std::uint8_t* room(std::size_t size) {
    const std::size_t needed = footprint(size);
    if (needed > capacity_) return nullptr;
    const std::size_t to_end = capacity_ - static_cast<std::size_t>(tail_ % capacity_);
    const std::size_t skipped = to_end < needed ? to_end : 0;
    if (capacity_ - static_cast<std::size_t>(tail_ - head_) < skipped + needed) return nullptr;
    if (skipped > 0) {
      entry_at(tail_)->size = SKIP;
      tail_ += skipped;
    }
    return bytes_at(tail_);
  }

  void keep(std::size_t size, Index wire, std::uint64_t sequence, std::uint16_t tuples) {
    *entry_at(tail_) = {sequence, static_cast<std::uint32_t>(size), tuples, wire};
    tail_ += footprint(size);
    ++count_;
    ++waiting_;
  }

  bool empty() const { return count_ == 0; }
  bool has_waiting() const { return waiting_ > 0; }
  std::size_t count() const { return count_; }
  std::size_t count_waiting() const { return waiting_; }
  /// Whether the oldest frame still waits to be sent.
  bool oldest_waits() const { return count_ == waiting_; }

  /// The next frame that waits.
  const std::uint8_t* waiting(std::size_t& size) {
    next_ = past_skipped(next_);
    size = entry_at(next_)->size;
    return bytes_at(next_);
  }

  /// Its stream and number.
  Index waiting_wire() { return entry_at(next_ = past_skipped(next_))->wire; }
  std::uint64_t waiting_sequence() { return entry_at(next_ = past_skipped(next_))->sequence; }

  void sent() {
    next_ = past_skipped(next_);
    next_ += footprint(entry_at(next_)->size);
    --waiting_;
  }

  /// Everything counts as sent.
  void all_out() {
    next_ = tail_;
    waiting_ = 0;
  }

  /// Everything that is kept waits again.
  void rewind() {
    next_ = head_;
    waiting_ = count_;
  }

  /// Forgets, from the oldest on, what `is_done(wire, sequence)` says has come, of what is out.
  template <class Done>
  void forget_if(Done&& is_done) {
    while (!oldest_waits()) {
      head_ = past_skipped(head_);
      const Entry* const entry = entry_at(head_);
      if (!is_done(entry->wire, entry->sequence)) break;
      drop_oldest();
    }
  }

  /// The tuples that were in the oldest frame.
  std::uint16_t drop_oldest() {
    const bool waited = oldest_waits();
    head_ = past_skipped(head_);
    const Entry* const entry = entry_at(head_);
    head_ += footprint(entry->size);
    if (waited) {
      next_ = head_;
      --waiting_;
    }
    --count_;
    return entry->tuples;
  }

 private:
  /// Whole entries, so that whatever is left at the end of the memory has room for one.
  static constexpr std::size_t footprint(std::size_t size) {
    return (sizeof(Entry) + size + sizeof(Entry) - 1) / sizeof(Entry) * sizeof(Entry);
  }
  Entry* entry_at(std::uint64_t place) {
    return reinterpret_cast<Entry*>(memory_ + place % capacity_);
  }
  std::uint8_t* bytes_at(std::uint64_t place) {
    return memory_ + place % capacity_ + sizeof(Entry);
  }
  std::uint64_t past_skipped(std::uint64_t place) {
    return entry_at(place)->size == SKIP ? place + capacity_ - place % capacity_ : place;
  }

  std::uint8_t* memory_ = nullptr;
  std::size_t capacity_ = 0;
  /// The oldest frame, the next one to be sent, the end.
  std::uint64_t head_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t tail_ = 0;
  std::size_t count_ = 0;
  std::size_t waiting_ = 0;
};

/// The streams that leave for one receiver, numbered, kept, and what was told of each last.
class OutgoingStreams {
 public:
  static constexpr std::size_t bytes(const NodeProgram& node, std::size_t kept) {
    const std::size_t wires = node.wires.count;
    return Objects<std::uint64_t>::bytes(wires) + StreamPositions::bytes(wires) +
           Objects<LastMark>::bytes(wires) + KeptFrames::bytes(kept);
  }

  void open(Arena& arena, const NodeProgram& node, std::size_t kept) {
    node_ = &node;
    next_.open(arena, node.wires.count);
    acknowledged.open(arena, node.wires.count);
    marks_.open(arena, node.wires.count);
    frames.open(arena, kept);
  }

  StreamPositions acknowledged;
  KeptFrames frames;

  /// Room for the payload of a frame of a stream; null when the oldest must go first.
  std::uint8_t* payload(std::size_t most, std::size_t trailer) {
    std::uint8_t* const frame = frames.room(FRAME_OVERHEAD + most + trailer);
    return frame == nullptr ? nullptr : frame + FRAME_OVERHEAD;
  }

  /// Makes a numbered frame of the payload that was written.
  void keep(FrameKind kind, Index wire, std::uint8_t* payload, std::size_t length,
            std::size_t trailer, std::uint16_t tuples) {
    const WireStream& stream = node_->wires[wire];
    const std::uint64_t sequence = ++next_[wire];
    const std::size_t size =
        seal_frame(payload - FRAME_OVERHEAD, kind, stream.id, stream.schema, sequence, length);
    frames.keep(size + trailer, wire, sequence, tuples);
  }

  void note_mark(FrameKind kind, Index wire, Microseconds mark) { marks_[wire] = {kind, mark}; }

  /// Calls `again(wire, kind, mark)` with what was told last of each stream.
  template <class Again>
  void repeat_marks(Again&& again) {
    for (std::uint32_t wire = 0; wire < node_->wires.count; ++wire) {
      const LastMark last = marks_[wire];
      if (last.told) again(static_cast<Index>(wire), last.kind, last.mark);
    }
  }

  /// Whether every end that was told has come.
  bool ends_acknowledged() const {
    for (std::uint32_t wire = 0; wire < node_->wires.count; ++wire) {
      const LastMark& last = marks_[wire];
      if (last.told && last.kind == FrameKind::END &&
          acknowledged[static_cast<Index>(wire)] < next_[wire]) {
        return false;
      }
    }
    return true;
  }

  void forget_acknowledged() {
    frames.forget_if(
        [this](Index wire, std::uint64_t sequence) { return acknowledged[wire] >= sequence; });
  }

 private:
  struct LastMark {
    FrameKind kind = FrameKind::MARK;
    Microseconds mark = 0;
    bool told = false;
    LastMark() = default;
    LastMark(FrameKind a_kind, Microseconds a_mark) : kind(a_kind), mark(a_mark), told(true) {}
  };

  const NodeProgram* node_ = nullptr;
  Objects<std::uint64_t> next_;
  Objects<LastMark> marks_;
};

}  // namespace headway
