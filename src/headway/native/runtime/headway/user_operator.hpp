// Your own operator in C++: inherit, say what happens with a tuple, name the class in the query.
//
//   #include "headway/user_operator.hpp"
//   #include "streams.hpp"                        // the rows of your query's streams
//
//   class Smooth : public headway::UserOperator<drive::Speed, drive::Smoothed> {
//    public:
//     void start() override { weight_ = number("weight", 0.5); }
//     void process(const drive::Speed& row) override {
//       if (!row.v.known) return refuse(row);
//       mean_ += weight_ * (row.v.value - mean_);
//       drive::Smoothed out{};
//       out.v = headway::known(mean_);
//       emit(out);
//     }
//
//    private:
//     double weight_ = 0.5, mean_ = 0.0;
//   };
//
// An operator with several inputs inherits UserOperator<Inputs<Gps, Speed>, Out>, one type for each
// port in the query's order, and overrides `process` for each type. One with a timeout is given all
// tuples of a batch, port by port, between `before_tuples` and `after_tuples`.
//
// An operator with an optional part (`optional:` in the query) overrides `refine_piece`: its
// results wait for it as long as there is time, and go out as the last piece left them.
//
// State that must survive a restart: override `start` (first values), `save` and `load`, which
// reads what `save` wrote, in the same order. Without them the operator starts anew; and as it can
// serve one vehicle only, the tasks of Spark run its class in Python instead.
//
// No exceptions, no heap. What needs memory takes it in `open` from the arena and declares it as
// `static constexpr std::size_t arena_bytes()`.
#pragma once

#include <utility>

#include "headway/state.hpp"
#include "headway/value.hpp"

namespace headway {

// ---------------------------------------------------------------- what the query sets

/// One of `parameters:` in the query. A truth is 0 or 1; a text has no number.
struct Parameter {
  const char* name;
  double number;
  std::int64_t whole;
  const char* text;
};

struct UserSettings {
  const char* name = "";
  Span<Parameter> parameters{};
  /// Results for each tuple, at most; -1: not declared.
  std::int64_t most_outputs = -1;
};

// ---------------------------------------------------------------- inputs

/// The rows of an operator's ports, in order.
template <class... Rows>
struct Inputs {};

/// An operator that takes rows of this type; PLACE keeps ports of one type apart.
template <std::size_t PLACE, class Row>
class Takes {
 public:
  /// One tuple comes in.
  virtual void process(const Row& row) = 0;

 protected:
  ~Takes() = default;
};

namespace user_parts {

template <class In, class Places>
class TakesAll;

template <class... Rows, std::size_t... PLACES>
class TakesAll<Inputs<Rows...>, std::index_sequence<PLACES...>> : public Takes<PLACES, Rows>... {
 protected:
  static constexpr std::size_t PORTS = sizeof...(Rows);

  void process_row(Port port, const void* row) {
    ((PLACES == port
          ? static_cast<Takes<PLACES, Rows>&>(*this).process(*static_cast<const Rows*>(row))
          : void()),
     ...);
  }

  ~TakesAll() = default;
};

/// Of one type: all ports carry it.
template <class Row>
class TakesOne : public Takes<0, Row> {
 protected:
  void process_row(Port port, const void* row) {
    (void)port;
    static_cast<Takes<0, Row>&>(*this).process(*static_cast<const Row*>(row));
  }

  ~TakesOne() = default;
};

template <class In>
struct TakesOf {
  using Type = TakesOne<In>;
};
template <class... Rows>
struct TakesOf<Inputs<Rows...>> {
  using Type = TakesAll<Inputs<Rows...>, std::index_sequence_for<Rows...>>;
};

}  // namespace user_parts

// ---------------------------------------------------------------- the class to inherit

template <class In, class Out>
class UserOperator : public GatheringOperator, public user_parts::TakesOf<In>::Type {
 public:
  /// Before the first tuple and before a state is loaded: first values.
  virtual void start() {}
  /// Before the tuples of an execution, and after them.
  virtual void before_tuples() {}
  virtual void after_tuples() {}

  /// A piece of the optional part, after so many other pieces: makes the results of an execution
  /// better where they stand; `now()` is that of the execution. How many pieces are run depends on
  /// what else there is to do and on the deadline, so it may be none. False: nothing was left to
  /// do. On a node with several cores the pieces of two executions may alternate: what one needs
  /// from piece to piece stands in its rows.
  virtual bool refine_piece(WaitingRows<Out> results, std::uint32_t piece) {
    (void)results;
    (void)piece;
    return false;
  }

  void open(Arena& arena) override { (void)arena; }
  static constexpr std::size_t arena_bytes() { return 0; }
  void save(StateWriter& writer) const override { (void)writer; }
  bool load(StateReader& reader) override {
    (void)reader;
    return true;
  }

 protected:
  // -------------------------------------------------------------- to be used in `process`

  /// A result; it takes the timestamp of the execution's oldest tuple.
  void emit(Out& out) { emit_at(oldest_, out); }

  /// A result with a timestamp of its own. Outside an execution (an optional part only changes what
  /// is there) it is not taken, and counted as one beyond what is declared.
  void emit_at(Microseconds timestamp, Out& out) {
    if (output_ == nullptr) {
      ++beyond;
      return;
    }
    out.timestamp = timestamp;
    ++results_;
    output_->emit(&out);
  }

  /// A tuple it cannot use goes to the side output, with a number of your choice as the reason; in
  /// an optional part there is no tuple to refuse.
  template <class Row>
  void refuse(const Row& row, std::int64_t reason = 0) {
    if (output_ == nullptr) return;
    output_->drop(DropKind::FAILED, Reason::USER, reason, port_, &row);
  }

  /// A tuple that came too late to be used.
  template <class Row>
  void refuse_late(const Row& row) {
    if (output_ == nullptr) return;
    output_->drop(DropKind::LATE, Reason::FUSION_LATE, 0, port_, &row);
  }

  /// The engine's time, never the wall clock; the port of the tuple at hand; whether this execution
  /// runs because its timeout is over.
  Nanoseconds now() const { return now_; }
  Port port() const { return port_; }
  bool timed_out() const { return timed_out_; }

  /// A parameter of the query, by its name.
  double number(const char* name, double otherwise) const {
    const Parameter* const found = parameter(name);
    return found == nullptr ? otherwise : found->number;
  }
  std::int64_t whole(const char* name, std::int64_t otherwise) const {
    const Parameter* const found = parameter(name);
    return found == nullptr ? otherwise : found->whole;
  }
  bool truth(const char* name, bool otherwise) const { return whole(name, otherwise ? 1 : 0) != 0; }
  const char* text_of(const char* name, const char* otherwise) const {
    const Parameter* const found = parameter(name);
    return found == nullptr ? otherwise : found->text;
  }

  // -------------------------------------------------------------- what the kernel calls
 public:
  void configure(const UserSettings& settings) { settings_ = settings; }

  void accept(Port port, const void* row, Nanoseconds now, bool late,
              OperatorOutput& output) final {
    (void)late;
    prepare(now, false);
    items_ = 1;
    oldest_ = timestamp_of(row);
    take(port, row, output);
    end(now, output);
  }

  void begin(const Batch& batch, Nanoseconds now, bool timed_out) final {
    prepare(now, timed_out);
    items_ = batch.items;
    for (const Gathered* first : batch.first) {
      for (const Gathered* one = first; one != nullptr; one = one->next) {
        const Microseconds timestamp = timestamp_of(one->row());
        if (timestamp < oldest_) oldest_ = timestamp;
      }
    }
  }

  void item(const Gathered& tuple, OperatorOutput& output) final {
    take(tuple.port, tuple.row(), output);
  }

  void end(Nanoseconds now, OperatorOutput& output) final {
    now_ = now;
    output_ = &output;
    if (!begun_) before_tuples();
    after_tuples();
    const std::int64_t most = settings_.most_outputs * items_;
    if (settings_.most_outputs >= 0 && results_ > most) beyond += results_ - most;
    output_ = nullptr;
  }

  bool refine(InnerRow* results, std::uint32_t piece, Nanoseconds since) final {
    now_ = since;
    return refine_piece(WaitingRows<Out>(results), piece);
  }

  bool own_timestamps() const final { return true; }

 protected:
  ~UserOperator() = default;

 private:
  void prepare(Nanoseconds now, bool timed_out) {
    now_ = now;
    timed_out_ = timed_out;
    oldest_ = INT64_MAX;
    results_ = 0;
    begun_ = false;
  }

  void take(Port port, const void* row, OperatorOutput& output) {
    output_ = &output;
    port_ = port;
    if (!begun_) before_tuples();
    begun_ = true;
    this->process_row(port, row);
  }

  const Parameter* parameter(const char* name) const {
    for (const Parameter& one : settings_.parameters) {
      if (std::strcmp(one.name, name) == 0) return &one;
    }
    return nullptr;
  }

  UserSettings settings_;
  OperatorOutput* output_ = nullptr;
  Nanoseconds now_ = 0;
  Microseconds oldest_ = INT64_MAX;
  std::int64_t items_ = 0;
  std::int64_t results_ = 0;
  Port port_ = 0;
  bool timed_out_ = false;
  bool begun_ = false;
};

namespace user_parts {

template <class T>
inline constexpr bool is_base = false;
template <class In, class Out>
inline constexpr bool is_base<UserOperator<In, Out>> = true;

template <class Class>
Class class_of(void (Class::*save)(StateWriter&) const);

/// Whether a class, or one between it and UserOperator, has a `save` of its own: its type names the
/// class that it stands in. Where nobody may ask for it, it is not the public one of UserOperator.
template <class User, class = void>
inline constexpr bool has_save = true;
template <class User>
inline constexpr bool has_save<User, std::void_t<decltype(&User::save)>> =
    !is_base<decltype(class_of(&User::save))>;

}  // namespace user_parts

/// The user's class with what the query sets.
template <class User, const UserSettings& SETTINGS>
class Configured final : public User {
 public:
  Configured() { this->configure(SETTINGS); }

  void open(Arena& arena) override {
    User::open(arena);
    this->start();
  }

  bool saves() const override { return user_parts::has_save<User>; }

  bool load(StateReader& reader) override {
    this->start();
    return User::load(reader);
  }
};

}  // namespace headway
