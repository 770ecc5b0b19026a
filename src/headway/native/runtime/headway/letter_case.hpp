// Texts in capitals and in small letters, for all of Unicode: ß becomes SS, and a sigma at the end
// of a word is ς.
//
// Bytes that are no UTF-8 stay as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headway/letter_case_tables.hpp"
#include "headway/texts.hpp"
#include "headway/value.hpp"

namespace headway {

// ---------------------------------------------------------------- UTF-8

// A character and how many bytes it has; NO_CHARACTER for one byte that belongs to none.
struct Character {
  std::uint32_t point;
  std::size_t size;
};

constexpr std::uint32_t NO_CHARACTER = 0xFFFFFFFFU;

constexpr Character character_at(std::string_view text, std::size_t place) {
  const std::uint32_t first = static_cast<unsigned char>(text[place]);
  if (first < 0x80U) {
    return {first, 1};
  }
  const std::size_t size = first >= 0xF0U ? 4 : first >= 0xE0U ? 3 : 2;
  if (first < 0xC2U || first > 0xF4U || text.size() - place < size) {
    return {NO_CHARACTER, 1};
  }
  std::uint32_t point = first & (0x7FU >> size);
  for (std::size_t more = 1; more < size; ++more) {
    const std::uint32_t byte = static_cast<unsigned char>(text[place + more]);
    if ((byte & 0xC0U) != 0x80U) {
      return {NO_CHARACTER, 1};
    }
    point = point << 6U | (byte & 0x3FU);
  }
  return {point, size};
}

template <std::size_t N>
inline void append_character(Text<N>& text, std::uint32_t point) {
  char bytes[4];
  std::size_t size = 0;
  if (point < 0x80U) {
    bytes[size++] = static_cast<char>(point);
  } else if (point < 0x800U) {
    bytes[size++] = static_cast<char>(0xC0U | point >> 6U);
    bytes[size++] = static_cast<char>(0x80U | (point & 0x3FU));
  } else if (point < 0x10000U) {
    bytes[size++] = static_cast<char>(0xE0U | point >> 12U);
    bytes[size++] = static_cast<char>(0x80U | (point >> 6U & 0x3FU));
    bytes[size++] = static_cast<char>(0x80U | (point & 0x3FU));
  } else {
    bytes[size++] = static_cast<char>(0xF0U | point >> 18U);
    bytes[size++] = static_cast<char>(0x80U | (point >> 12U & 0x3FU));
    bytes[size++] = static_cast<char>(0x80U | (point >> 6U & 0x3FU));
    bytes[size++] = static_cast<char>(0x80U | (point & 0x3FU));
  }
  append(text, {bytes, size});
}

// ---------------------------------------------------------------- the tables

// The entry whose range may hold the point: the last that begins at or before it.
template <typename Entry, std::size_t COUNT>
constexpr const Entry* entry_before(const Entry (&entries)[COUNT], std::uint32_t point) {
  std::size_t low = 0;
  std::size_t high = COUNT;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (entries[middle].first <= point) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? nullptr : &entries[low - 1];
}

template <std::size_t COUNT>
constexpr bool is_among(const LetterRange (&ranges)[COUNT], std::uint32_t point) {
  const LetterRange* range = entry_before(ranges, point);
  return range != nullptr && point <= range->last;
}

// Appends what the letter becomes.
template <std::size_t N, std::size_t STEPS, std::size_t EXPANSIONS>
inline void append_changed(Text<N>& text, std::uint32_t point, const CaseStep (&steps)[STEPS],
                           const CaseExpansion (&expansions)[EXPANSIONS]) {
  const CaseStep* step = entry_before(steps, point);
  if (step != nullptr && point <= step->last && (point - step->first) % step->step == 0) {
    append_character(text, point + static_cast<std::uint32_t>(step->distance));
    return;
  }
  for (const CaseExpansion& expansion : expansions) {
    if (expansion.letter == point) {
      for (const std::uint32_t part : expansion.becomes) {
        if (part != 0) {
          append_character(text, part);
        }
      }
      return;
    }
  }
  append_character(text, point);
}

// ---------------------------------------------------------------- capitals

// N is at least three times the length.
template <std::size_t N>
inline Text<N> upper(std::string_view text) {
  Text<N> result{};
  for (std::size_t place = 0; place < text.size();) {
    const Character character = character_at(text, place);
    if (character.point == NO_CHARACTER) {
      append(result, text.substr(place, 1));
    } else if (character.point < 0x80U) {
      const bool small = character.point >= 'a' && character.point <= 'z';
      append_character(result, small ? character.point - ('a' - 'A') : character.point);
    } else {
      append_changed(result, character.point, UPPER_STEPS, UPPER_EXPANSIONS);
    }
    place += character.size;
  }
  return result;
}

// ---------------------------------------------------------------- small letters

constexpr std::uint32_t CAPITAL_SIGMA = 0x3A3U;
constexpr std::uint32_t FINAL_SIGMA = 0x3C2U;

// Whether the sigma at this place ends a word: a letter before it and none behind it, whatever
// marks stand between.
constexpr bool ends_word(std::string_view text, std::size_t place) {
  bool letter_before = false;
  for (std::size_t before = place; before > 0;) {
    --before;
    while (before > 0 && !begins_character(text[before])) {
      --before;
    }
    const std::uint32_t point = character_at(text, before).point;
    if (!is_among(CASE_IGNORABLE, point)) {
      letter_before = is_among(CASED, point);
      break;
    }
  }
  if (!letter_before) {
    return false;
  }
  std::size_t behind = place + character_at(text, place).size;
  while (behind < text.size()) {
    const Character character = character_at(text, behind);
    if (!is_among(CASE_IGNORABLE, character.point)) {
      return !is_among(CASED, character.point);
    }
    behind += character.size;
  }
  return true;
}

// N is at least one and a half times the length.
template <std::size_t N>
inline Text<N> lower(std::string_view text) {
  Text<N> result{};
  for (std::size_t place = 0; place < text.size();) {
    const Character character = character_at(text, place);
    if (character.point == NO_CHARACTER) {
      append(result, text.substr(place, 1));
    } else if (character.point < 0x80U) {
      const bool capital = character.point >= 'A' && character.point <= 'Z';
      append_character(result, capital ? character.point + ('a' - 'A') : character.point);
    } else if (character.point == CAPITAL_SIGMA && ends_word(text, place)) {
      append_character(result, FINAL_SIGMA);
    } else {
      append_changed(result, character.point, LOWER_STEPS, LOWER_EXPANSIONS);
    }
    place += character.size;
  }
  return result;
}

}  // namespace headway
