// The operators of tests/native/anytime_users.py in C++.
#ifndef HEADWAY_TESTS_ANYTIME_USERS_HPP
#define HEADWAY_TESTS_ANYTIME_USERS_HPP

#include "headway/user_operator.hpp"

namespace anytime_users {

struct Row {
  std::int64_t timestamp;
  headway::Maybe<double> v;
};

/// What its value asks for: 0 nothing, below 0 it refuses the tuple and gives one row, else so many
/// rows. A piece halves the way of each to 1, and adds a share of the time, `of_now`; there are as
/// many as `steps` says.
template <class Inputs>
class Refining : public headway::UserOperator<Inputs, Row> {
 public:
  void process(const Row& row) override {
    if (row.v.value < 0) this->refuse(row);
    const int rows = row.v.value < 0 ? 1 : static_cast<int>(row.v.value);
    for (int number = 0; number < rows; ++number) {
      Row out{0, headway::known(0.1 * number)};
      this->emit(out);
    }
  }

  bool refine_piece(headway::WaitingRows<Row> results, std::uint32_t piece) override {
    if (piece >= this->whole("steps", 0)) return false;
    const double now = this->number("of_now", 0.0) * static_cast<double>(this->now() % 1000);
    for (Row& row : results) row.v.value += (1.0 - row.v.value) / 2.0 + now;
    return true;
  }
};

using Anytime = Refining<Row>;
using AnytimeTogether = Refining<headway::Inputs<Row, Row>>;

}  // namespace anytime_users

#endif
