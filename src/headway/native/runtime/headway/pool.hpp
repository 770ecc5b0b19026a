// Plain values that are taken and given back, each with a place that stays its own.
//
// Unlike Slots it speaks in small numbers, so that a pool can grow while others keep the places.
#pragma once

#include "headway/key_table.hpp"

namespace headway {

template <class T>
class Pool {
  struct Slot {
    Place next_free;
    T item;
  };

 public:
  static constexpr std::size_t bytes(std::size_t capacity) { return List<Slot>::bytes(capacity); }
  void open(Arena& arena, std::size_t capacity) { slots_.open(arena, capacity); }

  /// A place, its item as `T{}`; NOWHERE when all are taken.
  Place take() {
    Place place = free_;
    if (place != NOWHERE) {
      free_ = slots_[place].next_free;
    } else {
      if (!slots_.push(Slot{})) return NOWHERE;
      place = static_cast<Place>(slots_.size() - 1);
    }
    slots_[place] = Slot{NOWHERE, T{}};
    ++taken_;
    return place;
  }

  void give(Place place) {
    slots_[place].next_free = free_;
    free_ = place;
    --taken_;
  }

  void clear() {
    slots_.clear();
    free_ = NOWHERE;
    taken_ = 0;
  }

  T& operator[](Place place) { return slots_[place].item; }
  const T& operator[](Place place) const { return slots_[place].item; }
  std::size_t taken() const { return taken_; }
  /// How many more find room.
  std::size_t room() const { return (GROWS ? NOWHERE : slots_.capacity()) - taken_; }

 private:
  List<Slot> slots_;
  Place free_ = NOWHERE;
  std::size_t taken_ = 0;
};

}  // namespace headway
