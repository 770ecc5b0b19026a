"""From an operator's kind to all that implements it: the one table that everybody reads.

File forms, schema inference, the engines, the bundler and the contract suite find an operator here
by its kind. An implementation is named as ``package.module:name`` and imported when it is first
needed, so the table costs nothing, the model depends on no engine, and a node's executable carries
what its own operators need.

Other packages add kinds by the entry-point group ``headway.operators``: an entry point named like
the kind that gives an :class:`OperatorKind`. The rules are those of :mod:`headway.extensions`: one
that is broken is told of, with its package, to whoever uses it, and harms nobody else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from headway.errors import Problem, UnsupportedError
from headway.extensions import Entry, ExtensionObjects
from headway.model.names import NAME
from headway.model.operators import OperatorBase

# ------------------------------------------------------------
# The engines, and what an engine can say of a kind.


@dataclass(frozen=True, slots=True)
class KnownEngine:
    """Something that runs operators. ``host`` is the engine that it can hold inside itself."""

    name: str
    host: str | None = None


VEHICLE = "vehicle"
SPARK_BATCH = "spark batch"
SPARK_STREAM = "spark stream"
NATIVE = "native"

ENGINES: Mapping[str, KnownEngine] = {
    engine.name: engine
    for engine in (
        KnownEngine(VEHICLE),
        KnownEngine(SPARK_BATCH, host=VEHICLE),
        KnownEngine(SPARK_STREAM, host=VEHICLE),
        KnownEngine(NATIVE),
    )
}
"""What a reference must give: for ``vehicle`` a subclass of ``StatefulOperator``
(:mod:`headway.engine.operators.operator_base`) that takes the operator, the schemas of its inputs
by port and that of its output; for ``spark batch`` and ``spark stream`` a function that takes the
operator, its inputs by port and the schema of its output
(:mod:`headway.spark.lowering.native_operators`); for ``native`` a function that takes the operator
and a ``WriteContext`` and writes its C++ (:mod:`headway.native.operator_code`)."""


@dataclass(frozen=True, slots=True)
class Hosted:
    """The engine has nothing of its own for the kind: it runs the one it holds inside."""

    reason: str


@dataclass(frozen=True, slots=True)
class Gap:
    """The engine cannot run the kind; a plan that needs it is refused by name."""

    reason: str


Implementation = str | Hosted | Gap
"""``package.module:name``, or why there is none"""


# ------------------------------------------------------------
# A kind of operator.


@dataclass(frozen=True, kw_only=True)
class OperatorKind:
    """All there is to know of a kind. References are ``package.module:name``."""

    kind: str
    """The discriminator of the model's class, in plans."""
    model: str
    """The class of the model, an :class:`headway.model.operators.OperatorBase`."""
    forms: tuple[str, ...]
    """How it is written in files, a :class:`headway.files.operator_forms.StepForm` each."""
    infer: str
    """(operator, schemas of its inputs by port) -> the operator with its expressions typed, and the
    schema of its output"""
    engines: Mapping[str, Implementation] = field(default_factory=dict)
    """engine -> what runs it there"""
    cases: str = ""
    """Where the contract suite finds queries of it: a mapping from a case's name to its operators
    (see ``tests/contract/cases.py``, which has those of Headway's own kinds)."""

    def on(self, engine: str) -> Implementation:
        """What runs it there. An engine that the kind does not mention runs the one it holds
        inside, or has a gap."""
        found = self.engines.get(engine)
        if found is not None:
            return found
        known = ENGINES.get(engine)
        if known is not None and known.host is not None:
            return Hosted(f"{self.kind!r} has nothing of its own for {engine}")
        return Gap(f"{self.kind!r} says nothing of {engine}")

    def reference(self, engine: str) -> str | None:
        """The reference of what runs it there, if the engine has something of its own."""
        found = self.on(engine)
        return found if isinstance(found, str) else None

    @property
    def references(self) -> Iterator[str]:
        """All that can be imported of it."""
        yield self.model
        yield from self.forms
        yield self.infer
        yield from (one for one in self.engines.values() if isinstance(one, str))
        if self.cases:
            yield self.cases


# ------------------------------------------------------------
# Headway's own kinds.

_MODEL = "headway.model.operators:"
_FORMS = "headway.files.operator_forms:"
_INFER = "headway.compiler.schemas:"
_BEHAVIOUR = "headway.engine.operators."
_SPARK = "headway.spark.lowering.native_operators:"
_CPP = "headway.native.cpp_operators:"
_CPP_WINDOWS = "headway.native.cpp_windows:"

FUSED = f"{_BEHAVIOUR}fused:Fused"
"""the vehicle engine writes one function of all such operators that follow each other"""
_ARRIVAL = Hosted("its results depend on the order of arrival")
_STATE = Hosted("a stream's state is kept by the engine")


def _stateless(kind: str, model: str, forms: Iterable[str]) -> OperatorKind:
    lowered = f"{_SPARK}lower_{kind}"
    return OperatorKind(
        kind=kind,
        model=_MODEL + model,
        forms=tuple(_FORMS + form for form in forms),
        infer=f"{_INFER}infer_{kind}",
        engines={
            VEHICLE: FUSED,
            SPARK_BATCH: lowered,
            SPARK_STREAM: lowered,
            NATIVE: f"{_CPP}write_{kind}",
        },
    )


BUILT_IN: tuple[OperatorKind, ...] = (
    _stateless("filter", "Filter", ["FilterForm"]),
    _stateless("map", "Map", ["MapForm", "SetForm"]),
    _stateless("union", "Union", ["UnionForm"]),
    OperatorKind(
        kind="join",
        model=f"{_MODEL}Join",
        forms=(f"{_FORMS}JoinForm",),
        infer=f"{_INFER}infer_join",
        engines={
            VEHICLE: f"{_BEHAVIOUR}join:JoinOperator",
            SPARK_BATCH: f"{_SPARK}lower_join",
            SPARK_STREAM: _STATE,
            NATIVE: f"{_CPP_WINDOWS}write_join",
        },
    ),
    OperatorKind(
        kind="aggregate",
        model=f"{_MODEL}Aggregate",
        forms=(f"{_FORMS}AggregateForm",),
        infer=f"{_INFER}infer_aggregate",
        engines={
            VEHICLE: f"{_BEHAVIOUR}aggregate:AggregateOperator",
            SPARK_BATCH: f"{_SPARK}lower_aggregate",
            SPARK_STREAM: _STATE,
            NATIVE: f"{_CPP_WINDOWS}write_aggregate",
        },
    ),
    OperatorKind(
        kind="distinct",
        model=f"{_MODEL}Distinct",
        forms=(f"{_FORMS}DistinctForm",),
        infer=f"{_INFER}infer_distinct",
        engines={
            VEHICLE: f"{_BEHAVIOUR}distinct:DistinctOperator",
            SPARK_BATCH: _ARRIVAL,
            SPARK_STREAM: _STATE,
            NATIVE: f"{_CPP_WINDOWS}write_distinct",
        },
    ),
    OperatorKind(
        kind="sample",
        model=f"{_MODEL}Sample",
        forms=(f"{_FORMS}SampleForm",),
        infer=f"{_INFER}infer_sample",
        engines={
            VEHICLE: f"{_BEHAVIOUR}sample:SampleOperator",
            SPARK_BATCH: _ARRIVAL,
            SPARK_STREAM: _STATE,
            NATIVE: Gap("its runtime has no clock that makes an operator run"),
        },
    ),
    OperatorKind(
        kind="udo",
        model=f"{_MODEL}UserDefined",
        forms=(f"{_FORMS}UdoForm",),
        infer=f"{_INFER}infer_udo",
        engines={
            VEHICLE: f"{_BEHAVIOUR}user_defined:CustomOperator",
            SPARK_BATCH: _ARRIVAL,
            SPARK_STREAM: _STATE,
            NATIVE: "headway.native.cpp_user_operator:write_user_operator",
        },
    ),
    OperatorKind(
        kind="fusion",
        model=f"{_MODEL}Fusion",
        forms=(f"{_FORMS}FusionForm",),
        infer=f"{_INFER}infer_fusion",
        engines={
            VEHICLE: f"{_BEHAVIOUR}user_defined:CustomOperator",
            SPARK_BATCH: _ARRIVAL,
            SPARK_STREAM: _STATE,
            NATIVE: "headway.native.cpp_fusion:write_fusion",
        },
    ),
)


# ------------------------------------------------------------
# What is wrong with a table, found without importing any implementation.


def kind_problems(
    kind: OperatorKind, engines: Mapping[str, KnownEngine] = ENGINES
) -> Iterator[str]:
    """What does not hold together in the description of a kind."""
    if not NAME.fullmatch(kind.kind):
        yield f"{kind.kind!r} cannot be the name of a kind"
    if not kind.forms:
        yield f"{kind.kind!r} cannot be written: it names no form"
    for reference in kind.references:
        module, _, name = reference.partition(":")
        if not (module and name):
            yield f"{kind.kind!r} names {reference!r}: write 'package.module:name'"
    for name in kind.engines.keys() - engines.keys():
        yield f"{kind.kind!r} names an engine {name!r}; there are {', '.join(engines)}"
    for name, engine in engines.items():
        found = kind.engines.get(name)
        if isinstance(found, Hosted) and engine.host is None:
            yield f"{kind.kind!r} is hosted on {name}, which holds no other engine"
        elif isinstance(found, Hosted) and not isinstance(kind.on(engine.host or ""), str):
            yield f"{kind.kind!r} is hosted on {name}, but {engine.host} does not run it"


def table_problems(
    kinds: Iterable[OperatorKind], engines: Mapping[str, KnownEngine] = ENGINES
) -> Iterator[str]:
    """What does not hold together in Headway's own table: there, every engine must either run a
    kind, host it, or declare a gap."""
    seen: set[str] = set()
    for kind in kinds:
        if kind.kind in seen:
            yield f"the kind {kind.kind!r} is there twice"
        seen.add(kind.kind)
        yield from kind_problems(kind, engines)
        for name in engines:
            if name not in kind.engines:
                yield f"{name} neither runs {kind.kind!r} nor declares a gap"


if _wrong := list(table_problems(BUILT_IN)):
    raise AssertionError("headway.model.operator_kinds: " + "; ".join(_wrong))


# ------------------------------------------------------------
# Looking up.

GROUP = "headway.operators"
"""the entry-point group of kinds from other packages"""


class OperatorKinds(ExtensionObjects[OperatorKind]):
    """All kinds by name: Headway's own first, then those of other packages by their names."""

    def __init__(self, own: Iterable[OperatorKind] = BUILT_IN) -> None:
        super().__init__(
            GROUP,
            base=f"{__name__}:OperatorKind",
            own={kind.kind: kind for kind in own},
            what="operator",
        )

    def accept(self, entry: Entry, found: object) -> OperatorKind:
        kind = super().accept(entry, found)
        if wrong := list(kind_problems(kind)):
            raise self.broken(entry, f"does not hold together: {'; '.join(wrong)}")
        if kind.kind != entry.name:
            raise self.broken(entry, "is of another kind", repr(kind.kind))
        return kind


KINDS = OperatorKinds()


def kind_of(operator: OperatorBase) -> OperatorKind:
    return KINDS[operator.kind]


def part(kind: OperatorKind, reference: str) -> Any:
    """What a reference of the kind names, imported."""
    return KINDS.part(kind.kind, reference)


def implementation(operator: OperatorBase, engine: str) -> Any:
    """What runs the operator there, imported; UnsupportedError where the engine has nothing of its
    own."""
    kind = kind_of(operator)
    found = kind.on(engine)
    if isinstance(found, str):
        return part(kind, found)
    raise UnsupportedError(_gap(operator, engine, found.reason))


def is_hosted(operator: OperatorBase, engine: str) -> bool:
    """Whether the engine leaves the operator to the one it holds inside."""
    return isinstance(kind_of(operator).on(engine), Hosted)


def gap_problems(operators: Iterable[OperatorBase], engine: str) -> Iterator[Problem]:
    """The operators that an engine cannot run."""
    for operator in operators:
        found = kind_of(operator).on(engine)
        if isinstance(found, Gap):
            yield _gap(operator, engine, found.reason)
        elif engine != NATIVE and getattr(operator, "implementation", "") is None:
            yield only_native(operator)


def only_native(operator: OperatorBase) -> Problem:
    """What is said where an operator that has its class in C++ alone is to run in Python."""
    return Problem(
        f"operator {operator.name!r} has only a class in C++, {getattr(operator, 'native', None)}",
        at=f"operators.{operator.name}",
        want="name a class in Python too, or run the query on the engine 'native'",
    )


def _gap(operator: OperatorBase, engine: str, reason: str) -> Problem:
    return Problem(
        f"an operator of kind {operator.kind!r} is not supported on the engine '{engine}': "
        f"{reason}",
        at=f"operators.{operator.name}",
        want="run the query on another engine, or write it with other operators",
    )


def module_of(reference: str) -> str:
    """The module that a reference needs."""
    return reference.partition(":")[0]


def model_class(name: str) -> type[OperatorBase] | None:
    """The class of a kind, for whoever reads plans; none where there is no such kind."""
    kind = KINDS.get(name)
    return None if kind is None else part(kind, kind.model)
