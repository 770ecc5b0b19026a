// Memory: everything is laid out once, before the first tuple, and nothing is asked of the heap
// afterwards.
//
// A container gets its capacity when it is opened and its memory from an Arena, a block whose size
// the generated program knows at compile time. What does not fit is refused, and whoever asked
// sheds and counts it. Built with HEADWAY_GROWS (simulations on a workstation, where no rate may
// be declared) a full container grows instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#if defined(HEADWAY_GROWS)
#include <cstdlib>
#endif

namespace headway {

#if defined(HEADWAY_GROWS)
inline constexpr bool GROWS = true;
#else
inline constexpr bool GROWS = false;
#endif

inline constexpr std::size_t ALIGNMENT = alignof(std::max_align_t);

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

#if defined(HEADWAY_GROWS)
/// What containers grew into: it is given back as a whole when a program is unloaded.
class GrownMemory {
  struct Block {
    Block* next;
    Block* before;
  };
  static constexpr std::size_t HEADER = aligned(sizeof(Block));

 public:
  /// Zeroed; null when the machine has none left.
  static void* take(std::size_t bytes) {
    Block* const block = static_cast<Block*>(std::calloc(1, HEADER + bytes));
    if (block == nullptr) return nullptr;
    block->next = first_;
    if (first_ != nullptr) first_->before = block;
    first_ = block;
    return reinterpret_cast<std::byte*>(block) + HEADER;
  }

  static void give(void* taken) {
    Block* const block = reinterpret_cast<Block*>(static_cast<std::byte*>(taken) - HEADER);
    (block->before == nullptr ? first_ : block->before->next) = block->next;
    if (block->next != nullptr) block->next->before = block->before;
    std::free(block);
  }

  static void give_all() {
    while (first_ != nullptr) {
      Block* const next = first_->next;
      std::free(first_);
      first_ = next;
    }
  }

 private:
  inline static Block* first_ = nullptr;
};
#endif

/// A view of a table.
template <class T>
struct Span {
  const T* items = nullptr;
  std::uint32_t count = 0;

  constexpr const T* begin() const { return items; }
  constexpr const T* end() const { return items + count; }
  constexpr const T& operator[](std::uint32_t place) const { return items[place]; }
  constexpr bool empty() const { return count == 0; }
};

template <class T, std::size_t N>
constexpr Span<T> span(const T (&table)[N]) {
  return {table, static_cast<std::uint32_t>(N)};
}

/// A block of memory that is handed out from its beginning and never taken back.
class Arena {
 public:
  Arena(std::byte* memory, std::size_t bytes) : next_(memory), left_(bytes) {}

  /// Memory for so many bytes, zeroed; null when the block is used up.
  void* take(std::size_t bytes) {
    const std::size_t whole = aligned(bytes);
    if (whole > left_) {
#if defined(HEADWAY_GROWS)
      return GrownMemory::take(whole);
#else
      return nullptr;
#endif
    }
    void* const taken = next_;
    next_ += whole;
    left_ -= whole;
    std::memset(taken, 0, whole);
    return taken;
  }

  std::size_t left() const { return left_; }

 private:
  std::byte* next_;
  std::size_t left_;
};

/// A list of plain values with a capacity.
template <class T>
class List {
  static_assert(std::is_trivially_copyable_v<T>, "only plain values are kept");

 public:
  static constexpr std::size_t bytes(std::size_t capacity) { return aligned(capacity * sizeof(T)); }

  void open(Arena& arena, std::size_t capacity) {
    items_ = static_cast<T*>(arena.take(capacity * sizeof(T)));
    capacity_ = items_ == nullptr ? 0 : capacity;
  }

  /// Whether there was room.
  bool push(const T& item) {
    if (count_ == capacity_ && !grow()) return false;
    items_[count_++] = item;
    return true;
  }

  /// Puts an item at a place, moving what stands there and after it.
  bool insert(std::size_t place, const T& item) {
    if (count_ == capacity_ && !grow()) return false;
    std::memmove(static_cast<void*>(items_ + place + 1), items_ + place,
                 (count_ - place) * sizeof(T));
    items_[place] = item;
    ++count_;
    return true;
  }

  void erase(std::size_t first, std::size_t how_many = 1) {
    std::memmove(static_cast<void*>(items_ + first), items_ + first + how_many,
                 (count_ - first - how_many) * sizeof(T));
    count_ -= how_many;
  }

  T pop() { return items_[--count_]; }
  void clear() { count_ = 0; }
  void shorten(std::size_t count) { count_ = count; }
  T& operator[](std::size_t place) { return items_[place]; }
  const T& operator[](std::size_t place) const { return items_[place]; }
  T* begin() { return items_; }
  T* end() { return items_ + count_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + count_; }
  T& back() { return items_[count_ - 1]; }
  std::size_t size() const { return count_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return count_ == 0; }
  bool full() const { return !GROWS && count_ == capacity_; }

 private:
  bool grow() {
#if defined(HEADWAY_GROWS)
    const std::size_t wanted = capacity_ < 8 ? 16 : 2 * capacity_;
    T* const larger = static_cast<T*>(GrownMemory::take(wanted * sizeof(T)));
    if (larger == nullptr) return false;
    if (count_ != 0) std::memcpy(static_cast<void*>(larger), items_, count_ * sizeof(T));
    if (grown_) GrownMemory::give(items_);
    items_ = larger;
    capacity_ = wanted;
    grown_ = true;
    return true;
#else
    return false;
#endif
  }

  T* items_ = nullptr;
  std::size_t count_ = 0;
  std::size_t capacity_ = 0;
#if defined(HEADWAY_GROWS)
  bool grown_ = false;
#endif
};

/// A queue in which the least item goes first. `T` has operator<. Each item stands before up to
/// four others, so that a long queue is not deep, and the four lie side by side.
template <class T>
class Heap {
 public:
  static constexpr std::size_t bytes(std::size_t capacity) { return List<T>::bytes(capacity); }
  void open(Arena& arena, std::size_t capacity) { items_.open(arena, capacity); }

  bool push(const T& item) {
    if (!items_.push(item)) return false;
    rise(items_.size() - 1, item);
    return true;
  }

  T pop() {
    const T least = items_[0];
    const T last = items_.pop();
    if (!items_.empty()) sink(0, last);
    return least;
  }

  /// Takes out the item at a place among all (`items`).
  T take(std::size_t place) {
    const T taken = items_[place];
    const T last = items_.pop();
    if (place == items_.size()) return taken;
    if (last < taken) {
      rise(place, last);
    } else {
      sink(place, last);
    }
    return taken;
  }

  const T& top() const { return items_[0]; }
  bool empty() const { return items_.empty(); }
  bool full() const { return items_.full(); }
  std::size_t size() const { return items_.size(); }
  void clear() { items_.clear(); }
  /// All items, in no order that means anything.
  List<T>& items() { return items_; }

 private:
  static constexpr std::size_t BEHIND = 4;

  void rise(std::size_t place, const T item) {
    T* const items = items_.begin();
    while (place > 0) {
      const std::size_t before = (place - 1) / BEHIND;
      if (!(item < items[before])) break;
      items[place] = items[before];
      place = before;
    }
    items[place] = item;
  }

  void sink(std::size_t place, const T item) {
    T* const items = items_.begin();
    const std::size_t count = items_.size();
    while (true) {
      const std::size_t first = BEHIND * place + 1;
      if (first >= count) break;
      const std::size_t end = first + BEHIND < count ? first + BEHIND : count;
      std::size_t least = first;
      for (std::size_t other = first + 1; other < end; ++other) {
        if (items[other] < items[least]) least = other;
      }
      if (!(items[least] < item)) break;
      items[place] = items[least];
      place = least;
    }
    items[place] = item;
  }

  List<T> items_;
};

/// Equal pieces of memory that are taken and given back.
class Slots {
 public:
  static constexpr std::size_t piece(std::size_t bytes) {
    return aligned(bytes < sizeof(void*) ? sizeof(void*) : bytes);
  }
  static constexpr std::size_t bytes(std::size_t slot_bytes, std::size_t capacity) {
    return piece(slot_bytes) * capacity;
  }

  void open(Arena& arena, std::size_t slot_bytes, std::size_t capacity) {
    piece_ = piece(slot_bytes);
    fresh_ = static_cast<std::byte*>(arena.take(piece_ * capacity));
    fresh_left_ = fresh_ == nullptr ? 0 : capacity;
  }

  /// A piece; null when all are taken.
  void* take() {
    if (free_ != nullptr) {
      void* const taken = free_;
      std::memcpy(&free_, taken, sizeof free_);
      ++taken_;
      return taken;
    }
    if (fresh_left_ == 0 && !grow()) return nullptr;
    void* const taken = fresh_;
    fresh_ += piece_;
    --fresh_left_;
    ++taken_;
    return taken;
  }

  void give(void* slot) {
    std::memcpy(slot, &free_, sizeof free_);
    free_ = slot;
    --taken_;
  }

  std::size_t taken() const { return taken_; }

 private:
  bool grow() {
#if defined(HEADWAY_GROWS)
    constexpr std::size_t MORE = 256;
    fresh_ = static_cast<std::byte*>(GrownMemory::take(MORE * piece_));
    fresh_left_ = fresh_ == nullptr ? 0 : MORE;
    return fresh_ != nullptr;
#else
    return false;
#endif
  }

  void* free_ = nullptr;
  std::byte* fresh_ = nullptr;
  std::size_t fresh_left_ = 0;
  std::size_t piece_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace headway
