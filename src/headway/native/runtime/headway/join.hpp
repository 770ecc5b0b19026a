// Join of two streams on sensing time and keys, tuple by tuple.
//
// The twin of engine/operators/join.py: a tuple is matched on arrival with the tuples kept of the
// other side, then kept itself; pairs go out by (the partner's timestamp, the partner's arrival).
// Kept tuples stand in a table by key and stretch of time, in order inside a stretch. A stretch is
// as long as the reach of a tuple, so a match looks at two of them and its cost grows with what it
// can match, not with what is kept.
//
// A Spec, generated from the query:
//
//   struct NearSpec {
//     using Left = Radar;  using Right = Own;  using Out = Near;
//     using Key = NearKey;                      // hash(), ==, each(); empty without keys
//     static constexpr Microseconds within_us = 50000;
//     static constexpr Nanoseconds timeout_ns = 0;       // 0: a tuple never goes out alone
//     static constexpr int limited_side = -1;            // 0 or 1 where `partners` names a port
//     static constexpr std::int64_t most = -1;           // of `partners` or `most_outputs`; -1
//     none
//     // What can be within reach of tuples in time; what can wait for a partner.
//     static constexpr std::size_t most_left = 40, most_right = 40;
//     static constexpr std::size_t most_left_waiting = 0, most_right_waiting = 0;
//     static bool left_key(const Left&, Key&);           // false: there is a NULL in it
//     static bool right_key(const Right&, Key&);
//     static bool where(const Left*, const Right*);
//     static void columns(const Left*, const Right*, Out&);  // null: no partner; not the timestamp
//   };
#pragma once

#include "headway/state.hpp"
#include "headway/time_window.hpp"

namespace headway {

/// A tuple's running number of arrival; also the token of its timer.
struct ArrivalNumber {
  std::int64_t number;
  std::uint64_t hash() const {
    return key_hash_bits(KEY_HASH_START, static_cast<std::uint64_t>(number));
  }
  bool operator==(const ArrivalNumber& other) const { return number == other.number; }
};

/// What is kept of one side.
template <class Row, class Key>
class JoinSide {
 public:
  struct Kept {
    Microseconds timestamp;
    std::int64_t number;
    /// How many partners it has found, where they are limited.
    std::int64_t paired;
    /// Its stretch in the table, or NOWHERE if this is no kept tuple; its neighbours there.
    Place stretch;
    Place before;
    Place after;
    Row row;

    bool comes_before(const Kept& other) const {
      return timestamp != other.timestamp ? timestamp < other.timestamp : number < other.number;
    }
  };
  struct Ends {
    Place first;
    Place last;
  };
  struct Waiting {
    Nanoseconds at;
    /// Where it was kept, if it was.
    Place kept;
    Row row;
  };
  struct WaitingSince {
    Microseconds timestamp;
    std::int64_t number;
    bool operator<(const WaitingSince& other) const { return timestamp < other.timestamp; }
  };
  using StretchKey = KeyAndStretch<Key>;

  static constexpr std::size_t bytes(std::size_t most_kept, std::size_t most_waiting) {
    const std::size_t kept = Sweeper::capacity_for(most_kept);
    return KeyTable<StretchKey, Ends>::bytes(kept) + List<Kept>::bytes(kept) +
           KeyTable<ArrivalNumber, Waiting>::bytes(most_waiting) +
           Heap<WaitingSince>::bytes(2 * most_waiting);
  }

  void open(Arena& arena, std::size_t most_kept, std::size_t most_waiting) {
    const std::size_t kept = Sweeper::capacity_for(most_kept);
    stretches_.open(arena, kept);
    kept_.open(arena, kept);
    waiting_.open(arena, most_waiting);
    since_.open(arena, 2 * most_waiting);
  }

  void clear() {
    stretches_.clear();
    kept_.clear();
    waiting_.clear();
    since_.clear();
    free_ = NOWHERE;
    size_ = 0;
  }

  // -------------------------------------------------------------- kept tuples

  /// The first and the last of a stretch; NOWHERE if nothing is kept there.
  Ends ends(const StretchKey& key, std::uint64_t hash) const {
    const Place place = stretches_.find(key, hash);
    return place == NOWHERE ? Ends{NOWHERE, NOWHERE} : stretches_[place];
  }

  /// The first of a stretch that is not older than that, if its last one is not; else NOWHERE.
  Place first_from(Microseconds from, Place last) const {
    Place first = NOWHERE;
    for (; last != NOWHERE && kept_[last].timestamp >= from; last = kept_[last].before) {
      first = last;
    }
    return first;
  }

  Kept& operator[](Place place) { return kept_[place]; }
  const Kept& operator[](Place place) const { return kept_[place]; }
  std::size_t size() const { return size_; }
  std::size_t places() const { return kept_.size(); }
  bool used(Place place) const { return kept_[place].stretch != NOWHERE; }

  bool has_room() const {
    return GROWS || (stretches_.room() > 0 && (free_ != NOWHERE || !kept_.full()));
  }

  /// Keeps a tuple; where, or NOWHERE without room.
  Place keep(const StretchKey& key, Kept& tuple) {
    const std::uint64_t hash = key.hash();
    Place stretch = stretches_.find(key, hash);
    if (stretch == NOWHERE) {
      stretch = stretches_.insert(key, hash);
      if (stretch == NOWHERE) return NOWHERE;
      stretches_[stretch] = Ends{NOWHERE, NOWHERE};
    }
    const Place place = taken();
    if (place == NOWHERE) {
      if (stretches_[stretch].first == NOWHERE) stretches_.erase(stretch);
      return NOWHERE;
    }
    Ends& all = stretches_[stretch];
    Place before = all.last;
    while (before != NOWHERE && tuple.comes_before(kept_[before])) before = kept_[before].before;
    tuple.stretch = stretch;
    tuple.before = before;
    tuple.after = before == NOWHERE ? all.first : kept_[before].after;
    kept_[place] = tuple;
    (tuple.before == NOWHERE ? all.first : kept_[tuple.before].after) = place;
    (tuple.after == NOWHERE ? all.last : kept_[tuple.after].before) = place;
    ++size_;
    return place;
  }

  void remove(Place place) {
    Kept& tuple = kept_[place];
    Ends& all = stretches_[tuple.stretch];
    (tuple.before == NOWHERE ? all.first : kept_[tuple.before].after) = tuple.after;
    (tuple.after == NOWHERE ? all.last : kept_[tuple.after].before) = tuple.before;
    if (all.first == NOWHERE) stretches_.erase(tuple.stretch);
    tuple.stretch = NOWHERE;
    tuple.after = free_;
    free_ = place;
    --size_;
  }

  /// Whether a tuple is still kept at its place.
  bool is_kept(Place place, std::int64_t number) const {
    return place < kept_.size() && used(place) && kept_[place].number == number;
  }

  /// Where a tuple is kept; NOWHERE if it is not.
  Place find(const StretchKey& key, std::int64_t number) const {
    Place place = ends(key, key.hash()).first;
    while (place != NOWHERE && kept_[place].number != number) place = kept_[place].after;
    return place;
  }

  /// Forgets some of what is older than that, as tuples come.
  void forget_before(Microseconds oldest) {
    sweeper_.sweep(places(), [this, oldest](Place place) { forget_if_before(place, oldest); });
  }

  /// Forgets all that is older.
  void forget_all_before(Microseconds oldest) {
    for (Place place = 0; place < places(); ++place) forget_if_before(place, oldest);
  }

  // -------------------------------------------------------------- tuples without a partner so far

  const KeyTable<ArrivalNumber, Waiting>& waiting() const { return waiting_; }
  bool has_room_to_wait() const { return waiting_.room() > 0; }

  bool wait(std::int64_t number, const Waiting& tuple) {
    if (waiting_.find({number}) != NOWHERE) return false;
    const Place place = waiting_.insert({number});
    if (place == NOWHERE) return false;
    waiting_[place] = tuple;
    if (!since_.push({tuple.row.timestamp, number})) {
      // Full of tuples that have found a partner meanwhile: only those that wait count.
      since_.clear();
      for (Place one = waiting_.first(); one != NOWHERE; one = waiting_.after(one)) {
        since_.push({waiting_[one].row.timestamp, waiting_.key(one).number});
      }
    }
    return true;
  }

  /// It has a partner, or its time is over; false if it did not wait.
  bool stop_waiting(std::int64_t number, Waiting* was) {
    if (waiting_.empty()) return false;
    const Place place = waiting_.find({number});
    if (place == NOWHERE) return false;
    if (was != nullptr) *was = waiting_[place];
    waiting_.erase(place);
    while (!since_.empty() && waiting_.find({since_.top().number}) == NOWHERE) since_.pop();
    return true;
  }

  /// The oldest timestamp of the tuples that wait, if it is older than that.
  Microseconds oldest_waiting(Microseconds otherwise) const {
    return !since_.empty() && since_.top().timestamp < otherwise ? since_.top().timestamp
                                                                 : otherwise;
  }

 private:
  void forget_if_before(Place place, Microseconds oldest) {
    if (used(place) && kept_[place].timestamp < oldest) remove(place);
  }

  Place taken() {
    if (free_ != NOWHERE) {
      const Place place = free_;
      free_ = kept_[place].after;
      return place;
    }
    return kept_.push(Kept{}) ? static_cast<Place>(kept_.size() - 1) : NOWHERE;
  }

  KeyTable<StretchKey, Ends> stretches_;
  List<Kept> kept_;
  Sweeper sweeper_;
  Place free_ = NOWHERE;
  std::size_t size_ = 0;
  KeyTable<ArrivalNumber, Waiting> waiting_;
  /// All that wait, and some that did, by age; the first one does wait.
  Heap<WaitingSince> since_;
};

template <class Spec>
class Join final : public Operator {
  using Left = typename Spec::Left;
  using Right = typename Spec::Right;
  using Out = typename Spec::Out;
  using Key = typename Spec::Key;
  using StretchKey = KeyAndStretch<Key>;

  static constexpr Microseconds WITHIN = Spec::within_us;
  /// As long as the reach of a tuple: from `within` before it to `within` after it.
  static constexpr Microseconds STRETCH = later_by(later_by(WITHIN, WITHIN), 1);
  /// More than ever come.
  static constexpr std::int64_t MOST_ARRIVALS = std::int64_t{1} << 62;

 public:
  static constexpr std::size_t arena_bytes() {
    return JoinSide<Left, Key>::bytes(Spec::most_left, Spec::most_left_waiting) +
           JoinSide<Right, Key>::bytes(Spec::most_right, Spec::most_right_waiting);
  }

  void open(Arena& arena) override {
    left_.open(arena, Spec::most_left, Spec::most_left_waiting);
    right_.open(arena, Spec::most_right, Spec::most_right_waiting);
  }

  void accept(Port port, const void* bytes, Nanoseconds now, bool late,
              OperatorOutput& output) override {
    const Microseconds timestamp = timestamp_of(bytes);
    if (late || timestamp < watermark_) {
      output.drop(DropKind::LATE, late ? Reason::MARKED_LATE : Reason::OLDER_THAN_WATERMARK,
                  late ? 0 : watermark_, port, bytes);
      return;
    }
    if (port == 0) {
      take<0>(*static_cast<const Left*>(bytes), now, left_, right_, output);
    } else {
      take<1>(*static_cast<const Right*>(bytes), now, right_, left_, output);
    }
  }

  /// Nothing goes out; what is too old is forgotten as tuples come.
  void advance(Microseconds watermark, OperatorOutput& output) override {
    (void)output;
    if (watermark > watermark_) watermark_ = watermark;
  }

  Microseconds output_watermark(Microseconds watermark) const override {
    return right_.oldest_waiting(left_.oldest_waiting(earlier_by(watermark, WITHIN)));
  }

  void expire(std::int64_t token, Nanoseconds now, OperatorOutput& output) override {
    (void)now;
    if (!alone<0>(token, left_, output)) alone<1>(token, right_, output);
  }

  void tidy(Microseconds watermark) override {
    left_.forget_all_before(earlier_by(watermark, WITHIN));
    right_.forget_all_before(earlier_by(watermark, WITHIN));
  }

  void save(StateWriter& writer) const override {
    writer.put(arrivals_);
    writer.put(watermark_);
    save_side(writer, left_);
    save_side(writer, right_);
  }

  bool load(StateReader& reader) override {
    left_.clear();
    right_.clear();
    if (reader.get(arrivals_) && reader.get(watermark_) && arrivals_ >= 0 &&
        arrivals_ < MOST_ARRIVALS && load_side<0>(reader, left_) && load_side<1>(reader, right_)) {
      return true;
    }
    left_.clear();
    right_.clear();
    arrivals_ = 0;
    watermark_ = NO_TIME;
    return false;
  }

 private:
  template <int SIDE, class Row>
  static bool key_of(const Row& row, Key& key) {
    if constexpr (SIDE == 0) {
      return Spec::left_key(row, key);
    } else {
      return Spec::right_key(row, key);
    }
  }

  template <int SIDE, class Mine, class Theirs>
  void take(const Mine& row, Nanoseconds now, JoinSide<Mine, Key>& mine,
            JoinSide<Theirs, Key>& theirs, OperatorOutput& output) {
    StretchKey key{};
    const bool comparable = key_of<SIDE>(row, key.key);
    if (comparable && watermark_ != NO_TIME) {
      mine.forget_before(earlier_by(watermark_, WITHIN));
    }
    if ((comparable && !mine.has_room()) || (Spec::timeout_ns != 0 && !mine.has_room_to_wait())) {
      output.drop(DropKind::SHED, Reason::NO_ROOM, 0, SIDE, &row);
      return;
    }
    typename JoinSide<Mine, Key>::Kept tuple{};
    tuple.timestamp = row.timestamp;
    tuple.number = arrivals_++;
    tuple.row = row;
    bool found = false;
    Place kept = NOWHERE;
    if (comparable) {
      found = match<SIDE>(key, tuple, theirs, output);
      key.stretch = stretch_of(row.timestamp, STRETCH);
      kept = mine.keep(key, tuple);
    }
    if (Spec::timeout_ns != 0 && !found) {
      mine.wait(tuple.number, {now + Spec::timeout_ns, kept, row});
      output.start_timer(now + Spec::timeout_ns, tuple.number);
    }
  }

  /// Pairs a tuple with those kept of the other side; whether there was a partner.
  template <int SIDE, class Kept, class Theirs>
  bool match(StretchKey& key, Kept& tuple, JoinSide<Theirs, Key>& theirs, OperatorOutput& output) {
    if (theirs.size() == 0) return false;
    const Microseconds from = earlier_by(tuple.timestamp, WITHIN);
    const Microseconds to = later_by(tuple.timestamp, WITHIN);
    const std::int64_t first = stretch_of(from, STRETCH), last = stretch_of(to, STRETCH);
    const std::uint64_t hash = key.key.hash();
    std::int64_t pairs = 0;
    for (key.stretch = first;; ++key.stretch) {
      const auto ends = theirs.ends(key, StretchKey::hash(hash, key.stretch));
      Place place = ends.first;
      if (key.stretch == first && place != NOWHERE) place = theirs.first_from(from, ends.last);
      for (; place != NOWHERE; place = theirs[place].after) {
        auto& partner = theirs[place];
        if (partner.timestamp > to) break;
        if (!pair<SIDE>(tuple.row, partner.row, tuple.timestamp, partner.timestamp, output)) {
          continue;
        }
        ++pairs;
        if (Spec::timeout_ns != 0) theirs.stop_waiting(partner.number, nullptr);
        if (Spec::limited_side >= 0) {
          std::int64_t& paired = SIDE == Spec::limited_side ? tuple.paired : partner.paired;
          if (++paired > Spec::most) ++beyond;
        }
      }
      if (key.stretch == last) break;
    }
    if (Spec::limited_side < 0 && Spec::most >= 0 && pairs > Spec::most) {
      beyond += pairs - Spec::most;
    }
    return pairs > 0;
  }

  template <int SIDE, class Mine, class Theirs>
  static bool pair(const Mine& mine, const Theirs& theirs, Microseconds my_time,
                   Microseconds their_time, OperatorOutput& output) {
    const Left* left;
    const Right* right;
    if constexpr (SIDE == 0) {
      left = &mine;
      right = &theirs;
    } else {
      left = &theirs;
      right = &mine;
    }
    if (!Spec::where(left, right)) return false;
    Out out{};
    Spec::columns(left, right, out);
    out.timestamp = my_time < their_time ? my_time : their_time;
    output.emit(&out);
    return true;
  }

  /// A tuple found no partner in time: it goes out alone and leaves the window.
  template <int SIDE, class Row>
  static bool alone(std::int64_t number, JoinSide<Row, Key>& mine, OperatorOutput& output) {
    typename JoinSide<Row, Key>::Waiting waiting;
    if (!mine.stop_waiting(number, &waiting)) return false;
    if (mine.is_kept(waiting.kept, number)) mine.remove(waiting.kept);
    Out out{};
    if constexpr (SIDE == 0) {
      Spec::columns(&waiting.row, nullptr, out);
    } else {
      Spec::columns(nullptr, &waiting.row, out);
    }
    out.timestamp = waiting.row.timestamp;
    output.emit(&out);
    return true;
  }

  template <class Row>
  static void save_side(StateWriter& writer, const JoinSide<Row, Key>& side) {
    save_count(writer, side.size());
    for (Place place = 0; place < side.places(); ++place) {
      if (!side.used(place)) continue;
      writer.put(side[place].number);
      writer.put(side[place].paired);
      save_value(writer, side[place].row);
    }
    const auto& waiting = side.waiting();
    save_count(writer, waiting.size());
    for (Place place = waiting.first(); place != NOWHERE; place = waiting.after(place)) {
      writer.put(waiting.key(place).number);
      writer.put(waiting[place].at);
      save_value(writer, waiting[place].row);
    }
  }

  template <int SIDE, class Row>
  bool load_side(StateReader& reader, JoinSide<Row, Key>& side) {
    std::uint32_t count = 0;
    if (!load_count(reader, count)) return false;
    for (; count > 0; --count) {
      typename JoinSide<Row, Key>::Kept tuple{};
      if (!reader.get(tuple.number) || !reader.get(tuple.paired)) return false;
      if (!load_value(reader, tuple.row)) return false;
      tuple.timestamp = tuple.row.timestamp;
      StretchKey key{};
      if (!key_of<SIDE>(tuple.row, key.key)) return false;
      key.stretch = stretch_of(tuple.timestamp, STRETCH);
      if (tuple.number < 0 || tuple.number >= arrivals_) return false;
      if (tuple.paired < 0 || tuple.paired > arrivals_) return false;
      if (side.find(key, tuple.number) != NOWHERE) return false;
      if (side.keep(key, tuple) == NOWHERE) return false;
    }
    if (!load_count(reader, count)) return false;
    for (; count > 0; --count) {
      std::int64_t number = 0;
      typename JoinSide<Row, Key>::Waiting tuple{};
      if (!reader.get(number) || !reader.get(tuple.at)) return false;
      if (!load_value(reader, tuple.row) || number < 0 || number >= arrivals_) return false;
      StretchKey key{};
      tuple.kept = NOWHERE;
      if (key_of<SIDE>(tuple.row, key.key)) {
        key.stretch = stretch_of(tuple.row.timestamp, STRETCH);
        tuple.kept = side.find(key, number);
      }
      if (!side.wait(number, tuple)) return false;
    }
    return true;
  }

  JoinSide<Left, Key> left_;
  JoinSide<Right, Key> right_;
  std::int64_t arrivals_ = 0;
  Microseconds watermark_ = NO_TIME;
};

}  // namespace headway
