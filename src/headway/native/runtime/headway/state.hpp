// Values as bytes of a snapshot, column by column, and back.
//
// Padding is never written, and nothing is taken that is no value: a truth that is neither 0 nor 1,
// a text longer than its column. A struct says what it consists of by a member
//
//   template <class Self, class Visit>
//   static bool each(Self& self, Visit& visit) { return visit(self.timestamp) && visit(self.v); }
//
// One without it is written as its bytes: then it must be without truths and pointers.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "headway/operator.hpp"
#include "headway/value.hpp"

namespace headway {

namespace state_parts {

/// A visitor, to find out whether a struct has `each`.
struct AnyVisitor {
  template <class T>
  bool operator()(T& part) const;
};

template <class T, class = void>
inline constexpr bool has_each = false;
template <class T>
inline constexpr bool
    has_each<T, std::void_t<decltype(T::each(std::declval<T&>(), std::declval<AnyVisitor&>()))>> =
        true;

}  // namespace state_parts

template <class T>
bool save_value(StateWriter& writer, const T& value);
template <class T>
bool load_value(StateReader& reader, T& value);

template <class T>
bool save_value(StateWriter& writer, const Maybe<T>& column) {
  save_value(writer, column.known);
  return column.known ? save_value(writer, column.value) : true;
}

template <class T>
bool load_value(StateReader& reader, Maybe<T>& column) {
  column = null<T>();
  if (!load_value(reader, column.known)) return false;
  return !column.known || load_value(reader, column.value);
}

template <std::size_t N>
bool save_value(StateWriter& writer, const Text<N>& text) {
  const std::string_view bytes = text.view();
  writer.put(static_cast<std::uint16_t>(bytes.size()));
  writer.write(bytes.data(), bytes.size());
  return true;
}

template <std::size_t N>
bool load_value(StateReader& reader, Text<N>& text) {
  text = Text<N>{};
  std::uint16_t size = 0;
  if (!reader.get(size) || size > N || !reader.read(text.bytes, size)) return false;
  text.size = size;
  return true;
}

/// Writes a value; always true, so that it can stand where `each` wants an answer.
template <class T>
bool save_value(StateWriter& writer, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    writer.put(static_cast<std::uint8_t>(value ? 1 : 0));
    return true;
  } else if constexpr (state_parts::has_each<T>) {
    auto visit = [&writer](const auto& part) { return save_value(writer, part); };
    return T::each(value, visit);
  } else {
    if constexpr (!std::is_empty_v<T>) writer.put(value);
    return true;
  }
}

/// Reads what `save_value` wrote; false when it is not there or is no such value.
template <class T>
bool load_value(StateReader& reader, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    std::uint8_t byte = 0;
    if (!reader.get(byte) || byte > 1) return false;
    value = byte == 1;
    return true;
  } else if constexpr (state_parts::has_each<T>) {
    value = T{};
    auto visit = [&reader](auto& part) { return load_value(reader, part); };
    return T::each(value, visit);
  } else {
    if constexpr (!std::is_empty_v<T>) return reader.get(value);
    return true;
  }
}

/// How many there are of something; the reader still has to find each of them.
inline void save_count(StateWriter& writer, std::size_t count) {
  writer.put(static_cast<std::uint32_t>(count));
}

inline bool load_count(StateReader& reader, std::uint32_t& count) { return reader.get(count); }

}  // namespace headway
