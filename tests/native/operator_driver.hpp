// Drives one operator by commands from standard input and writes what it does to standard output.
//
// Each command is a letter and its arguments; each answer a letter and what belongs to it. The
// other half is operator_driver.py.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "headway/operator.hpp"

namespace driver {

using headway::Nanoseconds;
using headway::Port;

inline std::vector<unsigned char> input;
inline std::size_t place = 0;

inline void read(void* bytes, std::size_t count) {
  if (count > input.size() - place) std::exit(3);
  if (count > 0) std::memcpy(bytes, input.data() + place, count);
  place += count;
}

template <class T>
T get() {
  T value;
  read(&value, sizeof value);
  return value;
}

inline void write(const void* bytes, std::size_t count) { std::fwrite(bytes, 1, count, stdout); }

template <class T>
void put(const T& value) {
  write(&value, sizeof value);
}

class Log final : public headway::OperatorOutput {
 public:
  std::size_t out_bytes = 0;
  std::vector<std::size_t> in_bytes;

  void emit(const void* row) override {
    put('e');
    write(row, out_bytes);
  }
  void drop(headway::DropKind kind, headway::Reason reason, std::int64_t detail, Port port,
            const void* row) override {
    put('d');
    put(kind);
    put(reason);
    put(detail);
    put(port);
    // Without a port it is a result that its stream cannot hold.
    write(row, port == headway::NO_PORT ? out_bytes : in_bytes[port]);
  }
  void start_timer(Nanoseconds at, std::int64_t token) override {
    put('t');
    put(at);
    put(token);
  }
};

class Bytes final : public headway::StateWriter, public headway::StateReader {
 public:
  std::vector<unsigned char> bytes;
  std::size_t next = 0;

  void write(const void* from, std::size_t count) override {
    const auto* const first = static_cast<const unsigned char*>(from);
    bytes.insert(bytes.end(), first, first + count);
  }
  bool read(void* to, std::size_t count) override {
    if (count > bytes.size() - next) return false;
    if (count > 0) std::memcpy(to, bytes.data() + next, count);
    next += count;
    return true;
  }
};

/// A batch in memory of its own, so that reading beyond a row is found.
class Batch {
 public:
  headway::Batch batch;
  std::vector<std::vector<headway::Gathered*>> by_port;

  Batch(const Log& log, std::uint32_t count) : by_port(log.in_bytes.size()) {
    for (; count > 0; --count) {
      const Port port = get<Port>();
      const bool late = get<std::uint8_t>() != 0;
      void* const memory = std::malloc(headway::Gathered::ROW_OFFSET + log.in_bytes[port]);
      auto* const tuple = new (memory) headway::Gathered{nullptr, port, late};
      read(tuple->row(), log.in_bytes[port]);
      if (batch.last[port] == nullptr) {
        batch.first[port] = tuple;
      } else {
        batch.last[port]->next = tuple;
      }
      batch.last[port] = tuple;
      by_port[port].push_back(tuple);
      ++batch.items;
    }
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  ~Batch() {
    for (const auto& tuples : by_port) {
      for (headway::Gathered* tuple : tuples) std::free(tuple);
    }
  }
};

/// Runs all commands. Two operators take turns: one saves, the other loads and goes on.
template <class Operator>
int run(std::vector<std::size_t> in_bytes, std::size_t out_bytes) {
  for (int byte = std::getchar(); byte != EOF; byte = std::getchar()) {
    input.push_back(static_cast<unsigned char>(byte));
  }
  static Operator operators[2];
  std::vector<std::byte> memory[2];
  for (int one = 0; one < 2; ++one) {
    memory[one].resize(headway::aligned(Operator::arena_bytes()) + headway::ALIGNMENT);
    headway::Arena arena(memory[one].data(), Operator::arena_bytes());
    operators[one].open(arena);
    if (!headway::GROWS && arena.left() != 0) return 4;
  }
  Operator* one = &operators[0];
  Log log;
  log.in_bytes = in_bytes;
  log.out_bytes = out_bytes;
  while (place < input.size()) {
    const char command = get<char>();
    put('.');
    if (command == 'a') {
      const Port port = get<Port>();
      const bool late = get<std::uint8_t>() != 0;
      const auto now = get<Nanoseconds>();
      // A copy of exactly its size, which is gone afterwards.
      void* const row = std::malloc(in_bytes[port]);
      read(row, in_bytes[port]);
      one->accept(port, row, now, late, log);
      std::free(row);
    } else if (command == 'w') {
      one->advance(get<std::int64_t>(), log);
    } else if (command == 'f') {
      one->finish(log);
    } else if (command == 'x') {
      const auto token = get<std::int64_t>();
      one->expire(token, get<Nanoseconds>(), log);
    } else if (command == 'o') {
      put('n');
      put(one->output_watermark(get<std::int64_t>()));
    } else if (command == 'n') {
      put('n');
      put(one->next_due());
    } else if (command == 'b') {
      put('n');
      put(one->beyond);
    } else if (command == 'g') {
      const auto now = get<Nanoseconds>();
      const bool timed_out = get<std::uint8_t>() != 0;
      const bool by_item = get<std::uint8_t>() != 0;
      const Batch batch(log, get<std::uint32_t>());
      if constexpr (std::is_base_of_v<headway::GatheringOperator, Operator>) {
        if (by_item) {
          one->begin(batch.batch, now, timed_out);
          for (const auto& tuples : batch.by_port) {
            for (const headway::Gathered* tuple : tuples) one->item(*tuple, log);
          }
          one->end(now, log);
        } else {
          one->execute(batch.batch, static_cast<std::uint32_t>(in_bytes.size()), now, timed_out,
                       log);
        }
      }
    } else if (command == 's') {
      Bytes state;
      one->save(state);
      const std::int64_t beyond = one->beyond;
      one = one == &operators[0] ? &operators[1] : &operators[0];
      const bool loaded = one->load(state);
      one->beyond = beyond;
      put('l');
      put(static_cast<std::uint8_t>(loaded && state.next == state.bytes.size()));
      put(static_cast<std::uint32_t>(state.bytes.size()));
      write(state.bytes.data(), state.bytes.size());
    } else if (command == 'l') {
      Bytes state;
      state.bytes.resize(get<std::uint32_t>());
      read(state.bytes.data(), state.bytes.size());
      put('n');
      put(static_cast<std::int64_t>(one->load(state) ? 1 : 0));
    } else {
      return 5;
    }
  }
  return 0;
}

}  // namespace driver
