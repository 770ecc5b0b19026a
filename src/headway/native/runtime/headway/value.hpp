// Values of columns: what may be NULL, texts of bounded length, and how values compare.
//
// A row is a plain struct; every column but its timestamp is a Maybe. The value of an unknown Maybe
// and the bytes of a Text behind its end are zero, so that equal columns have equal values in
// memory. (Padding between columns is whatever the compiler left there: compare rows column by
// column, with same() or key_equal(), never with memcmp.)
//
// Comparisons are SQL's: NaN equals NaN and is larger than every number. The byte order of UTF-8 is
// the order of the code points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <type_traits>

namespace headway {

// ---------------------------------------------------------------- NULL

// A value, or NULL where `known` is false; `value` is then zero.
template <typename T>
struct Maybe {
  T value;
  bool known;
};

template <typename T>
constexpr Maybe<T> known(const T& value) {
  return {value, true};
}

template <typename T>
constexpr Maybe<T> null() {
  return {T{}, false};
}

// The value where `is_known`, else NULL.
template <typename T>
constexpr Maybe<T> maybe(bool is_known, const T& value) {
  return is_known ? Maybe<T>{value, true} : Maybe<T>{T{}, false};
}

// Whether a condition is true, neither false nor NULL.
constexpr bool is_true(const Maybe<bool>& condition) { return condition.known && condition.value; }

// ---------------------------------------------------------------- texts

// UTF-8 of at most N bytes, held in place. Unused bytes are zero.
template <std::size_t N>
struct Text {
  static_assert(N >= 1 && N <= std::numeric_limits<std::uint16_t>::max(),
                "a text holds 1 to 65535 bytes");

  std::uint16_t size;
  char bytes[N];

  // Its bytes, good as long as the text itself is. A size beyond N (a damaged row) counts as N.
  constexpr std::string_view view() const { return {bytes, size < N ? size : N}; }

  static constexpr std::size_t capacity() { return N; }
};

// The text of these bytes. What does not fit is cut off at the end of a whole character.
template <std::size_t N>
inline Text<N> text(std::string_view bytes) {
  Text<N> result{};
  std::size_t size = bytes.size();
  if (size > N) {
    size = N;
    while (size > 0 && (static_cast<unsigned char>(bytes[size]) & 0xC0U) == 0x80U) {
      --size;
    }
  }
  result.size = static_cast<std::uint16_t>(size);
  if (size > 0) {
    std::memcpy(result.bytes, bytes.data(), size);
  }
  return result;
}

template <std::size_t N, std::size_t M>
constexpr bool operator==(const Text<N>& left, const Text<M>& right) {
  return left.view() == right.view();
}

template <std::size_t N, std::size_t M>
constexpr bool operator<=(const Text<N>& left, const Text<M>& right) {
  return left.view() <= right.view();
}

template <std::size_t N>
inline bool fits(std::string_view bytes) {
  return bytes.size() <= N;
}

// A column of text: the bytes where `is_known`, else NULL.
template <std::size_t N>
inline Maybe<Text<N>> maybe_text(bool is_known, std::string_view bytes) {
  return is_known ? Maybe<Text<N>>{text<N>(bytes), true} : null<Text<N>>();
}

// A column of text, without copying it.
template <std::size_t N>
constexpr Maybe<std::string_view> view(const Maybe<Text<N>>& column) {
  return maybe(column.known, column.value.view());
}

// ---------------------------------------------------------------- comparisons

template <typename T>
constexpr bool is_nan(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value != value;
  } else {
    return false;
  }
}

template <typename T>
constexpr bool equal(const T& left, const T& right) {
  return left == right || (is_nan(left) && is_nan(right));
}

template <typename T>
constexpr bool less_or_equal(const T& left, const T& right) {
  return left <= right || is_nan(right);
}

template <typename T>
constexpr bool less(const T& left, const T& right) {
  return !less_or_equal(right, left);
}

template <typename T>
constexpr bool not_equal(const T& left, const T& right) {
  return !equal(left, right);
}

template <typename T>
constexpr bool greater(const T& left, const T& right) {
  return less(right, left);
}

template <typename T>
constexpr bool greater_or_equal(const T& left, const T& right) {
  return less_or_equal(right, left);
}

// SQL's <=>: NULL is the same as NULL.
template <typename T>
constexpr bool same(const Maybe<T>& left, const Maybe<T>& right) {
  return left.known == right.known && (!left.known || equal(left.value, right.value));
}

// SQL's IN, for a list of constants.
template <typename T>
constexpr bool one_of(const T& value, std::initializer_list<T> options) {
  for (const T& option : options) {
    if (value == option) {
      return true;
    }
  }
  return false;
}

// ---------------------------------------------------------------- keys of joins and groups

// Values that are equal as keys, as one value: all NaN are one, and -0.0 is 0.0.
template <typename T>
constexpr T key_value(const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    return is_nan(value) ? std::numeric_limits<T>::quiet_NaN() : value + T{0};
  } else {
    return value;
  }
}

template <typename T>
constexpr Maybe<T> key_value(const Maybe<T>& value) {
  return maybe(value.known, key_value(value.value));
}

// Whether two values are the same key; of groups NULL is a key as well.
template <typename T>
constexpr bool key_equal(const T& left, const T& right) {
  return equal(left, right);
}

template <typename T>
constexpr bool key_equal(const Maybe<T>& left, const Maybe<T>& right) {
  return same(left, right);
}

// The hash of a key's parts, one after another: `hash = key_hash(hash, part)`. It is the same on
// every machine. Equal parts give equal hashes, whether they were normalised or not.
constexpr std::uint64_t KEY_HASH_START = 0x9E3779B97F4A7C15U;

constexpr std::uint64_t key_hash_bits(std::uint64_t hash, std::uint64_t bits) {
  hash ^= bits;
  hash *= 0xBF58476D1CE4E5B9U;
  hash ^= hash >> 29U;
  hash *= 0x94D049BB133111EBU;
  return hash ^ (hash >> 32U);
}

inline std::uint64_t key_hash(std::uint64_t hash, std::string_view bytes) {
  for (std::size_t start = 0; start < bytes.size(); start += sizeof(std::uint64_t)) {
    std::uint64_t bits = 0;
    for (std::size_t place = start; place < bytes.size() && place < start + 8; ++place) {
      bits = bits << 8U | static_cast<unsigned char>(bytes[place]);
    }
    hash = key_hash_bits(hash, bits);
  }
  return key_hash_bits(hash, bytes.size());
}

template <std::size_t N>
inline std::uint64_t key_hash(std::uint64_t hash, const Text<N>& part) {
  return key_hash(hash, part.view());
}

template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
inline std::uint64_t key_hash(std::uint64_t hash, T part) {
  if constexpr (std::is_floating_point_v<T>) {
    const double normal = static_cast<double>(key_value(part));
    std::uint64_t bits = 0;
    std::memcpy(&bits, &normal, sizeof bits);
    return key_hash_bits(hash, bits);
  } else {
    return key_hash_bits(hash, static_cast<std::uint64_t>(static_cast<std::int64_t>(part)));
  }
}

template <typename T>
inline std::uint64_t key_hash(std::uint64_t hash, const Maybe<T>& part) {
  return part.known ? key_hash(hash, part.value) : key_hash_bits(hash, 0x6E756C6CU);
}

static_assert(std::is_standard_layout_v<Maybe<double>> &&
              std::is_trivially_copyable_v<Maybe<double>>);
static_assert(std::is_standard_layout_v<Text<8>> && std::is_trivially_copyable_v<Text<8>>);
static_assert(std::numeric_limits<double>::is_iec559 && std::numeric_limits<float>::is_iec559,
              "numbers must be those of IEEE 754, as everywhere else in Headway");

}  // namespace headway
