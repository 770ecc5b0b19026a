// Texts read as numbers and truth values, as SQL's CAST reads them; NULL where they are none.
//
// A number may have blanks and control characters around it. A double is written as in Java:
// decimal with an exponent, hexadecimal with a binary exponent, either with a suffix d or f, or in
// words.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "headway/value.hpp"

namespace headway {

// ---------------------------------------------------------------- pieces of text

constexpr bool is_blank(char character) { return static_cast<unsigned char>(character) <= 32U; }

constexpr bool is_blank_or_delete(char character) {
  return is_blank(character) || character == '\x7f';
}

constexpr std::string_view trimmed(std::string_view text, bool (*blank)(char)) {
  while (!text.empty() && blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && blank(text.back())) {
    text.remove_suffix(1);
  }
  return text;
}

constexpr bool is_digit(char character) { return character >= '0' && character <= '9'; }

constexpr char small_letter(char character) {
  return character >= 'A' && character <= 'Z' ? static_cast<char>(character + ('a' - 'A'))
                                              : character;
}

constexpr bool is_hexadecimal(char character) {
  const char small = small_letter(character);
  return is_digit(character) || (small >= 'a' && small <= 'f');
}

// Whether the text is this word, which is in small letters, whatever the text's capitals.
constexpr bool is_word(std::string_view text, std::string_view word) {
  if (text.size() != word.size()) {
    return false;
  }
  for (std::size_t place = 0; place < text.size(); ++place) {
    if (small_letter(text[place]) != word[place]) {
      return false;
    }
  }
  return true;
}

// Takes a sign off the front of the text; true for minus.
constexpr bool take_sign(std::string_view& text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative || (!text.empty() && text.front() == '+')) {
    text.remove_prefix(1);
  }
  return negative;
}

// ---------------------------------------------------------------- whole numbers

// Digits, of which those behind a point do not count; a point alone is zero.
constexpr Maybe<std::int64_t> parse_whole(std::string_view text, std::uint64_t most_negative) {
  text = trimmed(text, is_blank_or_delete);
  const bool negative = take_sign(text);
  const std::uint64_t most = negative ? most_negative : most_negative - 1U;
  std::uint64_t size = 0;
  bool too_large = false;
  std::size_t place = 0;
  for (; place < text.size() && is_digit(text[place]); ++place) {
    const std::uint64_t digit = static_cast<std::uint64_t>(text[place] - '0');
    too_large = too_large || size > (most - digit) / 10U;
    size = too_large ? 0U : size * 10U + digit;
  }
  const bool has_point = place < text.size() && text[place] == '.';
  if (place == 0 && !has_point) {
    return null<std::int64_t>();
  }
  for (place += has_point ? 1 : 0; place < text.size(); ++place) {
    if (!has_point || !is_digit(text[place])) {
      return null<std::int64_t>();
    }
  }
  return maybe(!too_large, static_cast<std::int64_t>(negative ? 0U - size : size));
}

constexpr Maybe<std::int32_t> parse_int(std::string_view text) {
  const Maybe<std::int64_t> parsed = parse_whole(text, std::uint64_t{1} << 31U);
  return maybe(parsed.known, static_cast<std::int32_t>(parsed.value));
}

constexpr Maybe<std::int64_t> parse_bigint(std::string_view text) {
  return parse_whole(text, std::uint64_t{1} << 63U);
}

// ---------------------------------------------------------------- real numbers

// A number as digits without a point and an exponent: the form in which every library reads it
// alike, whatever sign its locale puts between whole and fraction. No double depends on more digits
// than there is room for, but for whether any of the others is not zero.
struct WrittenNumber {
  static constexpr std::size_t MOST_DIGITS = 800;

  char digits[MOST_DIGITS + 24];
  std::size_t count;
  std::int64_t exponent;  // of the last digit: powers of ten, or powers of two for hexadecimal
  bool any_digit;

  constexpr void take(char digit, bool behind_point, std::int64_t step) {
    any_digit = true;
    if (count == 0 && digit == '0') {
      exponent -= behind_point ? step : 0;
    } else if (count < MOST_DIGITS) {
      digits[count] = digit;
      ++count;
      exponent -= behind_point ? step : 0;
    } else {
      if (digit != '0') {
        digits[MOST_DIGITS - 1] = '1';
      }
      exponent += behind_point ? 0 : step;
    }
  }
};

// The exponent behind an e or p: a sign and digits. Far beyond all numbers it stops to grow.
constexpr bool take_exponent(std::string_view& text, std::int64_t& exponent) {
  constexpr std::int64_t FAR = 1'000'000;
  text.remove_prefix(1);
  const bool negative = take_sign(text);
  if (text.empty() || !is_digit(text.front())) {
    return false;
  }
  std::int64_t size = 0;
  while (!text.empty() && is_digit(text.front())) {
    size = size < FAR ? size * 10 + (text.front() - '0') : size;
    text.remove_prefix(1);
  }
  exponent += negative ? -size : size;
  return true;
}

constexpr bool is_suffix(std::string_view text) {
  const char letter = text.empty() ? ' ' : small_letter(text.front());
  return text.empty() || (text.size() == 1 && (letter == 'd' || letter == 'f'));
}

// Takes digits with perhaps a point among them off the front of the text; whether there was one.
constexpr bool take_digits(std::string_view& text, WrittenNumber& number, bool (*is_one)(char),
                           std::int64_t step) {
  bool point = false;
  while (!text.empty() && (is_one(text.front()) || (text.front() == '.' && !point))) {
    if (text.front() == '.') {
      point = true;
    } else {
      number.take(text.front(), point, step);
    }
    text.remove_prefix(1);
  }
  return number.any_digit;
}

// The nearest double of a number whose digits and exponent are read.
inline double nearest(WrittenNumber& number, bool negative, std::string_view prefix, char mark) {
  char written[sizeof number.digits + 8];
  std::size_t size = 0;
  for (const char character : prefix) {
    written[size++] = character;
  }
  if (number.count == 0) {
    written[size++] = '0';
    number.exponent = 0;
  }
  for (std::size_t place = 0; place < number.count; ++place) {
    written[size++] = number.digits[place];
  }
  written[size++] = mark;
  char* end = std::to_chars(written + size, written + sizeof written - 1, number.exponent).ptr;
  *end = '\0';
  const double value = std::strtod(written, nullptr);
  return negative ? -value : value;
}

// `inf`, `infinity` and `nan` in any capitals; a sign before nan needs these: +NaN.
constexpr Maybe<double> parse_number_word(std::string_view text) {
  if (is_word(text, "nan") || text == "+NaN" || text == "-NaN") {
    return known(std::numeric_limits<double>::quiet_NaN());
  }
  const bool negative = take_sign(text);
  if (is_word(text, "inf") || is_word(text, "infinity")) {
    constexpr double INFINITE = std::numeric_limits<double>::infinity();
    return known(negative ? -INFINITE : INFINITE);
  }
  return null<double>();
}

inline Maybe<double> parse_double(std::string_view text) {
  constexpr std::int64_t BITS_OF_HEXADECIMAL_DIGIT = 4;
  text = trimmed(text, is_blank);
  std::string_view rest = text;
  const bool negative = take_sign(rest);
  WrittenNumber number;
  number.count = 0;
  number.exponent = 0;
  number.any_digit = false;
  if (rest.size() > 2 && rest[0] == '0' && small_letter(rest[1]) == 'x') {
    rest.remove_prefix(2);
    if (!take_digits(rest, number, is_hexadecimal, BITS_OF_HEXADECIMAL_DIGIT) || rest.empty() ||
        small_letter(rest.front()) != 'p' || !take_exponent(rest, number.exponent) ||
        !is_suffix(rest)) {
      return null<double>();
    }
    return known(nearest(number, negative, "0x", 'p'));
  }
  if (!take_digits(rest, number, is_digit, 1)) {
    return parse_number_word(text);
  }
  if (!rest.empty() && small_letter(rest.front()) == 'e' && !take_exponent(rest, number.exponent)) {
    return null<double>();
  }
  return is_suffix(rest) ? known(nearest(number, negative, "", 'e')) : null<double>();
}

// ---------------------------------------------------------------- truth values

constexpr Maybe<bool> parse_boolean(std::string_view text) {
  text = trimmed(text, is_blank_or_delete);
  for (const std::string_view word : {"t", "true", "y", "yes", "1"}) {
    if (is_word(text, word)) {
      return known(true);
    }
  }
  for (const std::string_view word : {"f", "false", "n", "no", "0"}) {
    if (is_word(text, word)) {
      return known(false);
    }
  }
  return null<bool>();
}

}  // namespace headway
