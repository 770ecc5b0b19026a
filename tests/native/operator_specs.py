"""Specs of the native operators, as the code generator writes them, for the tests' operators."""

from __future__ import annotations

from tests.native.operator_driver import cpp_row

from headway.model.schema import Schema, schema

LEFT = schema(id="double", name="string(6)", x="int")
RIGHT = schema(key="double", called="string(6)", y="int")
PAIRS = schema(id="double", name="string(6)", x="int", key="double", called="string(6)", y="int")
ROWS = schema(id="double", name="string(6)", v="double")
MEANS = schema(id="double", name="string(6)", n="bigint", total="double", start="timestamp")

HEADERS = """
#include "operator_driver.hpp"
#include "headway/{header}.hpp"
using namespace headway;
"""

KEY = """
struct Key {
  Maybe<double> id;
  Maybe<Text<6>> name;
  std::uint64_t hash() const { return key_hash(key_hash(KEY_HASH_START, id), name); }
  bool operator==(const Key& other) const {
    return key_equal(id, other.id) && key_equal(name, other.name);
  }
  template <class Self, class Visit>
  static bool each(Self& self, Visit& visit) { return visit(self.id) && visit(self.name); }
};
"""

NO_KEY = """
struct Key {
  std::uint64_t hash() const { return KEY_HASH_START; }
  bool operator==(const Key&) const { return true; }
};
"""


def join_source(
    *,
    within_us: int,
    timeout_ns: int = 0,
    keys: bool = True,
    limited_side: int = -1,
    most: int = -1,
    where: str = "true",
    capacity: int = 0,
) -> str:
    key = """
  static bool left_key(const Left& row, Key& key) {
    key = {key_value(row.id), key_value(row.name)};
    return row.id.known && row.name.known;
  }
  static bool right_key(const Right& row, Key& key) {
    key = {key_value(row.key), key_value(row.called)};
    return row.key.known && row.called.known;
  }"""
    no_key = """
  static bool left_key(const Left&, Key&) { return true; }
  static bool right_key(const Right&, Key&) { return true; }"""
    return f"""{HEADERS.format(header="join")}
{cpp_row("LeftRow", LEFT)}
{cpp_row("RightRow", RIGHT)}
{cpp_row("PairRow", PAIRS)}
{KEY if keys else NO_KEY}
struct Spec {{
  using Left = LeftRow;
  using Right = RightRow;
  using Out = PairRow;
  using Key = ::Key;
  static constexpr Microseconds within_us = {within_us};
  static constexpr Nanoseconds timeout_ns = {timeout_ns};
  static constexpr int limited_side = {limited_side};
  static constexpr std::int64_t most = {most};
  static constexpr std::size_t most_left = {capacity}, most_right = {capacity};
  static constexpr std::size_t most_left_waiting = {capacity}, most_right_waiting = {capacity};
{key if keys else no_key}
  static bool where(const Left* left, const Right* right) {{
    (void)left;
    (void)right;
    return {where};
  }}
  static void columns(const Left* left, const Right* right, Out& out) {{
    if (left != nullptr) {{
      out.id = left->id;
      out.name = left->name;
      out.x = left->x;
    }}
    if (right != nullptr) {{
      out.key = right->key;
      out.called = right->called;
      out.y = right->y;
    }}
  }}
}};
int main() {{
  return driver::run<Join<Spec>>({{sizeof(LeftRow), sizeof(RightRow)}}, sizeof(PairRow));
}}
"""


def aggregate_source(*, window_us: int, every_us: int, keys: bool = True, capacity: int = 0) -> str:
    key = "key = {key_value(row.id), key_value(row.name)};" if keys else "(void)row; (void)key;"
    out = "out.id = key.id; out.name = key.name;" if keys else "(void)key;"
    output = MEANS if keys else NO_KEY_MEANS
    return f"""{HEADERS.format(header="aggregate")}
{cpp_row("Row", ROWS)}
{cpp_row("Mean", output)}
{KEY if keys else NO_KEY}
struct Total {{
  std::int64_t n;
  Maybe<double> total;
  template <class Self, class Visit>
  static bool each(Self& self, Visit& visit) {{ return visit(self.n) && visit(self.total); }}
}};
struct Spec {{
  using In = Row;
  using Out = Mean;
  using Key = ::Key;
  using State = Total;
  static constexpr Microseconds window_us = {window_us}, every_us = {every_us};
  static constexpr std::size_t most_groups = {capacity}, most_windows = {capacity};
  static void key(const In& row, Key& key) {{ {key} }}
  static void add(State& state, const In& row) {{
    ++state.n;
    if (row.v.known) state.total = known(state.total.value + row.v.value);
  }}
  static void result(const State& state, const Key& key, Microseconds start, Microseconds end,
                     Out& out) {{
    (void)end;
    {out}
    out.n = known(state.n);
    out.total = state.total;
    out.start = known(start);
  }}
}};
int main() {{
  return driver::run<Aggregate<Spec>>({{sizeof(Row)}}, sizeof(Mean));
}}
"""


NO_KEY_MEANS: Schema = schema(n="bigint", total="double", start="timestamp")


def distinct_source(*, within_us: int, keys: bool = True, capacity: int = 0) -> str:
    key = "key = {key_value(row.id), key_value(row.name)};" if keys else "(void)row; (void)key;"
    return f"""{HEADERS.format(header="distinct")}
{cpp_row("Row", ROWS)}
{KEY if keys else NO_KEY}
struct Spec {{
  using In = Row;
  using Key = ::Key;
  static constexpr Microseconds within_us = {within_us};
  static constexpr std::size_t most_kept = {capacity};
  static void key(const In& row, Key& key) {{ {key} }}
}};
int main() {{
  return driver::run<Distinct<Spec>>({{sizeof(Row)}}, sizeof(Row));
}}
"""
