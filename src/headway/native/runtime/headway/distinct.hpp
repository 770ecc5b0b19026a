// Distinct: of the tuples with equal keys close in sensing time, the first to arrive.
//
// The twin of engine/operators/distinct.py. Results of one key lie more than `within` apart, so a
// stretch of `within + 1` microseconds holds at most one of them, and a table by key and stretch
// answers in three looks however much is kept.
//
// A Spec, generated from the query:
//
//   struct FirstSpec {
//     using In = V2v;
//     using Key = FirstKey;                     // hash(), ==, each(); NULL is a key like others
//     static constexpr Microseconds within_us = 1000000;
//     static constexpr std::size_t most_kept = 120;  // results within reach of tuples in time
//     static void key(const In& row, Key& key);
//   };
#pragma once

#include "headway/state.hpp"
#include "headway/time_window.hpp"

namespace headway {

template <class Spec>
class Distinct final : public Operator {
  using In = typename Spec::In;
  using Key = typename Spec::Key;
  using StretchKey = KeyAndStretch<Key>;

  static constexpr Microseconds WITHIN = Spec::within_us;
  static constexpr Microseconds STRETCH = later_by(WITHIN, 1);
  static constexpr std::size_t CAPACITY = Sweeper::capacity_for(Spec::most_kept);

 public:
  static constexpr std::size_t arena_bytes() {
    return KeyTable<StretchKey, Microseconds>::bytes(CAPACITY);
  }

  void open(Arena& arena) override { passed_.open(arena, CAPACITY); }

  void accept(Port port, const void* bytes, Nanoseconds now, bool late,
              OperatorOutput& output) override {
    (void)now;
    const In& row = *static_cast<const In*>(bytes);
    const Microseconds timestamp = row.timestamp;
    if (late || timestamp < watermark_) {
      output.drop(DropKind::LATE, late ? Reason::MARKED_LATE : Reason::OLDER_THAN_WATERMARK,
                  late ? 0 : watermark_, port, bytes);
      return;
    }
    StretchKey key{};
    Spec::key(row, key.key);
    if (passed_near(key, timestamp)) return;
    forget();
    if (!remember(key, timestamp)) {
      output.drop(DropKind::SHED, Reason::NO_ROOM, 0, port, bytes);
      return;
    }
    output.emit(bytes);
  }

  void advance(Microseconds watermark, OperatorOutput& output) override {
    (void)output;
    if (watermark > watermark_) watermark_ = watermark;
  }

  void tidy(Microseconds watermark) override {
    const Microseconds oldest = earlier_by(watermark, WITHIN);
    for (Place place = 0; place < passed_.places(); ++place) forget_if_before(place, oldest);
  }

  void save(StateWriter& writer) const override {
    writer.put(watermark_);
    save_count(writer, passed_.size());
    for (Place place = passed_.first(); place != NOWHERE; place = passed_.after(place)) {
      save_value(writer, passed_.key(place).key);
      writer.put(passed_[place]);
    }
  }

  bool load(StateReader& reader) override {
    passed_.clear();
    watermark_ = NO_TIME;
    std::uint32_t count = 0;
    if (!reader.get(watermark_) || !load_count(reader, count)) return false;
    for (; count > 0; --count) {
      StretchKey key{};
      Microseconds time = 0;
      if (!load_value(reader, key.key) || !reader.get(time)) return false;
      // Of a query that passed more (a shorter `within`) some are too near: the first stands.
      if (!passed_near(key, time) && !remember(key, time)) return false;
    }
    return true;
  }

 private:
  bool passed_near(StretchKey& key, Microseconds timestamp) {
    const Microseconds from = earlier_by(timestamp, WITHIN), to = later_by(timestamp, WITHIN);
    const std::int64_t last = stretch_of(to, STRETCH);
    const std::uint64_t hash = key.key.hash();
    for (key.stretch = stretch_of(from, STRETCH);; ++key.stretch) {
      const Place place = passed_.find(key, StretchKey::hash(hash, key.stretch));
      if (place != NOWHERE && from <= passed_[place] && passed_[place] <= to) return true;
      if (key.stretch == last) return false;
    }
  }

  bool remember(StretchKey& key, Microseconds timestamp) {
    key.stretch = stretch_of(timestamp, STRETCH);
    const Place place = passed_.insert(key);
    if (place == NOWHERE) return false;
    passed_[place] = timestamp;
    return true;
  }

  /// Forgets times that no tuple at or after the watermark can come near to.
  void forget() {
    if (watermark_ == NO_TIME) return;
    const Microseconds oldest = earlier_by(watermark_, WITHIN);
    sweeper_.sweep(passed_.places(),
                   [this, oldest](Place place) { forget_if_before(place, oldest); });
  }

  void forget_if_before(Place place, Microseconds oldest) {
    if (passed_.used(place) && passed_[place] < oldest) passed_.erase(place);
  }

  KeyTable<StretchKey, Microseconds> passed_;
  Sweeper sweeper_;
  Microseconds watermark_ = NO_TIME;
};

}  // namespace headway
