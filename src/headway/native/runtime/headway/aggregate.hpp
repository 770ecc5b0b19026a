// Aggregate: groups in windows of sensing time, aligned to the epoch.
//
// The twin of engine/operators/aggregate.py: one state per group and open window
// [start, start + window). Closed windows go out by their end, their groups in the order of first
// arrival. A tuple that is not marked late but lies in windows that are closed counts only in those
// still open; if there is none it is late.
//
// A Spec, generated from the query:
//
//   struct MeanSpec {
//     using In = Speed;  using Out = Mean;
//     using Key = MeanKey;                      // hash(), ==, each(); NULL is a key like others
//     using State = MeanState;                  // `State{}` is an empty group
//     static constexpr Microseconds window_us = 1000000, every_us = 500000;
//     static constexpr std::size_t most_groups = 24;   // in all windows that can be open at once
//     static constexpr std::size_t most_windows = 4;
//     static void key(const In&, Key&);
//     static void add(State&, const In&);
//     static void result(const State&, const Key&, Microseconds window_start,
//                        Microseconds window_end, Out&);      // all columns but the timestamp
//   };
#pragma once

#include "headway/state.hpp"
#include "headway/time_window.hpp"

namespace headway {

template <class Spec>
class Aggregate final : public Operator {
  using In = typename Spec::In;
  using Out = typename Spec::Out;
  using Key = typename Spec::Key;
  using State = typename Spec::State;
  /// Of groups, the "stretch" is the start of their window.
  using GroupKey = KeyAndStretch<Key>;

  static constexpr Microseconds WINDOW = Spec::window_us;
  static constexpr Microseconds EVERY = Spec::every_us;
  static_assert(WINDOW > 0 && EVERY > 0, "windows have a length");

  struct Group {
    Microseconds oldest;
    /// The group that came next into the same window.
    Place next;
    State state;
  };
  struct Window {
    Microseconds start;
    /// Its groups in order of first arrival.
    Place first;
    Place last;
  };

 public:
  static constexpr std::size_t arena_bytes() {
    return KeyTable<GroupKey, Group>::bytes(Spec::most_groups) +
           List<Window>::bytes(Spec::most_windows);
  }

  void open(Arena& arena) override {
    groups_.open(arena, Spec::most_groups);
    windows_.open(arena, Spec::most_windows);
  }

  void accept(Port port, const void* bytes, Nanoseconds now, bool late,
              OperatorOutput& output) override {
    (void)now;
    const In& row = *static_cast<const In*>(bytes);
    const Microseconds timestamp = row.timestamp;
    Microseconds first = first_open(timestamp);
    const Microseconds last = floor_to(timestamp, EVERY);
    if (first < oldest_open_) first = oldest_open_;
    if (late || first > last) {
      output.drop(DropKind::LATE, late ? Reason::MARKED_LATE : Reason::WINDOWS_CLOSED, 0, port,
                  bytes);
      return;
    }
    GroupKey key{};
    Spec::key(row, key.key);
    const std::uint64_t hash = key.key.hash();
    if (!GROWS && !has_room(key, hash, first, last)) {
      output.drop(DropKind::SHED, Reason::NO_ROOM, 0, port, bytes);
      return;
    }
    for (Microseconds start = first;; start += EVERY) {
      key.stretch = start;
      const std::uint64_t group_hash = GroupKey::hash(hash, start);
      Place place = groups_.find(key, group_hash);
      if (place == NOWHERE) {
        place = new_group(key, group_hash, timestamp);
        if (place == NOWHERE) {
          output.drop(DropKind::SHED, Reason::NO_ROOM, 0, port, bytes);
          return;
        }
      }
      Group& group = groups_[place];
      if (timestamp < group.oldest) group.oldest = timestamp;
      Spec::add(group.state, row);
      if (is_last(start, last)) break;
    }
  }

  void advance(Microseconds watermark, OperatorOutput& output) override {
    const Microseconds oldest = first_open(watermark);
    if (oldest <= oldest_open_) return;
    oldest_open_ = oldest;
    std::size_t closed = 0;
    while (closed < windows_.size() && windows_[closed].start < oldest) ++closed;
    close(closed, output);
  }

  Microseconds next_due() const override {
    return oldest_open_ == NO_TIME ? NO_TIME : later_by(oldest_open_, WINDOW);
  }

  void finish(OperatorOutput& output) override { close(windows_.size(), output); }

  Microseconds output_watermark(Microseconds watermark) const override {
    return first_open(watermark);
  }

  void save(StateWriter& writer) const override {
    writer.put(oldest_open_);
    save_count(writer, windows_.size());
    for (const Window& window : windows_) {
      writer.put(window.start);
      std::size_t groups = 0;
      for (Place place = window.first; place != NOWHERE; place = groups_[place].next) ++groups;
      save_count(writer, groups);
      for (Place place = window.first; place != NOWHERE; place = groups_[place].next) {
        save_value(writer, groups_.key(place).key);
        writer.put(groups_[place].oldest);
        save_value(writer, groups_[place].state);
      }
    }
  }

  bool load(StateReader& reader) override {
    groups_.clear();
    windows_.clear();
    oldest_open_ = NO_TIME;
    if (load_windows(reader)) return true;
    groups_.clear();
    windows_.clear();
    oldest_open_ = NO_TIME;
    return false;
  }

 private:
  /// The start of the first window that ends after a moment.
  static Microseconds first_open(Microseconds time) {
    return later_by(floor_to(earlier_by(time, WINDOW), EVERY), EVERY);
  }

  /// Whether no window of a tuple starts after this one.
  static bool is_last(Microseconds start, Microseconds last) {
    const std::uint64_t apart =
        static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(start);
    return apart < static_cast<std::uint64_t>(EVERY);
  }

  /// The place of a window that starts then, or where it would stand; most are the newest.
  std::size_t window_place(Microseconds start) const {
    std::size_t place = windows_.size();
    while (place > 0 && windows_[place - 1].start >= start) --place;
    return place;
  }

  bool is_open(std::size_t place, Microseconds start) const {
    return place < windows_.size() && windows_[place].start == start;
  }

  /// Whether all that a tuple would open finds room: it counts in all of its windows or in none.
  bool has_room(GroupKey& key, std::uint64_t hash, Microseconds first, Microseconds last) const {
    constexpr std::size_t MOST_NEW = static_cast<std::size_t>(WINDOW / EVERY) + 1;
    if (groups_.room() >= MOST_NEW && windows_.capacity() - windows_.size() >= MOST_NEW) {
      return true;
    }
    std::size_t new_groups = 0, new_windows = 0;
    for (Microseconds start = first;; start += EVERY) {
      key.stretch = start;
      if (groups_.find(key, GroupKey::hash(hash, start)) == NOWHERE) {
        ++new_groups;
        if (!is_open(window_place(start), start)) ++new_windows;
      }
      if (is_last(start, last)) break;
    }
    return groups_.room() >= new_groups && windows_.capacity() - windows_.size() >= new_windows;
  }

  Place new_group(const GroupKey& key, std::uint64_t hash, Microseconds timestamp) {
    const std::size_t at = window_place(key.stretch);
    if (!is_open(at, key.stretch)) {
      if (!windows_.insert(at, Window{key.stretch, NOWHERE, NOWHERE})) return NOWHERE;
    }
    const Place place = groups_.insert(key, hash);
    if (place == NOWHERE) {
      if (windows_[at].first == NOWHERE) windows_.erase(at);
      return NOWHERE;
    }
    Window& window = windows_[at];
    groups_[place].oldest = timestamp;
    groups_[place].next = NOWHERE;
    (window.first == NOWHERE ? window.first : groups_[window.last].next) = place;
    window.last = place;
    return place;
  }

  /// The oldest windows go out.
  void close(std::size_t closed, OperatorOutput& output) {
    for (std::size_t at = 0; at < closed; ++at) {
      const Microseconds start = windows_[at].start;
      Place place = windows_[at].first;
      while (place != NOWHERE) {
        const Group& group = groups_[place];
        Out out{};
        Spec::result(group.state, groups_.key(place).key, start, later_by(start, WINDOW), out);
        out.timestamp = group.oldest;
        output.emit(&out);
        const Place next = group.next;
        groups_.erase(place);
        place = next;
      }
    }
    if (closed > 0) windows_.erase(0, closed);
  }

  bool load_windows(StateReader& reader) {
    std::uint32_t windows = 0;
    if (!reader.get(oldest_open_) || !load_count(reader, windows)) return false;
    for (; windows > 0; --windows) {
      GroupKey key{};
      std::uint32_t groups = 0;
      if (!reader.get(key.stretch) || !load_count(reader, groups) || groups == 0) return false;
      if (floor_to(key.stretch, EVERY) != key.stretch) return false;
      for (; groups > 0; --groups) {
        Microseconds oldest = 0;
        State state{};
        if (!load_value(reader, key.key) || !reader.get(oldest) || !load_value(reader, state)) {
          return false;
        }
        const std::uint64_t hash = key.hash();
        if (groups_.find(key, hash) != NOWHERE) return false;
        const Place place = new_group(key, hash, oldest);
        if (place == NOWHERE) return false;
        groups_[place].state = state;
      }
    }
    return true;
  }

  KeyTable<GroupKey, Group> groups_;
  /// By their start.
  List<Window> windows_;
  /// No window that starts before this is open any more.
  Microseconds oldest_open_ = NO_TIME;
};

}  // namespace headway
