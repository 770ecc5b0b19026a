// What the user-defined operators of the contract's queries do, in C++: the twins of users.py. Rows
// have the columns timestamp, k and v. The classes themselves are written for the streams of each
// query by native_users.py.
#pragma once

#include "headway/user_operator.hpp"

namespace users {

inline std::int64_t floor_mod(std::int64_t value, std::int64_t by) {
  const std::int64_t rest = value % by;
  return rest < 0 ? rest + by : rest;
}

/// One row an execution: depends on all its tuples, their order, and the one before.
class Batch {
 public:
  template <class User, class Row>
  void process(User& user, const Row& row) {
    (void)user;
    last_ = (last_ * 3 + (row.k.known ? row.k.value : 0) + 1) % 1009;
    ++tuples_;
  }

  template <class Out, class User>
  void end(User& user) {
    const std::int64_t now = user.now();
    const std::int64_t microseconds = (now - floor_mod(now, 1000)) / 1000;
    const double value = static_cast<double>(last_ + floor_mod(microseconds, 13));
    Out out{};
    out.k = headway::known(static_cast<std::int32_t>(tuples_ % 3));
    out.v = headway::known(user.timed_out() ? -value : value);
    tuples_ = 0;
    user.emit(out);
  }

  void save(headway::StateWriter& writer) const { writer.put(last_); }
  bool load(headway::StateReader& reader) { return reader.get(last_); }

 private:
  std::int64_t last_ = 0;
  std::int64_t tuples_ = 0;
};

/// One row for each tuple, with timestamps of their own; keeps nothing.
class Spread {
 public:
  template <class User, class Row>
  void process(User& user, const Row& row) {
    typename User::Result out{};
    out.k = row.k;
    out.v = row.v;
    user.emit_at(row.timestamp, out);
  }

  template <class Out, class User>
  void end(User&) {}
  void save(headway::StateWriter&) const {}
  bool load(headway::StateReader&) { return true; }
};

/// Differences of neighbours: depends on the order of arrival.
class Change {
 public:
  template <class User, class Row>
  void process(User& user, const Row& row) {
    const std::int32_t key = row.k.known ? row.k.value : 0;
    const std::int32_t change = key - last_;
    last_ = key;
    if (change == 0) return;
    typename User::Result out{};
    out.k = row.k;
    out.v = row.v;
    user.emit(out);
    out.k = headway::known(change);
    out.v = headway::known(static_cast<double>(change));
    user.emit(out);
  }

  template <class Out, class User>
  void end(User&) {}
  void save(headway::StateWriter& writer) const { writer.put(last_); }
  bool load(headway::StateReader& reader) { return reader.get(last_); }

 private:
  std::int32_t last_ = 0;
};

/// Gives every third tuple with the timestamp of the first of the three: older than windows may
/// still wait for.
class Remember {
 public:
  template <class User, class Row>
  void process(User& user, const Row& row) {
    if (kept_ == 0) first_ = row.timestamp;
    if (++kept_ < 3) return;
    kept_ = 0;
    typename User::Result out{};
    out.k = row.k;
    out.v = row.v;
    user.emit_at(first_, out);
    out.v = headway::known(1.0);
    user.emit_at(row.timestamp, out);
  }

  template <class Out, class User>
  void end(User&) {}
  void save(headway::StateWriter& writer) const {
    writer.put(kept_);
    writer.put(first_);
  }
  bool load(headway::StateReader& reader) { return reader.get(kept_) && reader.get(first_); }

 private:
  std::int32_t kept_ = 0;
  headway::Microseconds first_ = 0;
};

}  // namespace users
