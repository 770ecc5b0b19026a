"""The contract's user-defined operators for compiled code: a header with a class for each of a
query's, typed by its streams, that does what ``users.hpp`` says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.contract.users import HERE

from headway.model.graph import graph_of
from headway.model.operators import Fusion, Operator, UserDefined
from headway.model.plan import Plan
from headway.native.cpp_names import identifier
from headway.native.cpp_program import streams_of_program
from headway.native.cpp_streams import Streams

WITH_TWINS = ("Batch", "Spread", "Change", "Remember")
HEADER = "contract_users.hpp"
USERS = Path(__file__).with_name("users.hpp")

_CLASS = """\
class {name} : public headway::UserOperator<{rows}, {out}> {{
 public:
  using Result = {out};
  using Base = headway::UserOperator<{rows}, {out}>;
  using Base::emit;
  using Base::emit_at;
  using Base::now;
  using Base::timed_out;

  void start() override {{ user_ = users::{does}(); }}
{processes}
  void after_tuples() override {{ user_.end<Result>(*this); }}
  void save(headway::StateWriter& writer) const override {{ user_.save(writer); }}
  bool load(headway::StateReader& reader) override {{ return user_.load(reader); }}

 private:
  users::{does} user_;
}};
"""
_FUSION = """
template <class Spec>
class {name}Fused final : public {name} {{
 public:
  void open(headway::Arena& arena) override {{
    {name}::open(arena);
    start();
  }}
}};
"""


def twin_of(operator: Operator) -> str:
    """The name of what it does, if that is there in C++."""
    if not isinstance(operator, UserDefined | Fusion):
        return ""
    module, _, name = (operator.implementation or "").partition(":")
    return name if module == HERE and name in WITH_TWINS else ""


@contextmanager
def with_twins(plan: Plan) -> Iterator[Plan]:
    """The plan with classes in C++ for its user-defined operators, which can be found as long as
    the context lasts."""
    operators = [one for one in plan.query.operators if twin_of(one)]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        space, streams = streams_of_program(plan.query.name, graph_of(plan.query), plan.schemas)
        text = ["#pragma once", '#include "streams.hpp"', '#include "users.hpp"']
        text += [_class(one, space, streams) for one in operators]
        (Path(folder) / HEADER).write_text("\n".join(text))
        (Path(folder) / "users.hpp").write_text(USERS.read_text())
        steps = tuple(map(_with_native, plan.query.operators))
        yield replace(plan, query=replace(plan.query, steps=steps))


def _with_native(operator: Operator) -> Operator:
    if not isinstance(operator, UserDefined | Fusion) or not twin_of(operator):
        return operator
    return replace(operator, native=f"{HEADER}:{_name(operator)}")


def _name(operator: Operator) -> str:
    fused = "Fused" if isinstance(operator, Fusion) else ""
    return f"user_{identifier(operator.name)}{fused}"


def _class(operator: Operator, space: str, streams: Streams) -> str:
    rows = [f"{space}::{streams.struct(port.stream)}" for port in operator.inputs]
    different = dict.fromkeys(
        f"{space}::{streams.struct(streams.shared[port.stream])}" for port in operator.inputs
    )
    name = _name(operator).removesuffix("Fused")
    text = _CLASS.format(
        name=name,
        rows=rows[0] if len(rows) == 1 else f"headway::Inputs<{', '.join(rows)}>",
        out=f"{space}::{streams.struct(operator.name)}",
        does=twin_of(operator),
        processes="\n".join(
            f"  void process(const {row}& row) override {{ user_.process(*this, row); }}"
            for row in different
        ),
    )
    return text + (_FUSION.format(name=name) if isinstance(operator, Fusion) else "")
