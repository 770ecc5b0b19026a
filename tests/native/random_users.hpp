// The operators of tests/engine/users.py and tests/operators.py in C++. They take and give the rows
// of any stream with these columns.
#ifndef HEADWAY_TESTS_RANDOM_USERS_HPP
#define HEADWAY_TESTS_RANDOM_USERS_HPP

#include "headway/user_operator.hpp"

namespace random_users {

struct Row {
  std::int64_t timestamp;
  headway::Maybe<std::int32_t> k;
  headway::Maybe<double> v;
};

using TwoInputs = headway::Inputs<Row, Row>;

/// One row an execution: the key of the first tuple, the sum of all values.
class Merge : public headway::UserOperator<TwoInputs, Row> {
 public:
  void before_tuples() override { first_ = true; }
  void process(const Row& row) override {
    if (first_) sum_ = Row{0, row.k, headway::known(0.0)};
    first_ = false;
    sum_.v.value += row.v.value;
  }
  void after_tuples() override { emit(sum_); }

 private:
  bool first_ = true;
  Row sum_{};
};

/// One row for each tuple, with the oldest timestamp of the execution.
class PassAll : public headway::UserOperator<TwoInputs, Row> {
 public:
  void process(const Row& row) override {
    Row out = row;
    emit(out);
  }
};

/// Two rows for each tuple.
class Twice : public headway::UserOperator<Row, Row> {
 public:
  void process(const Row& row) override {
    for (int time = 0; time < 2; ++time) {
      Row out = row;
      emit(out);
    }
  }
};

struct Value {
  std::int64_t timestamp;
  headway::Maybe<double> v;
};

/// One row an execution: the first tuple of the first port that has one.
class PassOn : public headway::UserOperator<Value, Value> {
 public:
  void before_tuples() override { first_ = true; }
  void process(const Value& row) override {
    if (!first_) return;
    first_ = false;
    Value out = row;
    emit(out);
  }

 private:
  bool first_ = true;
};

}  // namespace random_users

#endif
