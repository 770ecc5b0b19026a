// The files of a build that a node with links reads: addresses (deployment.json), the nodes' key.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "headway/greeting.hpp"
#include "headway/node_options.hpp"

namespace headway {

/// Where the build's own files lie if nobody says so: the program is NODE/bin/NODE in its folder.
inline void fill_paths(NodeOptions& options) {
  char own[MOST_PATH];
  const ssize_t length = ::readlink("/proc/self/exe", own, sizeof own - 1);
  std::size_t end = length < 0 ? 0 : static_cast<std::size_t>(length);
  for (int level = 0; level < 3; ++level) {
    while (end > 0 && own[end - 1] != '/') --end;
    if (end > 0) --end;
  }
  own[end] = '\0';
  if (options.deployment[0] == '\0') {
    std::snprintf(options.deployment, MOST_PATH, "%.900s/deployment.json", own);
  }
  if (options.key[0] == '\0') std::snprintf(options.key, MOST_PATH, "%.900s/nodes.key", own);
}

/// False, with a message, when there is none, when it is damaged or when others can read it.
inline bool read_key(const char* path, std::uint8_t (&key)[KEY_BYTES]) {
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  struct stat about{};
  std::uint8_t read[KEY_BYTES + 1];
  const char* problem = nullptr;
  if (descriptor < 0 || ::fstat(descriptor, &about) != 0) {
    problem = "cannot read the key of the nodes; take nodes.key from the folder of the build";
  } else if ((about.st_mode & 077) != 0) {
    problem =
        "others can read the key of the nodes; build again, or if nobody has read it: chmod 600";
  } else if (::read(descriptor, read, sizeof read) != static_cast<ssize_t>(KEY_BYTES)) {
    problem = "not a key of 32 bytes; build again";
  } else {
    std::memcpy(key, read, KEY_BYTES);
  }
  if (descriptor >= 0) ::close(descriptor);
  if (problem != nullptr) std::fprintf(stderr, "%s: %s\n", path, problem);
  return problem == nullptr;
}

/// Where a node is found, and whether it is a native one.
struct PeerPlace {
  Address address;
  bool native = false;
  bool found = false;
};

/// Reads just as much of JSON as a deployment needs: members of objects, by name.
class DeploymentReader {
 public:
  DeploymentReader(const char* text, std::size_t size) : text_(text), size_(size) {}

  PeerPlace find(const char* node) {
    PeerPlace place;
    at_ = 0;
    if (!enter("nodes") || !enter(node)) return place;
    const std::size_t inside = at_;
    std::size_t from = 0;
    std::size_t length = 0;
    if (!text_member("address", from, length)) return place;
    place.found = parse_address(text_ + from, length, place.address);
    at_ = inside;
    place.native = text_member("target", from, length) &&
                   !(length == 6 && std::memcmp(text_ + from, "python", 6) == 0);
    return place;
  }

 private:
  /// From where an object begins: to the value of one of its members.
  bool go_to(const char* name) {
    skip_blank();
    if (!past('{')) return false;
    skip_blank();
    while (at_ < size_ && text_[at_] == '"') {
      std::size_t from = 0;
      std::size_t length = 0;
      if (!string(from, length)) return false;
      skip_blank();
      if (!past(':')) return false;
      skip_blank();
      if (length == std::strlen(name) && std::memcmp(text_ + from, name, length) == 0) return true;
      if (!skip_value()) return false;
      skip_blank();
      if (!past(',')) return false;
      skip_blank();
    }
    return false;
  }
  bool enter(const char* name) { return go_to(name) && at_ < size_ && text_[at_] == '{'; }
  bool text_member(const char* name, std::size_t& from, std::size_t& length) {
    return go_to(name) && string(from, length);
  }

  bool past(char sign) {
    if (at_ >= size_ || text_[at_] != sign) return false;
    ++at_;
    return true;
  }
  void skip_blank() {
    while (at_ < size_ && std::strchr(" \n\r\t", text_[at_]) != nullptr && text_[at_] != '\0')
      ++at_;
  }
  bool string(std::size_t& from, std::size_t& length) {
    if (!past('"')) return false;
    from = at_;
    while (at_ < size_ && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= size_) return false;
    length = at_ - from;
    ++at_;
    return true;
  }
  /// Over a value, however deep it is.
  bool skip_value() {
    std::size_t depth = 0;
    while (at_ < size_) {
      const char sign = text_[at_];
      if (sign == '"') {
        std::size_t from = 0;
        std::size_t length = 0;
        if (!string(from, length)) return false;
      } else if (sign == '{' || sign == '[') {
        ++depth;
        ++at_;
      } else if (sign == '}' || sign == ']') {
        if (depth == 0) return true;
        --depth;
        ++at_;
      } else if (sign == ',' && depth == 0) {
        return true;
      } else {
        ++at_;
      }
      if (depth == 0 && at_ < size_ && (text_[at_] == ',' || text_[at_] == '}')) return true;
    }
    return false;
  }

  const char* text_;
  std::size_t size_;
  std::size_t at_ = 0;
};

}  // namespace headway
