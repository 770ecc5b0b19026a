"""The operators of a query: frozen values that say what is computed, never how.

An operator also says of itself what others must know to place, bound and run it: its
:class:`Traits`, and what follows from its settings (how far back it looks, how many results one
tuple can cause). Compiler and engines ask these and never for the class, so that a kind they have
not heard of takes part; :mod:`headway.model.operator_kinds` says who implements it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Literal

from headway.errors import Problem
from headway.model.expression import Column, Expression
from headway.model.names import ImportPath, Name, NativePath, StreamName
from headway.model.quantities import Cost, OptionalPart, format_duration
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
class Clock:
    """The instants of a periodic activation: ``k * every + offset`` since the epoch, each displaced
    by its own part of ``jitter`` (nanoseconds). ``hold`` is how long a value is read after it
    came; ``holds`` by port, where they are unlike: then ``hold`` is the longest."""

    every: int
    offset: int
    jitter: int
    hold: int
    holds: tuple[tuple[str, int], ...] = ()

    def held(self, port: str) -> int:
        """How long a value of that port is read."""
        return next((time for name, time in self.holds if name == port), self.hold)

    def instant(self, number: int) -> int:
        """When the instant of that number is. Its displacement follows from the number alone, so
        it is the same in every run and on every engine."""
        return number * self.every + self.offset + _displacement(number, self.jitter)

    def first_from(self, time: int) -> int:
        """The number of the first instant at or after that time."""
        number = (time - self.offset - self.jitter) // self.every
        while self.instant(number) < time:
            number += 1
        return number


def _displacement(number: int, most: int) -> int:
    """Of 0 to ``most``, spread evenly over the numbers (the mixing of SplitMix64: Steele, Lea and
    Flood, doi:10.1145/2660193.2660195)."""
    if not most:
        return 0
    word = 0xFFFFFFFFFFFFFFFF
    mixed = (number + 1) * 0x9E3779B97F4A7C15 & word
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & word
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & word
    return (mixed ^ mixed >> 31) % (most + 1)


@dataclass(frozen=True, slots=True)
class Input:
    """A stream entering an operator through a named port."""

    port: Name
    stream: StreamName


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What all operators of a kind have in common. The default is that of a filter: it looks at one
    tuple, at once, whatever its mark."""

    keeps_state: bool = False
    """It remembers something between two tuples."""
    drops_late: bool = False
    """A tuple marked late at its source stays outside, and the operator is told how far time has
    come, so that it can forget."""
    emits_on_time: bool = False
    """Results go out when time has come far enough, with no tuple of their own: a window closes."""
    order_matters: bool = False
    """Which results there are depends on the order of arrival, not on tuples and marks alone."""
    passes_all: bool = False
    """Every tuple gives exactly one result, at once and of its own sensing time."""
    any_number: bool = False
    """How many results come of a tuple is for a class of the user to say: where ``most_outputs``
    is not declared, nothing bounds them."""


@dataclass(frozen=True, kw_only=True)
class OperatorBase:
    """The common part of all operators. An operator's output stream carries the operator's name.

    ``selectivity`` is the long-run mean of outputs per input, used for loads; ``most_outputs`` is
    the most a single input can cause, used for promises and looked at as the query runs; None
    where it follows from what the operator is, or is not known. A ``timeout`` (nanoseconds) bounds
    how long an operator with several inputs waits for the others once one is there."""

    name: StreamName
    inputs: tuple[Input, ...]
    cost: Cost | None = None
    selectivity: float = 1.0
    most_outputs: int | None = None
    timeout: int | None = None

    traits: ClassVar[Traits] = Traits()
    state_settings: ClassVar[frozenset[str] | None] = None
    """The settings that the form of its state follows from, besides the columns of its inputs; None
    where it is not known: then all of them. A state outlives a change of the others."""

    if TYPE_CHECKING:

        @property
        def kind(self) -> str:
            """Its key in files and plans; each class has it as its last field."""

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams it reads, in port order."""
        return tuple(port.stream for port in self.inputs)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """All that it computes of tuples."""
        return ()

    @property
    def looks_back(self) -> int:
        """How much older than the tuple that causes it a result can be (nanoseconds); for one that
        emits on time, how much older than the moment in sensing time at which it goes out."""
        return 0

    @property
    def windows_per_tuple(self) -> int:
        """In how many windows of output a tuple falls."""
        return 1

    @property
    def holds_for(self) -> int | None:
        """How long a single tuple is held for a partner before it goes out alone."""
        return None

    @property
    def gathering(self) -> Gather | None:
        """When it runs, if one execution takes all the tuples that have come; None if each tuple
        is an execution."""
        return None

    @property
    def clock(self) -> Clock | None:
        """The instants at which it runs, if it is time and not a tuple that makes it run: at each
        it takes the last tuple of every input. None for all others."""
        return None

    @property
    def optional_part(self) -> OptionalPart | None:
        """What it may do besides, while there is time."""
        return None

    @property
    def partner_limit(self) -> tuple[str, int] | None:
        """(port, n): all results are counted to the tuples of that port, at most n to each."""
        return None

    @property
    def declared_schema(self) -> Schema | None:
        """The schema of its output, where the query says it; None where it follows from the
        inputs'."""
        return None

    @property
    def makes_pairs(self) -> bool:
        """Whether results are pairs, of which one tuple can have many."""
        return False

    @property
    def partners_apart(self) -> int | None:
        """Where results are pairs and nothing is declared of their number: how far apart in sensing
        time two partners of one tuple can lie (nanoseconds). So many come of it as the other
        side's rate allows in that time."""
        return None

    def with_partners(self, port: str, most: int) -> OperatorBase:
        """The same with a :attr:`partner_limit`: a kind that says :attr:`partners_apart` gives it;
        without pairs there is nothing to limit."""
        assert self.partners_apart is None, f"{self.kind} has partners and takes no limit"
        return self

    @property
    def has_bound(self) -> bool:
        """Whether a bound on its results is declared, or follows from what it is."""
        return self.most_outputs is not None or not self.traits.any_number

    def most_results(self, stream: str) -> int:
        """Results charged to one tuple of an input stream: at most so many come of it, if it
        :attr:`has_bound`."""
        return (self.most_outputs or 1) * self.windows_per_tuple

    def problems(self) -> Iterator[Problem]:
        """What is wrong with its settings, whatever the schemas of its inputs; told from its own
        place."""
        return iter(())


# ------------------------------------------------------------
# Filter: passes the tuples for which a condition is true (not false, not NULL).


@dataclass(frozen=True, kw_only=True)
class Filter(OperatorBase):
    where: Expression
    kind: Literal["filter"] = "filter"

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.where,)


# ------------------------------------------------------------
# Map: computes columns from the columns of one tuple.


@dataclass(frozen=True, kw_only=True)
class Map(OperatorBase):
    """``keep`` leaves the other columns in place (``set``); otherwise only ``columns`` remain."""

    columns: tuple[Column, ...]
    keep: bool = False
    kind: Literal["map"] = "map"

    traits: ClassVar[Traits] = Traits(passes_all=True)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(column.value for column in self.columns)


# ------------------------------------------------------------
# Union: merges streams of one schema, tuple by tuple.


@dataclass(frozen=True, kw_only=True)
class Union(OperatorBase):
    kind: Literal["union"] = "union"

    traits: ClassVar[Traits] = Traits(passes_all=True)


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
    last. Where neither it nor ``most_outputs`` is declared, all tuples of the other side that can
    lie within reach count as partners, whatever their keys."""

    within: int
    keys: tuple[tuple[Name, Name], ...] = ()
    where: Expression | None = None
    columns: tuple[Column, ...] = ()
    partners: tuple[Name, int] | None = None
    kind: Literal["join"] = "join"

    traits: ClassVar[Traits] = Traits(keeps_state=True, drops_late=True)
    state_settings: ClassVar[frozenset[str] | None] = frozenset({"keys"})

    @property
    def expressions(self) -> tuple[Expression, ...]:
        where = () if self.where is None else (self.where,)
        return (*where, *(column.value for column in self.columns))

    @property
    def looks_back(self) -> int:
        """A pair is as old as its older half."""
        return self.within

    @property
    def holds_for(self) -> int | None:
        return self.timeout

    @property
    def optional_part(self) -> OptionalPart | None:
        """What it may do besides, while there is time."""
        return None

    @property
    def partner_limit(self) -> tuple[str, int] | None:
        return self.partners

    @property
    def makes_pairs(self) -> bool:
        return True

    @property
    def partners_apart(self) -> int | None:
        declared = self.partners is not None or self.most_outputs is not None
        return None if declared else 2 * self.within

    def with_partners(self, port: str, most: int) -> OperatorBase:
        return replace(self, partners=(port, most))

    def most_results(self, stream: str) -> int:
        """Pairs are charged to the port whose partners are limited, if one is. With a timeout a
        tuple that finds none goes out alone: then nothing else is charged to it."""
        alone = 1 if self.timeout is not None else 0
        if self.partners is None:
            return max(self.most_outputs or 1, alone)
        port, most = self.partners
        return max(alone, sum(most for i in self.inputs if i.stream == stream and i.port == port))

    def problems(self) -> Iterator[Problem]:
        ports = [port.port for port in self.inputs]
        if self.partners is not None:
            port, count = self.partners
            if port not in ports or count < 1:
                yield Problem(
                    "partners must name an input and a positive number",
                    at="partners",
                    got=f"{port}: {count}",
                    want=f"one of {', '.join(ports)}",
                )
        if len(ports) != 2:
            yield Problem("a join reads two streams", at="inputs", got=str(len(ports)))


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

    traits: ClassVar[Traits] = Traits(keeps_state=True, drops_late=True, emits_on_time=True)
    state_settings: ClassVar[frozenset[str] | None] = frozenset(
        {"window", "every", "by", "columns"}
    )

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return tuple(column.value for column in self.columns)

    @property
    def looks_back(self) -> int:
        """A result is as old as the oldest tuple of its group."""
        return self.window

    @property
    def windows_per_tuple(self) -> int:
        return -(-self.window // self.every)


# ------------------------------------------------------------
# Distinct: of the tuples with equal keys that are close in sensing time, the first to arrive.
#
# A tuple passes, at once and as it is, unless one of equal keys has passed whose sensing time is at
# most ``within`` from its own; so any two results of one key lie farther apart. NULL is a key like
# others. What did not pass suppresses nothing: a steady stream gives one tuple per ``within``, not
# one in all. A tuple marked late stays outside, and the times of results are forgotten when no
# tuple can come that near to them any more.


@dataclass(frozen=True, kw_only=True)
class Distinct(OperatorBase):
    """Without ``keys`` all tuples are alike."""

    keys: tuple[str, ...] = ()
    within: int
    kind: Literal["distinct"] = "distinct"

    traits: ClassVar[Traits] = Traits(keeps_state=True, drops_late=True, order_matters=True)
    state_settings: ClassVar[frozenset[str] | None] = frozenset({"keys"})

    def problems(self) -> Iterator[Problem]:
        if self.within < 0:
            yield Problem("a time window must not be negative", at="within")


# ------------------------------------------------------------
# Sample: reads the last value of its inputs at the instants of a clock (periodic activation).
#
# A value is what came last by a port, whatever its sensing time. At an instant every port's value
# is read that came at most ``hold`` before; one that came exactly at the instant is read, also as
# the result of an operator or of another sample at that instant, if it takes no time. If no port
# has such a value nothing goes out, and the clock rests until something comes. What is read stays:
# the next instant reads it again unless something newer has come. The result takes the oldest
# timestamp of what was read, because it says how old the data are; it is late if that tuple is.
# The processor time is spent after the instant: what comes meanwhile is for the next one.

HELD_UNLESS_SAID = 1_000_000_000
"""how long a value is read (ns) where no ``hold`` is declared and nothing promises when the next
one comes"""


@dataclass(frozen=True, kw_only=True)
class Sample(OperatorBase):
    """Every ``every``, at ``offset`` from its multiples since the epoch, at most ``jitter`` later.

    One input keeps its columns. Of several each column goes out as ``port_column``, NULL where the
    port has no value. Without ``hold`` the compiler fills in the longest time in which the next
    value must have come: see :mod:`headway.compiler.sampling`."""

    every: int
    offset: int = 0
    jitter: int = 0
    hold: int | None = None
    holds: tuple[tuple[Name, int], ...] = ()
    """by port, where not all are held alike"""
    kind: Literal["sample"] = "sample"

    traits: ClassVar[Traits] = Traits(keeps_state=True, order_matters=True)
    state_settings: ClassVar[frozenset[str] | None] = frozenset()

    @property
    def clock(self) -> Clock | None:
        hold = self.hold
        if hold is None:
            hold = max((time for _, time in self.holds), default=HELD_UNLESS_SAID)
        return Clock(self.every, self.offset, self.jitter, hold, self.holds)

    def problems(self) -> Iterator[Problem]:
        if self.every <= 0:
            yield Problem("the time between two samples must be positive", at="every")
        elif not 0 <= self.jitter < self.every:
            yield Problem(
                "two samples could change places",
                at="jitter",
                got=format_duration(self.jitter),
                want=f"less than the {format_duration(self.every)} between them",
            )
        times = [time for _, time in self.holds]
        if min([1 if self.hold is None else self.hold, *times]) <= 0:
            yield Problem("a value must be held for some time", at="hold")
        ports = [port.port for port in self.inputs]
        if self.holds and sorted(name for name, _ in self.holds) != sorted(ports):
            yield Problem(
                "a hold by inputs names each of them",
                at="hold",
                got=", ".join(name for name, _ in self.holds),
                want=f"give one for each of {', '.join(ports)}, or one duration for all",
            )
        if self.timeout is not None:
            yield Problem(
                "a sample waits for its clock only", at="timeout", want="leave out 'timeout'"
            )
        if self.cost is not None and (self.cost.per_item or self.cost.between_items):
            yield Problem(
                "a sample reads one tuple of each input: its cost has no items",
                at="cost",
                want="write a duration",
            )


# ------------------------------------------------------------
# User-defined operators: a class in Python that both engines run, in C++ for native code, or both.

Parameter = bool | int | float | str


@dataclass(frozen=True, slots=True)
class AssociationGate:
    """How a fusion tells measurements of an object from others under its key
    (:mod:`headway.fusion.association`)."""

    accept: float
    """the share of an object's true measurements that is inside the gate"""
    confirm: int = 3
    """at so many moments another object must be measured before it takes over the key"""

    def problems(self) -> Iterator[Problem]:
        if not MOST_REFUSING <= self.accept <= LEAST_REFUSING:
            yield Problem(
                "a gate lets through a share of the true measurements",
                at="gate.accept",
                got=repr(self.accept),
                want=f"give a number from {MOST_REFUSING} to {LEAST_REFUSING}, such as 0.999",
            )
        if self.confirm < 1:
            yield Problem(
                "at least one measurement must confirm another object",
                at="gate.confirm",
                got=repr(self.confirm),
            )


MOST_REFUSING, LEAST_REFUSING = 0.5, 1.0 - 1e-12
WindowSetting = int | str | bool | AssociationGate | None


@dataclass(frozen=True, kw_only=True)
class UserDefined(OperatorBase):
    """``implementation`` is ``module:Class``, ``native`` is ``header.hpp:Class``: one of them or
    both. With a timeout the class is called when every input has a tuple or the time is up; without
    one it is called for each tuple as it comes."""

    implementation: ImportPath | None = None
    native: NativePath | None = None
    schema: Schema
    gather: Gather = Gather.ALL
    parameters: tuple[tuple[Name, Parameter], ...] = ()
    optional: OptionalPart | None = None
    kind: Literal["udo"] = "udo"
    windows: ClassVar[Mapping[str, WindowSetting]] = {}

    traits: ClassVar[Traits] = Traits(keeps_state=True, order_matters=True, any_number=True)
    state_settings: ClassVar[frozenset[str] | None] = frozenset({"implementation", "native"})

    @property
    def gathering(self) -> Gather | None:
        return None if self.timeout is None else self.gather

    @property
    def optional_part(self) -> OptionalPart | None:
        return self.optional

    @property
    def declared_schema(self) -> Schema | None:
        return self.schema


# ------------------------------------------------------------
# The sensor data fusion operator (SDFO, AEDSMS section 5.7): a user-defined operator with a front
# window of inputs (by object and sensor) and a rear window of its own outputs (by object).


@dataclass(frozen=True, kw_only=True)
class Fusion(OperatorBase):
    """``object_key`` and ``sensor_key`` are columns that every input has, or None: a single
    object, and the input port as the sensor. ``front`` and ``rear`` are the windows' lengths of
    sensing time. Headway's own classes need no ``native``: native code has them too."""

    implementation: ImportPath | None = None
    native: NativePath | None = None
    schema: Schema
    front: int
    rear: int
    object_key: Name | None = None
    sensor_key: Name | None = None
    gather: Gather = Gather.ALL
    gate: AssociationGate | None = None
    """Without one tuples of one key are of one object, whatever they say."""
    correlated: bool = False
    """Whether the errors of its inputs may depend on each other (what others have filtered)."""
    parameters: tuple[tuple[Name, Parameter], ...] = ()
    optional: OptionalPart | None = None
    kind: Literal["fusion"] = "fusion"

    traits: ClassVar[Traits] = Traits(keeps_state=True, order_matters=True, any_number=True)
    state_settings: ClassVar[frozenset[str] | None] = frozenset(
        {"implementation", "native", "object_key", "sensor_key", "gate"}
    )

    @property
    def gathering(self) -> Gather | None:
        return None if self.timeout is None else self.gather

    @property
    def optional_part(self) -> OptionalPart | None:
        return self.optional

    @property
    def declared_schema(self) -> Schema | None:
        return self.schema

    def problems(self) -> Iterator[Problem]:
        if self.gate is not None:
            yield from self.gate.problems()

    @property
    def windows(self) -> Mapping[str, WindowSetting]:
        """What its class is told of them."""
        return {
            "front": self.front,
            "rear": self.rear,
            "object_key": self.object_key,
            "sensor_key": self.sensor_key,
            **({} if self.gate is None else {"gate": self.gate}),
            **({"correlated": True} if self.correlated else {}),
        }


# ------------------------------------------------------------
# An operator of any kind, also of one that comes from another package.


Operator = OperatorBase
"""its class tells its kind; :func:`headway.model.operator_kinds.model_class` finds it"""
