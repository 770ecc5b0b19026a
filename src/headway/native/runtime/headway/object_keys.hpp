// What tells objects and sensors apart in a fusion: a number, a text, or nothing at all.
#pragma once

#include "headway/state.hpp"
#include "headway/value.hpp"

namespace headway {

/// A whole number or a truth.
struct NumberKey {
  std::int64_t number;

  std::uint64_t hash() const { return key_hash(KEY_HASH_START, number); }
  bool operator==(const NumberKey& other) const { return number == other.number; }
  bool operator<(const NumberKey& other) const { return number < other.number; }
  template <class Self, class Visit>
  static bool each(Self& self, Visit& visit) {
    return visit(self.number);
  }
};

template <std::size_t N>
struct TextKey {
  Text<N> text;

  std::uint64_t hash() const { return key_hash(KEY_HASH_START, text); }
  bool operator==(const TextKey& other) const { return text == other.text; }
  bool operator<(const TextKey& other) const { return text.view() < other.text.view(); }
  template <class Self, class Visit>
  static bool each(Self& self, Visit& visit) {
    return visit(self.text);
  }
};

/// Where no column tells objects apart there is one.
struct SingleObject {
  std::uint64_t hash() const { return KEY_HASH_START; }
  bool operator==(const SingleObject&) const { return true; }
  bool operator<(const SingleObject&) const { return false; }
};

// ---------------------------------------------------------------- from columns

template <class T>
bool set_key(NumberKey& key, const Maybe<T>& column) {
  key.number = static_cast<std::int64_t>(column.value);
  return column.known;
}

/// The port itself, by its place among the ports' names.
inline bool set_key(NumberKey& key, std::int64_t rank) {
  key.number = rank;
  return true;
}

template <std::size_t N, std::size_t M>
bool set_key(TextKey<N>& key, const Maybe<Text<M>>& column) {
  key.text = text<N>(column.value.view());
  return column.known;
}

// ---------------------------------------------------------------- to columns: false if it has no
// room

inline bool put_key(Maybe<bool>& column, const NumberKey& key) {
  column = known(key.number != 0);
  return true;
}

inline bool put_key(Maybe<std::int32_t>& column, const NumberKey& key) {
  column = known(static_cast<std::int32_t>(key.number));
  return column.value == key.number;
}

inline bool put_key(Maybe<std::int64_t>& column, const NumberKey& key) {
  column = known(key.number);
  return true;
}

template <std::size_t N, std::size_t M>
bool put_key(Maybe<Text<N>>& column, const TextKey<M>& key) {
  column = known(text<N>(key.text.view()));
  return key.text.view().size() <= N;
}

}  // namespace headway
