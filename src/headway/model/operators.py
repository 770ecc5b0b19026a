"""The operators of a query: frozen values that say what is computed, never how."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from headway.model.expression import Column, Expression
from headway.model.names import ImportPath, Name, StreamName
from headway.model.quantities import Cost
from headway.model.schema import Schema

# ------------------------------------------------------------
# What every operator has: a name, inputs, a cost, a selectivity, perhaps a timeout.

ONLY_PORT = "input"
"""The port of an operator with one input; a Union's ports are ``input1``, ``input2``, ..."""


class Gather(StrEnum):
    """When an operator with a timeout runs."""

    ALL = "all"
    """As soon as every input has a tuple; at the latest when the timeout is over."""
    TIME = "time"
    """When the timeout is over, always: it collects for that long after the first tuple."""


@dataclass(frozen=True, slots=True)
class Input:
    """A stream entering an operator through a named port."""

    port: Name
    stream: StreamName


@dataclass(frozen=True, kw_only=True)
class OperatorBase:
    """The common part of all operators. An operator's output stream carries the operator's name.

    ``selectivity`` is the long-run mean of outputs per input, used for loads; ``most_outputs`` is
    the most a single input can cause, used for promises. A ``timeout`` (nanoseconds) bounds how
    long an operator with several inputs waits for the others once one is there."""

    name: StreamName
    inputs: tuple[Input, ...]
    cost: Cost | None = None
    selectivity: float = 1.0
    most_outputs: int = 1
    timeout: int | None = None

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams it reads, in port order."""
        return tuple(port.stream for port in self.inputs)


# ------------------------------------------------------------
# Filter: passes the tuples for which a condition is true (not false, not NULL).


@dataclass(frozen=True, kw_only=True)
class Filter(OperatorBase):
    where: Expression
    kind: Literal["filter"] = "filter"


# ------------------------------------------------------------
# Map: computes columns from the columns of one tuple.


@dataclass(frozen=True, kw_only=True)
class Map(OperatorBase):
    """``keep`` leaves the other columns in place (``set``); otherwise only ``columns`` remain."""

    columns: tuple[Column, ...]
    keep: bool = False
    kind: Literal["map"] = "map"


# ------------------------------------------------------------
# Union: merges streams of one schema, tuple by tuple.


@dataclass(frozen=True, kw_only=True)
class Union(OperatorBase):
    kind: Literal["union"] = "union"


# ------------------------------------------------------------
# Join: pairs tuples of two streams that are close in sensing time and agree on keys.
#
# An output takes the older of both timestamps. With a timeout, a tuple that found no partner in
# that time goes out alone, the other side NULL; without one it is an inner join.


@dataclass(frozen=True, kw_only=True)
class Join(OperatorBase):
    """Pairs with ``|t_left - t_right| <= within`` whose ``keys`` (left column, right column) are
    equal.

    ``where`` narrows further; expressions name columns by port: ``radar.x + own.x``. Without
    ``columns`` all columns of both sides go out. ``partners`` (port, n) declares that a tuple of
    that port finds at most n partners: so many pairs come of it in all, whichever side comes
    last."""

    within: int
    keys: tuple[tuple[Name, Name], ...] = ()
    where: Expression | None = None
    columns: tuple[Column, ...] = ()
    partners: tuple[Name, int] | None = None
    kind: Literal["join"] = "join"


# ------------------------------------------------------------
# Aggregate: groups the tuples of a window of sensing time by keys.
#
# Windows are aligned to the epoch: ``[k * every, k * every + window)``. A window closes when no
# tuple of it can come any more: every source's newest timestamp has passed its end by the
# source's lateness, or the input has ended. The output takes the oldest timestamp of its group.


@dataclass(frozen=True, kw_only=True)
class Aggregate(OperatorBase):
    """``every`` equal to ``window`` tumbles, a smaller one slides. Output: the keys, then
    ``columns``."""

    window: int
    every: int
    by: tuple[Name, ...] = ()
    columns: tuple[Column, ...]
    kind: Literal["aggregate"] = "aggregate"


# ------------------------------------------------------------
# User-defined operators: a Python class that both engines run.


Parameter = bool | int | float | str


@dataclass(frozen=True, kw_only=True)
class UserDefined(OperatorBase):
    """``implementation`` is ``module:Class``. With a timeout the class is called when every input
    has a tuple or the time is up; without one it is called for each tuple as it comes."""

    implementation: ImportPath
    schema: Schema
    gather: Gather = Gather.ALL
    parameters: tuple[tuple[Name, Parameter], ...] = ()
    kind: Literal["udo"] = "udo"


# ------------------------------------------------------------
# The sensor data fusion operator (SDFO, AEDSMS section 5.7): a user-defined operator with a front
# window of inputs (by object and sensor) and a rear window of its own outputs (by object).


@dataclass(frozen=True, kw_only=True)
class Fusion(OperatorBase):
    """``object_key`` and ``sensor_key`` are columns that every input has, or None: a single
    object, and the input port as the sensor. ``front`` and ``rear`` are the windows' lengths of
    sensing time."""

    implementation: ImportPath
    schema: Schema
    front: int
    rear: int
    object_key: Name | None = None
    sensor_key: Name | None = None
    gather: Gather = Gather.ALL
    parameters: tuple[tuple[Name, Parameter], ...] = ()
    kind: Literal["fusion"] = "fusion"


# ------------------------------------------------------------
# The operators of a query, one file each.
#
# A new operator is a file here and an entry in ``Operator`` and ``OPERATORS``; then the
# compiler's ``infer``, the file format and each engine get a small file of their own.


Operator = Filter | Map | Union | Join | Aggregate | UserDefined | Fusion
OPERATORS: dict[str, type[OperatorBase]] = {
    "filter": Filter,
    "map": Map,
    "union": Union,
    "join": Join,
    "aggregate": Aggregate,
    "udo": UserDefined,
    "fusion": Fusion,
}
