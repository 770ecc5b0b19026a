"""Plans as JSON and back."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from tests.example_plans import example_plan

from headway.errors import FileError, QueryError
from headway.model.codec import from_plain, parsed, plan_from_json, plan_to_json, to_json
from headway.model.names import Name
from headway.model.operators import Gather
from headway.model.plan import Plan

EXAMPLES = Path(__file__).parents[2] / "examples"


def plans() -> list[Plan]:
    found = []
    for path in sorted(EXAMPLES.glob("*/query.yaml")):
        vehicles = [one.name for one in sorted(path.parent.glob("vehicle*.yaml"))]
        found += [example_plan(path.parent.name, vehicle) for vehicle in (None, *vehicles)]
    return found


def test_every_examples_plan_survives_the_round_trip() -> None:
    for plan in plans():
        text = plan_to_json(plan)
        assert plan_from_json(text) == plan
        assert plan_to_json(plan_from_json(text)) == text


def test_another_version_is_refused() -> None:
    plan = json.loads(plan_to_json(plans()[0]))
    plan["version"] = 99
    with pytest.raises(FileError, match=r"plan of another version; got version 99; compile"):
        plan_from_json(json.dumps(plan))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1}', "nonsense", '{"query": 5}'])
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(FileError, match=r"^old\.json.*compile the query again"):
        plan_from_json(text, "old.json")


def test_a_plan_with_a_broken_part_names_it() -> None:
    plan = json.loads(plan_to_json(plans()[0]))
    plan["tasks"][0]["cost"] = "much"
    with pytest.raises(FileError, match=r"tasks\.0\.cost"):
        plan_from_json(json.dumps(plan))


@dataclass(frozen=True, slots=True)
class Round:
    radius: float
    kind: ClassVar[str] = "round"


@dataclass(frozen=True, slots=True)
class Square:
    side: int
    label: str | None = None
    kind: Literal["square"] = "square"


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """One of everything that the codec knows."""

    name: Name
    shapes: tuple[Round | Square, ...]
    corner: tuple[int, float]
    scale: bool | int | float | str | None
    pen: Gather = Gather.ALL
    author: Name | None = None
    inner: Drawing | None = None


DRAWING = Drawing(
    name="d",
    shapes=(Round(2), Square(3, "ä\n"), Square(-1)),
    corner=(1, 2.5),
    scale=True,
    inner=Drawing(name="e", shapes=(), corner=(0, 0.1), scale=None, pen=Gather.TIME),
)


def read(content: Any) -> Drawing:
    return from_plain(Drawing, parsed(json.dumps(content), "d.json", "draw"), "d.json", "draw")


def test_values_of_every_type_survive_the_round_trip() -> None:
    text = to_json(DRAWING)
    assert read(json.loads(text)) == DRAWING
    assert '{"kind": "round", "radius": 2.0}' in text, "a real number is written as one"
    for scale in (False, 0, 0.0, "", "x", None, 2**70, -0.5):
        again = read(json.loads(to_json(replace(DRAWING, scale=scale)))).scale
        assert (again, type(again)) == (scale, type(scale))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 5}, "name: text is wanted; got 5; draw"),
        ({"name": "a b"}, "name: not a name; got 'a b'; use letters, digits and '_', not starting"),
        ({"name": "\ud800"}, "name: not a text; got '\\ud800'; draw"),
        ({"shapes": {}}, "shapes: a list is wanted; got an object; draw"),
        ({"shapes": [{"kind": "oval"}]}, "shapes.0.kind: not a known kind; got 'oval'; known: rou"),
        ({"shapes": [{}]}, "shapes.0.kind: not a known kind; got null"),
        ({"shapes": [7]}, "shapes.0: an object is wanted; got 7"),
        ({"shapes": [{"kind": "round"}]}, "shapes.0: the key 'radius' is missing; got an object"),
        ({"shapes": [{"kind": "round", "radius": True}]}, "shapes.0.radius: a number is wanted; g"),
        ({"corner": [1]}, "corner: a list of 2 is wanted; got a list of 1"),
        ({"corner": [True, 1]}, "corner.0: a whole number is wanted; got true"),
        ({"corner": [1.0, 1]}, "corner.0: a whole number is wanted; got 1.0"),
        ({"corner": [1, 10**400]}, "corner.1: a number that is too large"),
        ({"scale": []}, "scale: true or false or a whole number or a number or text or null is"),
        ({"pen": "ALL"}, "pen: not one of the choices; got 'ALL'; choose all or time, or draw"),
        ({"author": 5}, "author: text is wanted; got 5; draw"),
        ({"author": "../x"}, "author: not a name; got '../x'; use letters"),
        ({"inner": 1}, "inner: an object with the keys name, shapes"),
        ({"more": 1}, "unknown key 'more'; got an object; known: author, corner, inner"),
    ],
)
def test_what_is_not_of_the_form_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(FileError) as caught:
        read(json.loads(to_json(DRAWING)) | change)
    assert str(caught.value).startswith(f"d.json: {message}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}', "d.json: not JSON: the key 'a' is there twice; draw"),
        ("[NaN]", "d.json: not JSON: NaN is not a number; draw"),
        ("[" * 100_000, "d.json: nested too deeply; draw"),
        ("{", "d.json: not JSON: "),
    ],
)
def test_liberties_that_are_not_taken(text: str, message: str) -> None:
    with pytest.raises(FileError) as caught:
        parsed(text, "d.json", "draw")
    assert str(caught.value).startswith(message)


def test_a_number_that_json_does_not_have_is_not_written() -> None:
    with pytest.raises(QueryError, match="a plan holds finite numbers only; got inf"):
        to_json(replace(DRAWING, scale=float("inf")))
