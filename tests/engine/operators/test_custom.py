from __future__ import annotations

import pytest
from tests.engine.operators.build import moved, one_input
from tests.engine.operators.users import HERE, Summing

from headway.engine.operators.operator_base import DropKind
from headway.engine.operators.user_defined import CustomOperator
from headway.errors import QueryError
from headway.model.operators import Fusion, Input, UserDefined
from headway.model.schema import schema

IN = schema(x="double")
OUT = schema(total="double")


def custom(name: str = "Summing", ports: tuple[str, ...] = ("a", "b")) -> CustomOperator:
    model = UserDefined(
        name="u",
        inputs=tuple(Input(port, port) for port in ports),
        implementation=f"{HERE}:{name}",
        schema=OUT,
        parameters=(("gain", 2.0),),
    )
    return CustomOperator(model, dict.fromkeys(ports, IN), OUT)


def test_one_execution_per_tuple_with_all_ports() -> None:
    operator = custom()
    assert operator.accept("a", (5, 1.5), 10) == [(5, 1.5)]
    assert operator.accept("b", (4, 2.0), 11, late=True) == [(4, 3.5)]
    assert isinstance(operator.user, Summing)
    assert operator.user.calls == [
        ("process", {"a": [(5, 1.5)], "b": []}, 10),
        ("process", {"a": [], "b": [(4, 2.0)]}, 11),
    ]


def test_a_batch_takes_the_oldest_timestamp_and_a_timeout_its_own_method() -> None:
    operator = custom()
    assert operator.execute({"a": [(5, 1.0), (3, 1.0)], "b": [(4, 1.0)]}, 0) == [(3, 3.0)]
    assert operator.execute({"a": [(5, 1.0)], "b": []}, 0, timed_out=True) == [(5, -1.0)]


def test_the_class_is_told_about_itself() -> None:
    context = custom().user.context
    assert (context.name, context.output, dict(context.parameters)) == ("u", OUT, {"gain": 2.0})
    assert dict(context.inputs) == {"a": IN, "b": IN}
    assert dict(context.windows) == {}


def test_fusion_is_told_its_windows() -> None:
    model = Fusion(
        name="f",
        inputs=one_input("a"),
        implementation=f"{HERE}:Summing",
        schema=OUT,
        front=5,
        rear=7,
        object_key="x",
    )
    windows = dict(CustomOperator(model, {"input": IN}, OUT).user.context.windows)
    assert windows == {"front": 5, "rear": 7, "object_key": "x", "sensor_key": None}


def test_bad_rows_leave_by_the_side_and_good_ones_pass() -> None:
    operator = custom("Odd", ("input",))
    assert operator.accept("input", (3, 2.5), 0) == [(3, 2.5), (7, 1.0)]
    dropped = operator.take_side()
    assert [one.kind for one in dropped] == [DropKind.FAILED] * 3
    assert [one.row for one in dropped] == [(None, "text"), (None,), (5,)]
    where = f"operator 'u' ({HERE}:Odd)"
    assert [one.reason for one in dropped] == [
        f"{where}.total: must be double; got str 'text'",
        f"{where}: a row must have 2 values (timestamp, total); got tuple (3,)",
        f"{where}: a row must be a tuple; got int 5",
    ]


def test_an_execution_that_raises_gives_nothing_and_the_next_one_runs() -> None:
    operator = custom("Odd", ("input",))
    assert operator.accept("input", (3, -1.0), 0) == []
    (dropped,) = operator.take_side()
    assert (dropped.kind, dropped.row, dropped.port) == (DropKind.FAILED, (3, -1.0), "input")
    assert "RuntimeError: negative" in dropped.reason
    assert "Odd" in dropped.reason
    assert operator.accept("input", (3, 1.0), 0) != []


def test_state_moves() -> None:
    old = custom()
    old.accept("a", (1, 1.0), 0)
    assert moved(old, custom()).accept("a", (2, 1.0), 0) == [(2, 2.0)]


@pytest.mark.parametrize(
    ("implementation", "message"),
    [
        ("tests.no_such_module:A", "module 'tests.no_such_module' cannot be imported"),
        (f"{HERE}:Missing", f"module '{HERE}' has no 'Missing'"),
        (f"{HERE}:not_a_class", "derive it from headway.model.user_operator.UserOperator"),
        ("builtins:dict", "'builtins:dict' is not a class for operators"),
        (f"{HERE}:Unfinished", "does not define process"),
        (f"{HERE}:Unopenable", "cannot be opened: TypeError"),
    ],
)
def test_a_class_that_cannot_be_used_is_named(implementation: str, message: str) -> None:
    model = UserDefined(name="u", inputs=one_input("a"), implementation=implementation, schema=OUT)
    with pytest.raises(QueryError, match=r"operators\.u\.implementation: ") as raised:
        CustomOperator(model, {"input": IN}, OUT)
    assert message in str(raised.value)
