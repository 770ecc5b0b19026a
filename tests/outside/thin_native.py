"""``thin`` in native code: a class in C++, and what the query says of it as a Spec."""

from __future__ import annotations

from tests.outside.thin_kind import Thin

from headway.native.cpp_keys import key_struct
from headway.native.operator_code import STATEFUL, OperatorCode, WriteContext

HEADER = "thin.hpp"
CLASS = """\
// Passes every n-th tuple of each key.
#pragma once

#include "headway/key_table.hpp"
#include "headway/operator.hpp"
#include "headway/state.hpp"

namespace outside {

template <class Spec>
class Thin final : public headway::Operator {
 public:
  static constexpr std::size_t arena_bytes() { return Counts::bytes(Spec::most_keys); }

  void open(headway::Arena& arena) override { counts_.open(arena, Spec::most_keys); }

  void accept(headway::Port port, const void* bytes, headway::Nanoseconds, bool,
              headway::OperatorOutput& output) override {
    typename Spec::Key key{};
    Spec::key(*static_cast<const typename Spec::In*>(bytes), key);
    headway::Place place = counts_.find(key);
    if (place == headway::NOWHERE) place = counts_.insert(key);
    if (place == headway::NOWHERE) {
      output.drop(headway::DropKind::SHED, headway::Reason::NO_ROOM, 0, port, bytes);
      return;
    }
    counts_[place] = (counts_[place] + 1) % Spec::nth;
    if (counts_[place] == 0) output.emit(bytes);
  }

  void save(headway::StateWriter& writer) const override {
    headway::save_count(writer, counts_.size());
    for (headway::Place one = counts_.first(); one != headway::NOWHERE; one = counts_.after(one)) {
      headway::save_value(writer, counts_.key(one));
      writer.put(counts_[one]);
    }
  }

  bool load(headway::StateReader& reader) override {
    counts_.clear();
    std::uint32_t count = 0;
    if (!headway::load_count(reader, count)) return false;
    for (; count > 0; --count) {
      typename Spec::Key key{};
      std::uint32_t passed = 0;
      if (!headway::load_value(reader, key) || !reader.get(passed)) return false;
      const headway::Place place = counts_.insert(key);
      if (place == headway::NOWHERE) return false;
      counts_[place] = passed;
    }
    return true;
  }

 private:
  using Counts = headway::KeyTable<typename Spec::Key, std::uint32_t>;
  Counts counts_;
};

}  // namespace outside
"""


def write_thin(operator: Thin, context: WriteContext) -> OperatorCode:
    (row,) = context.inputs.values()
    key = key_struct(context.names.take_type(f"{context.type_name}Key"), [(row, operator.by)])
    spec = context.names.take_type(f"{context.type_name}Spec")
    fill = key.fill(row, operator.by, "key", "row") if operator.by else []
    given = "row, Key& key" if operator.by else "/*row*/, Key& /*key*/"
    kind = f"outside::Thin<{spec}>"
    return OperatorCode(
        kind=STATEFUL,
        text=(
            *key.lines(),
            "",
            f"struct {spec} {{",
            f"  using In = {row.name};",
            f"  using Key = {key.name};",
            f"  static constexpr std::uint32_t nth = {operator.nth};",
            "  static constexpr std::size_t most_keys = 64;",
            f"  static void key(const In& {given}) {{",
            *fill,
            "  }",
            "};",
            f"inline {kind} {context.function};",
        ),
        headers=frozenset({HEADER}),
        object=context.function,
        arena=f"{kind}::arena_bytes()",
        files={HEADER: CLASS},
    )
