// Just as much of JSON as greetings and a launcher's words need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace headway {

inline bool same_text(const char* left, const char* right) { return std::strcmp(left, right) == 0; }

/// A flat object of texts and numbers, as greetings are; members that nobody asks for are passed
/// over. What it does not understand is not believed.
class FlatJson {
 public:
  FlatJson(const std::uint8_t* text, std::size_t count)
      : text_(reinterpret_cast<const char*>(text)), count_(count) {}

  /// The text of a member, without its quotes; false if there is none of that name.
  bool find(const char* name, const char*& text, std::size_t& size) {
    return member(name, text, size) && was_text_;
  }

  bool find_number(const char* name, std::int64_t& number) {
    const char* text = nullptr;
    std::size_t size = 0;
    if (!member(name, text, size) || was_text_ || size == 0 || size > 19) return false;
    std::size_t place = text[0] == '-' ? 1 : 0;
    std::int64_t value = 0;
    if (place == size) return false;
    for (; place < size; ++place) {
      const int digit = text[place] - '0';
      if (digit < 0 || digit > 9 || value > (INT64_MAX - digit) / 10) return false;
      value = value * 10 + digit;
    }
    number = text[0] == '-' ? -value : value;
    return true;
  }

 private:
  bool member(const char* name, const char*& text, std::size_t& size) {
    at_ = 0;
    bool found = false;
    if (!past('{')) return false;
    skip();
    if (at_ < count_ && text_[at_] == '}') return false;
    while (true) {
      const char* key = nullptr;
      std::size_t key_size = 0;
      const char* value = nullptr;
      std::size_t value_size = 0;
      if (!quoted(key, key_size) || !past(':')) return false;
      skip();
      const bool is_text = at_ < count_ && text_[at_] == '"';
      if (is_text ? !quoted(value, value_size) : !plain(value, value_size)) return false;
      // The last member of a name counts, as in Python.
      if (key_size == std::strlen(name) && std::memcmp(key, name, key_size) == 0) {
        text = value;
        size = value_size;
        was_text_ = is_text;
        found = true;
      }
      skip();
      if (at_ >= count_) return false;
      const char next = text_[at_++];
      if (next == '}') break;
      if (next != ',') return false;
    }
    skip();
    return found && at_ == count_;
  }

  void skip() {
    while (at_ < count_ &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
      ++at_;
    }
  }

  bool past(char sign) {
    skip();
    if (at_ >= count_ || text_[at_] != sign) return false;
    ++at_;
    return true;
  }

  /// A text without escapes: names, hashes and nonces have none.
  bool quoted(const char*& text, std::size_t& size) {
    if (!past('"')) return false;
    const std::size_t first = at_;
    while (at_ < count_ && text_[at_] != '"') {
      if (text_[at_] == '\\') return false;
      ++at_;
    }
    if (at_ >= count_) return false;
    text = text_ + first;
    size = at_ - first;
    ++at_;
    return true;
  }

  bool plain(const char*& text, std::size_t& size) {
    const std::size_t first = at_;
    while (at_ < count_ && text_[at_] != ',' && text_[at_] != '}') {
      if (text_[at_] == '{' || text_[at_] == '[' || text_[at_] == '"') return false;
      ++at_;
    }
    std::size_t end = at_;
    while (end > first && (text_[end - 1] == ' ' || text_[end - 1] == '\n')) --end;
    text = text_ + first;
    size = end - first;
    return size > 0;
  }

  const char* text_;
  std::size_t count_;
  std::size_t at_ = 0;
  bool was_text_ = false;
};

}  // namespace headway
