// Texts: their length and parts in characters, texts joined, numbers and truth written as text.
//
// Characters are code points of UTF-8. Bytes that are no UTF-8 do no harm: whatever begins no
// character belongs to the one before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string_view>

#include "headway/value.hpp"

namespace headway {

constexpr bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

constexpr std::int32_t length(std::string_view text) {
  std::int32_t count = 0;
  for (const char byte : text) {
    count += begins_character(byte) ? 1 : 0;
  }
  return count;
}

// Where the character of that number begins, from byte `place` on; the end if there are fewer.
constexpr std::size_t skip_characters(std::string_view text, std::size_t place,
                                      std::int64_t count) {
  while (place < text.size() && count > 0) {
    ++place;
    while (place < text.size() && !begins_character(text[place])) {
      ++place;
    }
    --count;
  }
  return place;
}

// Positions count from 1, from the end when negative; 0 is as 1. The result lies in `text`.
constexpr std::string_view substring(
    std::string_view text, std::int32_t position,
    std::int32_t characters = std::numeric_limits<std::int32_t>::max()) {
  std::int64_t start = 0;
  if (position > 0) {
    start = std::int64_t{position} - 1;
  } else if (position < 0) {
    start = std::int64_t{length(text)} + position;
  }
  std::int64_t end = start + characters;
  if (end > std::numeric_limits<std::int32_t>::max()) {
    end = std::numeric_limits<std::int32_t>::max();
  }
  if (start < 0) {
    start = 0;
  }
  if (end <= start) {
    return {};
  }
  const std::size_t from = skip_characters(text, 0, start);
  const std::size_t to = skip_characters(text, from, end - start);
  return text.substr(from, to - from);
}

// Adds bytes to a text as far as there is room.
template <std::size_t N>
inline void append(Text<N>& text, std::string_view bytes) {
  const std::size_t room = N - text.size;
  const std::size_t size = bytes.size() < room ? bytes.size() : room;
  if (size > 0) {
    std::memcpy(text.bytes + text.size, bytes.data(), size);
    text.size = static_cast<std::uint16_t>(text.size + size);
  }
}

// The parts one after another; N is at least the sum of their lengths.
template <std::size_t N>
inline Text<N> concat(std::initializer_list<std::string_view> parts) {
  Text<N> result{};
  for (const std::string_view part : parts) {
    append(result, part);
  }
  return result;
}

// A whole number in decimal; N is at least 20, or 11 for a number of 32 bits.
template <std::size_t N>
inline Text<N> digits(std::int64_t value) {
  char written[20];
  std::size_t place = sizeof written;
  const std::uint64_t bits = static_cast<std::uint64_t>(value);
  std::uint64_t rest = value < 0 ? 0U - bits : bits;
  do {
    --place;
    written[place] = static_cast<char>('0' + static_cast<char>(rest % 10U));
    rest /= 10U;
  } while (rest > 0);
  if (value < 0) {
    --place;
    written[place] = '-';
  }
  return text<N>({written + place, sizeof written - place});
}

constexpr std::string_view truth_word(bool value) { return value ? "true" : "false"; }

}  // namespace headway
