"""The table of kinds: complete, importable, and open to other packages."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest
from tests.contract.cases import query_of
from tests.outside.thin_kind import KIND, Thin

from headway.compiler import compile_query
from headway.errors import EnvironmentMissing, UnsupportedError
from headway.model import operator_kinds
from headway.model.expression import Sql
from headway.model.operator_kinds import (
    BUILT_IN,
    ENGINES,
    GROUP,
    SPARK_BATCH,
    SPARK_STREAM,
    VEHICLE,
    Gap,
    Hosted,
    KnownEngine,
    OperatorKind,
    gap_problems,
    implementation,
    is_hosted,
    kinds,
    model_classes,
    resolve,
    table_problems,
)
from headway.model.operators import Filter, Input, OperatorBase
from headway.runtime.engine import Engine
from headway.spark.capabilities import Mode, refuse_unsupported

FILTER = Filter(name="f", inputs=(Input("input", "s"),), where=Sql("true"))


@pytest.mark.parametrize("kind", kinds().values(), ids=lambda kind: kind.kind)
def test_every_reference_can_be_imported(kind: OperatorKind) -> None:
    for reference in kind.references:
        assert callable(resolve(reference)) or reference == kind.cases, reference
    model = resolve(kind.model)
    assert issubclass(model, OperatorBase)
    assert model.kind == kind.kind
    assert all(resolve(form).model is model for form in kind.forms)


def test_every_kind_has_its_class() -> None:
    assert model_classes().keys() == kinds().keys()
    assert model_classes()["filter"] is Filter


def test_a_kind_that_an_engine_leaves_out_is_found() -> None:
    engines = {**ENGINES, "native": KnownEngine("native")}
    assert list(table_problems(BUILT_IN[:2], engines)) == [
        "native neither runs 'filter' nor declares a gap",
        "native neither runs 'map' nor declares a gap",
    ]
    with_gap = replace(BUILT_IN[0], engines={**BUILT_IN[0].engines, "native": Gap("not yet")})
    assert list(table_problems([with_gap], engines)) == []


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"kind": "not a name"}, "'not a name' cannot be the name of a kind"),
        ({"forms": ()}, "'thin' cannot be written: it names no form"),
        ({"infer": "thin.files"}, "'thin' names 'thin.files': write 'package.module:name'"),
        (
            {"engines": {VEHICLE: "a:b", "moon": "a:b"}},
            "'thin' names an engine 'moon'; there are vehicle, spark batch, spark stream",
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
    patch: pytest.MonkeyPatch, value: str = "tests.outside.thin_kind:KIND", name: str = "thin"
) -> None:
    point = EntryPoint(name, value, GROUP)
    patch.setattr(operator_kinds, "entry_points", lambda: [point])
    found = operator_kinds.kinds.__wrapped__()
    patch.setattr(operator_kinds, "kinds", lambda: found)


def test_a_kind_of_another_package_takes_part(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch)
    thin = Thin(name="t", inputs=(Input("input", "s"),), nth=2)
    assert model_classes()["thin"] is Thin
    assert implementation(thin, VEHICLE) is resolve("tests.outside.thin_behaviour:ThinOperator")
    assert is_hosted(thin, SPARK_BATCH)
    assert is_hosted(thin, SPARK_STREAM)
    assert isinstance(KIND.on("native"), Gap), "what it cannot know of, it cannot run on"
    assert list(gap_problems([thin], SPARK_BATCH)) == []
    assert [str(problem) for problem in gap_problems([thin], "native")] == [
        "operators.t: an operator of kind 'thin' is not supported on the engine 'native': 'thin' "
        "says nothing of native; run the query on another engine, or write it with other operators"
    ]


def test_what_an_engine_has_not_is_refused_by_name() -> None:
    assert implementation(FILTER, SPARK_BATCH).__name__ == "lower_filter"
    thin = Thin(name="t", inputs=(), nth=2)
    with pytest.raises(KeyError):
        kinds()[thin.kind]
    with pytest.raises(UnsupportedError, match=r"operators\.f: .*'filter' is not supported on"):
        implementation(FILTER, "native")


def test_a_gap_is_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    join = kinds()["join"]
    gaps = {VEHICLE: Gap("too hard"), SPARK_BATCH: Gap("too far")}
    changed = {**kinds(), "join": replace(join, engines={**join.engines, **gaps})}
    plan = compile_query(query_of(["join without keys"], "plain"))
    monkeypatch.setattr(operator_kinds, "kinds", lambda: changed)
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
        ("nowhere.at_all:KIND", "thin", "ModuleNotFoundError: No module named 'nowhere'"),
        ("tests.outside.thin_kind:Thin", "thin", "it is no OperatorKind but <class"),
        ("tests.outside.thin_kind:KIND", "slim", "its kind is 'thin': name the entry point so"),
    ],
)
def test_a_package_whose_kind_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, value: str, name: str, why: str
) -> None:
    with pytest.raises(EnvironmentMissing) as raised:
        offer(monkeypatch, value, name)
    text = str(raised.value)
    assert text.startswith(f"operator '{name}' of an installed package ({value}) cannot be used: ")
    assert why in text
    assert text.endswith("; repair or uninstall an installed package")


def test_a_kind_that_takes_a_name_of_headways_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import tests.outside.thin_kind as module

    monkeypatch.setattr(module, "KIND", replace(KIND, kind="join"))
    with pytest.raises(EnvironmentMissing, match="there is a kind of that name already"):
        offer(monkeypatch, name="join")
