"""A state taken up by a query that has changed: what both have goes on, the rest begins anew.

Sources and operators are known by their names; one keeps its state if all that the state has its
form from is the same (:mod:`headway.spark.state.state_sections`). What is new begins as if the
stream had begun now, what is gone takes its state with it. Timers go with their operators. This is
for both forms of states, Python's and those of compiled programs; neither becomes the other.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from headway.compiler.node_queries import on_one_node
from headway.engine.jobs import NEVER
from headway.errors import DataError
from headway.model.plan import Plan
from headway.native.program_layout import meaning_layout
from headway.spark.state.arrival_order import arrivals_of
from headway.spark.state.native_loop import vehicle_loop
from headway.spark.state.state_sections import (
    PYTHON_FORM,
    fingerprint_of,
    form_of,
    sections_of,
)
from headway.spark.state.vehicle_loops import Given, Ran
from headway.spark.state.vehicle_states import (
    NOT_YET,
    VehicleStates,
    fingerprint_of_state,
    states_from,
)
from headway.spark.state.vehicle_steps import held_schemas


@dataclass(frozen=True, slots=True)
class Migration:
    """The sources and operators that keep their state, those that begin anew (they are new, or
    their state would have another form) and those whose state goes."""

    kept: tuple[str, ...]
    begun: tuple[str, ...]
    dropped: tuple[str, ...]


def migration_of(old: Plan, new: Plan) -> Migration:
    """What becomes of the state of a query when another takes it up."""
    before = {(one.of_source, one.name): one.form for one in sections_of(old)}
    after = {(one.of_source, one.name): one.form for one in sections_of(new)}
    kept = [key for key, form in after.items() if before.get(key) == form]
    return Migration(
        kept=tuple(name for _, name in kept),
        begun=tuple(key[1] for key in after if key not in kept),
        dropped=tuple(key[1] for key in before if key not in kept),
    )


def migrated(old: Plan, new: Plan, state: bytes, program: bytes | None = None) -> bytes:
    """The state of the old query as one of the new. ``program`` is the new query's, where the state
    is that of a compiled one. DataError when it is no state of the old query, or the new one cannot
    go on in this form."""
    old, new = on_one_node(old), on_one_node(new)
    form = form_of(fingerprint_of_state(state))
    states = states_from(state, fingerprint_of(old, form))
    if form == PYTHON_FORM:
        program = None
    elif program is None:
        raise DataError(
            "the state is that of a compiled query, and the changed one is not compiled",
            want="a query that can be compiled, or a new checkpoint",
        )
    loop = vehicle_loop(new, program)
    kept = frozenset(migration_of(old, new).kept)
    nothing = arrivals_of([schema.empty_table() for schema in held_schemas(new)])

    def validated(engines: Any) -> Ran:
        """The engines take these states up and give them back, with their timers."""
        bounds = np.full(len(engines), -NEVER, dtype=np.int64)
        return loop.run(Given(nothing, engines, bounds))

    blank = validated(pa.array([b""], pa.large_binary())).engines[0].as_py()
    convert = _of_python(kept, blank) if program is None else _of_program(old, new, kept, blank)
    old_engines = states.engines.to_pylist()
    ran = validated(
        pa.array([convert(one) if one else b"" for one in old_engines], pa.large_binary())
    )
    engines = [  # a segment may say of a vehicle that it was forgotten, or that it has not begun
        after if before else before
        for before, after in zip(old_engines, ran.engines.to_pylist(), strict=True)
    ]
    return replace(
        _with_sources(states, old, new, kept),
        fingerprint=loop.fingerprint,
        timers=ran.timers,
        engines=pa.array(engines, pa.large_binary()),
    ).to_bytes()


def _with_sources(
    states: VehicleStates, old: Plan, new: Plan, kept: frozenset[str]
) -> VehicleStates:
    """How far each source was seen, and what is held of it, under its new number."""
    places = {source.name: place for place, source in enumerate(old.query.sources)}
    names = [source.name for source in new.query.sources]
    seen = np.full((len(states), len(names)), NOT_YET, dtype=np.int64)
    held = [schema.empty_table() for schema in held_schemas(new)]
    for place, name in enumerate(names):
        if name in kept:
            seen[:, place] = states.seen[:, places[name]]
            held[place] = states.held[places[name]]
    return replace(states, seen=seen, held=tuple(held))


Convert = Callable[[bytes], bytes]


# ---------------------------------------------------------------- Python's


def _of_python(kept: frozenset[str], blank: bytes) -> Convert:
    beginning = json.loads(blank)

    def convert(state: bytes) -> bytes:
        before = json.loads(state)
        after = {
            **before,
            **{
                part: {
                    name: before[part][name] if name in kept else value
                    for name, value in beginning[part].items()
                }
                for part in ("ingests", "operators")
            },
            "gathering": {
                name: value for name, value in before["gathering"].items() if name in kept
            },
            "events": [event for event in before["events"] if event[4] in kept],
        }
        return json.dumps(after, separators=(",", ":")).encode()

    return convert


# ---------------------------------------------------------------- a compiled program's

_SIZE = struct.Struct("<I")
_EVENT = struct.Struct("<qQBHqqB")
"""time, turn, what, place, number, root, whether somebody waits for it"""
_OF_SOURCE = 0
"""what happens: a source's shedder lets go; all else is of a unit"""


class _Section(NamedTuple):
    """``part``: of the kernel, a source, an operator, a batch that is gathered, or the timers."""

    part: str
    name: str = ""


class _Form(NamedTuple):
    """The sections of a program's states in their order; its sources; the heads of its units."""

    sections: tuple[_Section, ...]
    sources: tuple[str, ...]
    heads: tuple[str, ...]


def _form(plan: Plan) -> _Form:
    layout = meaning_layout(plan)
    units = layout.program.units
    sources = tuple(layout.graph.sources)
    return _Form(
        (
            _Section("kernel"),
            *(_Section("source", name) for name in sources),
            *(_Section("operator", name) for name in layout.stateful),
            *(_Section("batch", unit.head.name) for unit in units if unit.gathering is not None),
            _Section("timers"),
        ),
        sources,
        tuple(unit.head.name for unit in units),
    )


def _of_program(old: Plan, new: Plan, kept: frozenset[str], blank: bytes) -> Convert:
    before, after = _form(old), _form(new)
    beginning = _taken_apart(blank, after)

    def convert(state: bytes) -> bytes:
        parts = _taken_apart(state, before)
        found: list[bytes] = []
        for section in after.sections:
            if section.part == "timers":
                found.append(_timers(parts[section], before, after, kept))
            elif section.part == "kernel" or (section.name in kept and section in parts):
                found.append(parts[section])
            else:
                found.append(beginning[section])
        return b"".join([*(_SIZE.pack(len(part)) for part in found), *found])

    return convert


def _taken_apart(state: bytes, form: _Form) -> Mapping[_Section, bytes]:
    """First the sizes of all sections, then these."""
    header = _SIZE.size * len(form.sections)
    if len(state) < header:
        raise DataError("a damaged state", got=f"{len(state)} bytes")
    sizes = np.frombuffer(state, dtype="<u4", count=len(form.sections)).astype(np.int64)
    ends = (header + np.cumsum([0, *sizes])).tolist()
    if ends[-1] != len(state):
        raise DataError("a damaged state", got=f"{len(state)} bytes")
    return {
        section: state[start:end]
        for section, (start, end) in zip(form.sections, pairwise(ends), strict=True)
    }


def _timers(section: bytes, before: _Form, after: _Form, kept: frozenset[str]) -> bytes:
    """Those of what is kept, under its new number."""
    found: list[bytes] = []
    for time, turn, what, place, *rest in _EVENT.iter_unpack(section[_SIZE.size :]):
        then, now = ((one.sources if what == _OF_SOURCE else one.heads) for one in (before, after))
        name = then[place]
        if name in kept and name in now:
            found.append(_EVENT.pack(time, turn, what, now.index(name), *rest))
    return _SIZE.pack(len(found)) + b"".join(found)
