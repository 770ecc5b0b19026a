"""The table of kinds: complete, importable, and open to other packages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.cases import query_of
from tests.outside.offer import offered
from tests.outside.thin_kind import KIND, Thin

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.errors import InputError, UnsupportedError
from headway.extensions import resolve
from headway.model import operator_kinds
from headway.model.expression import Sql
from headway.model.operator_kinds import (
    BUILT_IN,
    ENGINES,
    KINDS,
    SPARK_BATCH,
    SPARK_STREAM,
    VEHICLE,
    Gap,
    Hosted,
    KnownEngine,
    OperatorKind,
    OperatorKinds,
    gap_problems,
    implementation,
    is_hosted,
    model_class,
    table_problems,
)
from headway.model.operators import Filter, Input, OperatorBase
from headway.spark.capabilities import Mode, refuse_unsupported

FORMLESS = replace(KIND, forms=())
ENGINELESS = replace(KIND, engines={VEHICLE: "nowhere.at_all:Thin"})
FILTER = Filter(name="f", inputs=(Input("input", "s"),), where=Sql("true"))


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.kind)
def test_every_reference_can_be_imported(kind: OperatorKind) -> None:
    for reference in kind.references:
        assert callable(resolve(reference)) or reference == kind.cases, reference
    model = resolve(kind.model)
    assert issubclass(model, OperatorBase)
    assert model.kind == kind.kind
    assert all(resolve(form).model is model for form in kind.forms)


def test_every_kind_has_its_class() -> None:
    assert model_class("filter") is Filter
    assert all(model_class(kind) is not None for kind in KINDS)
    assert model_class("no such kind") is None


def test_a_kind_that_an_engine_leaves_out_is_found() -> None:
    engines = {**ENGINES, "abacus": KnownEngine("abacus")}
    assert list(table_problems(BUILT_IN[:2], engines)) == [
        "abacus neither runs 'filter' nor declares a gap",
        "abacus neither runs 'map' nor declares a gap",
    ]
    with_gap = replace(BUILT_IN[0], engines={**BUILT_IN[0].engines, "abacus": Gap("not yet")})
    assert list(table_problems([with_gap], engines)) == []


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"kind": "not a name"}, "'not a name' cannot be the name of a kind"),
        ({"forms": ()}, "'thin' cannot be written: it names no form"),
        ({"infer": "thin.files"}, "'thin' names 'thin.files': write 'package.module:name'"),
        (
            {"engines": {VEHICLE: "a:b", "moon": "a:b"}},
            "'thin' names an engine 'moon'; there are vehicle, spark batch, spark stream, native",
        ),
        (
            {"engines": {VEHICLE: Hosted("?")}},
            "'thin' is hosted on vehicle, which holds no other engine",
        ),
        (
            {"engines": {SPARK_BATCH: Hosted("?")}},
            "'thin' is hosted on spark batch, but vehicle does not run it",
        ),
    ],
)
def test_what_does_not_hold_together_is_named(changed: dict[str, object], problem: str) -> None:
    wrong = replace(KIND, **changed)  # type: ignore[arg-type]
    assert list(operator_kinds.kind_problems(wrong)) == [problem]


def test_one_kind_twice_is_found() -> None:
    assert "the kind 'filter' is there twice" in table_problems([BUILT_IN[0], BUILT_IN[0]])


def offer(
    patch: pytest.MonkeyPatch,
    folder: Path,
    value: str = "tests.outside.thin_kind:KIND",
    name: str = "thin",
) -> OperatorKinds:
    patch.syspath_prepend(offered(folder, value, name))
    found = OperatorKinds()
    patch.setattr(operator_kinds, "KINDS", found)
    return found


def test_a_kind_of_another_package_takes_part(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert list(offer(monkeypatch, tmp_path)) == [*(kind.kind for kind in BUILT_IN), "thin"]
    thin = Thin(name="t", inputs=(Input("input", "s"),), nth=2)
    assert model_class("thin") is Thin
    assert implementation(thin, VEHICLE) is resolve("tests.outside.thin_behaviour:ThinOperator")
    assert is_hosted(thin, SPARK_BATCH)
    assert is_hosted(thin, SPARK_STREAM)
    assert isinstance(KIND.on("abacus"), Gap), "what it cannot know of, it cannot run on"
    assert list(gap_problems([thin], SPARK_BATCH)) == []
    assert [str(problem) for problem in gap_problems([thin], "abacus")] == [
        "operators.t: an operator of kind 'thin' is not supported on the engine 'abacus': 'thin' "
        "says nothing of abacus; run the query on another engine, or write it with other operators"
    ]


def test_what_an_engine_has_not_is_refused_by_name() -> None:
    assert implementation(FILTER, SPARK_BATCH).__name__ == "lower_filter"
    thin = Thin(name="t", inputs=(), nth=2)
    with pytest.raises(KeyError):
        KINDS[thin.kind]
    with pytest.raises(UnsupportedError, match=r"operators\.f: .*'filter' is not supported on"):
        implementation(FILTER, "abacus")


def test_a_gap_is_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    join = KINDS["join"]
    gaps = {VEHICLE: Gap("too hard"), SPARK_BATCH: Gap("too far")}
    changed = replace(join, engines={**join.engines, **gaps})
    plan = compile_query(query_of(["join without keys"], "plain"))
    monkeypatch.setattr(operator_kinds, "KINDS", OperatorKinds([changed]))
    refused = (
        r"operators\.c0_x: an operator of kind 'join' is not supported on the engine '{}': {};"
    )
    with pytest.raises(UnsupportedError, match=refused.format("vehicle", "too hard")):
        Engine(plan=plan, charged=False)
    with pytest.raises(UnsupportedError, match=refused.format("spark batch", "too far")):
        refuse_unsupported(plan, Mode.BATCH)
    refuse_unsupported(plan, Mode.STREAM)


@pytest.mark.parametrize(
    ("value", "name", "why"),
    [
        ("nowhere.at_all:KIND", "thin", "cannot be loaded: ModuleNotFoundError: No module named"),
        (
            "tests.outside.thin_kind:Thin",
            "thin",
            "does not derive from headway.model.operator_kinds.OperatorKind; got <class",
        ),
        ("tests.outside.thin_kind:KIND", "slim", "is of another kind; got 'thin'"),
        ("tests.model.test_operator_kinds:FORMLESS", "thin", "does not hold together: 'thin' cann"),
    ],
)
def test_a_package_whose_kind_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str, name: str, why: str
) -> None:
    found = offer(monkeypatch, tmp_path, value, name)
    with pytest.raises(InputError) as raised:
        found[name]
    text = str(raised.value)
    assert text.startswith(f"{value}: the operator '{name}' of the package thin-operators {why}")
    assert text.endswith("; correct or uninstall thin-operators, or choose another operator")
    assert list(found) == [kind.kind for kind in BUILT_IN], "nobody else is harmed"


def test_a_part_that_cannot_be_imported_is_told_with_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    offer(monkeypatch, tmp_path, f"{__name__}:ENGINELESS")
    thin = Thin(name="t", inputs=(Input("input", "s"),), nth=2)
    with pytest.raises(
        InputError, match=r"^nowhere\.at_all:Thin: the operator 'thin' of the packag"
    ):
        implementation(thin, VEHICLE)


def test_a_kind_cannot_take_a_name_of_headways(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = offer(monkeypatch, tmp_path, name="join")
    assert found["join"] is KINDS["join"]
    assert "the operator 'join' is Headway's own; the entry of the package thin-operators" in str(
        found.refused()["join"]
    )
