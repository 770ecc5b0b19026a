"""The package by itself: what its policy orders, its format reads and its operator passes."""

from __future__ import annotations

from pathlib import Path

import pytest
from headway.compiler import compile_query
from headway.errors import DataError, QueryError
from headway.files import load_query, parse_query, query_to_yaml
from headway.model.operators import Input
from headway.model.schema import schema
from headway.schedule.online.policy import JobFacts, UnitFacts
from headway.sources.source_records import Record

from headway_plugin_example.deadband import Deadband
from headway_plugin_example.deadband_engine import DeadbandOperator
from headway_plugin_example.ros_lines import RosLines
from headway_plugin_example.shortest_first import ShortestFirst

QUERY = Path(__file__).parents[1] / "steady_speed.yaml"
SPEED = schema(v="double", twist_linear_x="double", topic="string")


def read(path: Path, *lines: str) -> list[Record]:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return list(RosLines().read(path, SPEED))


def test_messages_become_tuples(tmp_path: Path) -> None:
    found = read(
        tmp_path / "speed.roslines",
        '{"topic": "/car", "stamp": {"sec": 2, "nanosec": 5999}, "msg": '
        '{"header": {"stamp": {"sec": 1, "nanosec": 0}}, "v": 3, "twist": {"linear": {"x": 0.5}}}}',
        '{"topic": "/car", "stamp": {"sec": 3, "nanosec": 0}, "msg": {"v": null}}',
    )
    assert found == [
        Record(2_000_005, None, (1_000_000, 3.0, 0.5, "/car"), 1),
        Record(3_000_000, None, (3_000_000, None, None, "/car"), 2),
    ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"stamp": {"sec": 1, "nanosec": 0}}', "msg must be an object"),
        ('{"msg": {}}', "stamp must have sec and nanosec"),
        ('{"msg": {}, "stamp": {"sec": 1.5, "nanosec": 0}}', "stamp must have whole numbers"),
        ('{"msg": {"header": {"stamp": 1}}, "stamp": {"sec": 1, "nanosec": 0}}', "msg.header"),
        ("not JSON", "not JSON"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(line: str, told: str, tmp_path: Path) -> None:
    good = (
        '{"topic": "/car", "stamp": {"sec": 0, "nanosec": 0}, '
        '"msg": {"v": 1.0, "twist_linear_x": 0.0}}'
    )
    with pytest.raises(DataError, match=told) as caught:
        read(tmp_path / "speed.roslines", good, line)
    assert f"{tmp_path}/speed.roslines:2" in str(caught.value)


def test_the_shorter_rest_goes_first() -> None:
    unit = UnitFacts(deadline=9, cost=5, period=None, rank=0, position=0, level=0, capacity=1.0)
    rank = ShortestFirst().rank(unit)
    begun = JobFacts(timestamp=7, root=2, now=8, done=3, left=2)
    fresh = JobFacts(timestamp=1, root=1, now=8, done=0, left=5)
    assert rank(begun) < rank(fresh)
    assert rank(begun._replace(timestamp=6)) < rank(begun)


def test_a_value_passes_when_it_has_moved() -> None:
    columns = schema(k="int", v="double")
    operator = Deadband(name="x", inputs=(Input("input", "s"),), width=1.0, of="v", by=("k",))
    behaviour = DeadbandOperator(operator, {"input": columns}, columns)

    def passes(key: int, value: float | None) -> bool:
        return bool(behaviour.accept("input", (0, key, value), 0))

    assert passes(1, 5.0)
    assert not passes(1, 6.0), "no farther than the width"
    assert passes(1, 6.5)
    assert passes(2, 6.5), "another key"
    assert passes(1, None)
    assert not passes(1, None)
    kept = behaviour.snapshot()
    again = DeadbandOperator(operator, {"input": columns}, columns)
    again.restore(kept)
    assert not again.accept("input", (0, 2, 6.0), 0)
    assert again.accept("input", (0, 1, 6.0), 0), "after NULL every number has moved"


def test_it_is_written_in_files_like_any_other() -> None:
    query = load_query(QUERY).query
    assert parse_query(query_to_yaml(query)).query == query
    assert dict(compile_query(query).schemas)["steady"] == query.sources[0].schema
    text = QUERY.read_text(encoding="utf-8")
    with pytest.raises(QueryError, match="'w' must be a column of numbers; got no such column"):
        compile_query(parse_query(text.replace("of: v", "of: w")).query)
