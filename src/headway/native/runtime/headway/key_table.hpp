// A table from keys to plain values, in fixed memory.
//
// The twin of a Python dict: what is kept is walked in the order in which it first came, and
// anything can be taken out. Entries have places (small numbers) that stay theirs as long as they
// are kept, also when the table grows; pointers are good until the next insertion.
//
// A key is a plain struct with `std::uint64_t hash() const` and `operator==`.
#pragma once

#include <cstdint>

#include "headway/storage.hpp"

namespace headway {

/// The place of an entry in a table or pool.
using Place = std::uint32_t;
inline constexpr Place NOWHERE = 0xFFFFFFFF;

/// The least power of two that is not below `count`.
constexpr std::size_t power_of_two(std::size_t count) {
  std::size_t power = 1;
  while (power < count) power *= 2;
  return power;
}

template <class Key, class Value>
class KeyTable {
 public:
  struct Entry {
    std::uint64_t hash;
    /// The next one with the same bucket, or the next free one.
    Place chain;
    /// The neighbours in order of insertion.
    Place before;
    Place after;
    bool used;
    Key key;
    Value value;
  };

  static constexpr std::size_t bytes(std::size_t capacity) {
    return List<Entry>::bytes(capacity) + List<Place>::bytes(power_of_two(capacity));
  }

  void open(Arena& arena, std::size_t capacity) {
    entries_.open(arena, capacity);
    buckets_.open(arena, power_of_two(capacity));
    spread(power_of_two(capacity));
  }

  Place find(const Key& key) const { return find(key, key.hash()); }

  Place find(const Key& key, std::uint64_t hash) const {
    if (buckets_.empty()) return NOWHERE;
    Place place = buckets_[bucket(hash)];
    while (place != NOWHERE) {
      const Entry& entry = entries_[place];
      if (entry.hash == hash && entry.key == key) break;
      place = entry.chain;
    }
    return place;
  }

  /// The place of a key that is not kept yet, its value as `Value{}`; NOWHERE without room.
  Place insert(const Key& key, std::uint64_t hash) {
    if (buckets_.empty()) return NOWHERE;
    if (GROWS && count_ >= buckets_.size()) spread(2 * buckets_.size());
    Place place = free_;
    if (place != NOWHERE) {
      free_ = entries_[place].chain;
    } else {
      if (!entries_.push(Entry{})) return NOWHERE;
      place = static_cast<Place>(entries_.size() - 1);
    }
    Place& head = buckets_[bucket(hash)];
    entries_[place] = Entry{hash, head, last_, NOWHERE, true, key, Value{}};
    head = place;
    (last_ == NOWHERE ? first_ : entries_[last_].after) = place;
    last_ = place;
    ++count_;
    return place;
  }

  Place insert(const Key& key) { return insert(key, key.hash()); }

  void erase(Place place) {
    Entry& entry = entries_[place];
    Place* link = &buckets_[bucket(entry.hash)];
    while (*link != place) link = &entries_[*link].chain;
    *link = entry.chain;
    (entry.before == NOWHERE ? first_ : entries_[entry.before].after) = entry.after;
    (entry.after == NOWHERE ? last_ : entries_[entry.after].before) = entry.before;
    entry.used = false;
    entry.chain = free_;
    free_ = place;
    --count_;
  }

  /// Takes as long as what is kept is much, however far the table has grown.
  void clear() {
    for (Place place = first_; place != NOWHERE; place = entries_[place].after) {
      buckets_[bucket(entries_[place].hash)] = NOWHERE;
    }
    entries_.clear();
    free_ = first_ = last_ = NOWHERE;
    count_ = 0;
  }

  /// The entries in order of insertion: from `first()` by `after(place)` to NOWHERE.
  Place first() const { return first_; }
  Place after(Place place) const { return entries_[place].after; }

  const Key& key(Place place) const { return entries_[place].key; }
  std::uint64_t hash(Place place) const { return entries_[place].hash; }
  Value& operator[](Place place) { return entries_[place].value; }
  const Value& operator[](Place place) const { return entries_[place].value; }
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }

  /// How many places were ever used, and whether one is now: for walks in no order.
  std::size_t places() const { return entries_.size(); }
  bool used(Place place) const { return entries_[place].used; }

  /// How many more find room.
  std::size_t room() const {
    if (GROWS) return NOWHERE - count_;
    return buckets_.empty() ? 0 : entries_.capacity() - count_;
  }

 private:
  std::size_t bucket(std::uint64_t hash) const {
    return static_cast<std::size_t>(hash) & (buckets_.size() - 1);
  }

  /// Lays out so many buckets, a power of two, or as many as there is memory for.
  void spread(std::size_t wanted) {
    buckets_.clear();
    while (buckets_.size() < wanted && buckets_.push(NOWHERE)) {
    }
    std::size_t buckets = wanted;
    while (buckets > buckets_.size()) buckets /= 2;
    buckets_.shorten(buckets);
    for (Place place = first_; place != NOWHERE; place = entries_[place].after) {
      Place& head = buckets_[bucket(entries_[place].hash)];
      entries_[place].chain = head;
      head = place;
    }
  }

  List<Entry> entries_;
  List<Place> buckets_;
  Place free_ = NOWHERE;
  Place first_ = NOWHERE;
  Place last_ = NOWHERE;
  std::size_t count_ = 0;
};

}  // namespace headway
