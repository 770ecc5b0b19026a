"""VSS trees: includes, instances, types; a small tree of our own, written as the public one is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.invoke import headway

from headway.errors import FileError, InputError
from headway.files import parse_query
from headway.files.vss_tree import column_names, load_vss, source_text

TREE = {
    "VehicleSignalSpecification.vspec": """
Vehicle:
  type: branch
  description: All.
#include Vehicle/Vehicle.vspec Vehicle
Vehicle.Cabin:
  type: branch
  description: Inside.
#include Cabin/Cabin.vspec Vehicle.Cabin
""",
    "Vehicle/Vehicle.vspec": """
Speed: {type: sensor, datatype: float, unit: km/h, description: "How fast:\\n  now."}
Trace: {type: sensor, datatype: "uint8[]", description: Many.}
Gear: {type: actuator, datatype: string, allowed: [P, Rear, D], description: Which.}
""",
    "Cabin/Cabin.vspec": """
Door:
  type: branch
  instances:
    - Row[1,2]
    - ["Left", "Right"]
  description: A door.
DoorCount: {type: attribute, datatype: uint8, description: How many.}
#include Door.vspec Door
""",
    "Cabin/Door.vspec": """
IsOpen: {type: actuator, datatype: boolean, description: Whether it is.}
Kind: {type: attribute, datatype: string, instantiate: false, description: Of all.}
""",
}
SIGNALS = [
    "Vehicle.Speed",
    "Vehicle.Trace",
    "Vehicle.Gear",
    "Vehicle.Cabin.DoorCount",
    "Vehicle.Cabin.Door.Row1.Left.IsOpen",
    "Vehicle.Cabin.Door.Row1.Right.IsOpen",
    "Vehicle.Cabin.Door.Row2.Left.IsOpen",
    "Vehicle.Cabin.Door.Row2.Right.IsOpen",
    "Vehicle.Cabin.Door.Kind",
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_signals_of_a_tree(tree: Path) -> None:
    found = load_vss(tree)
    assert sorted(found.signals) == sorted(SIGNALS)
    speed, gear = found.signals["Vehicle.Speed"], found.signals["Vehicle.Gear"]
    assert (speed.column_type, speed.description) == ("float [km/h]", "How fast: now.")
    assert gear.column_type == "string(4)"  # as long as the longest text that is allowed
    assert found.signals["Vehicle.Trace"].type is None


def test_exported_json_is_the_same(tree: Path) -> None:
    def nodes(signals: list[str], depth: int) -> dict[str, object]:
        below: dict[str, list[str]] = {}
        for name in signals:
            below.setdefault(name.split(".")[depth], []).append(name)
        return {
            part: {"type": "branch", "children": nodes(names, depth + 1)}
            if names[0].count(".") > depth
            else {
                "type": known[names[0]].kind,
                "datatype": known[names[0]].datatype,
                "unit": known[names[0]].unit,
                "description": known[names[0]].description,
                "allowed": list(known[names[0]].allowed),
            }
            for part, names in below.items()
        }

    known = load_vss(tree).signals
    (tree / "vss.json").write_text(json.dumps(nodes(SIGNALS, 0)))
    assert dict(load_vss(tree / "vss.json").signals) == dict(known)


def test_columns_get_as_much_of_the_name_as_tells_them_apart(tree: Path) -> None:
    found = load_vss(tree).matching(["Vehicle.Speed", "*.IsOpen"])
    assert list(column_names(found).values()) == [
        "speed",
        "row1_left_is_open",
        "row1_right_is_open",
        "row2_left_is_open",
        "row2_right_is_open",
    ]


def test_a_source_of_a_query(tree: Path) -> None:
    catalogue = load_vss(tree)
    text = source_text(catalogue, "car", catalogue.matching(["Vehicle.Speed", "*Gear"]))
    assert "columns=speed:Vehicle.Speed,gear:Vehicle.Gear" in text
    rest = "query: q\noutputs:\n  car: {from: car, deadline: 1 s}\n"
    (source,) = parse_query(text + rest).query.sources
    assert [field.describe() for field in source.schema.fields] == ["float [km/h]", "string(4)"]


def test_what_is_not_there_is_told_with_what_is_like_it(tree: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_vss(tree).matching(["Vehicle.Sped", "Vehicle.*"])
    assert "no signal is called 'Vehicle.Sped'; got Vehicle.Speed" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no signal is in it"),
        ("Vehicle: {type: branch}", "no signal is in it"),
        ("Speed: 5", "not a node"),
        ("- 5", "not a mapping; got a list"),
        ("Speed: {type: sensor}", "a signal without a datatype"),
        ("#include VehicleSignalSpecification.vspec X", "includes go round"),
        ("#include Nothing.vspec X", "Nothing.vspec"),
        ("a: {", ""),
    ],
)
def test_no_tree(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "VehicleSignalSpecification.vspec").write_text(text)
    with pytest.raises(FileError) as caught:
        load_vss(tmp_path)
    assert what in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_the_command(tree: Path, tmp_path: Path) -> None:
    listed = headway("vss", "list", str(tree), "--signal", "Vehicle.Speed", "--json")
    assert json.loads(listed.out)["signals"] == [
        {
            "name": "Vehicle.Speed",
            "kind": "sensor",
            "datatype": "float",
            "unit": "km/h",
            "column": "float [km/h]",
            "description": "How fast: now.",
        }
    ]
    assert "9 signals" in headway("vss", "list", str(tree)).out
    out = tmp_path / "made" / "car.yaml"
    done = headway("vss", "import", str(tree), "--signal", "Vehicle.*", "--out", str(out))
    assert done.code == 0
    assert done.err == "left out: Vehicle.Trace is uint8[], no column can hold it\n"
    assert "row2_left_is_open: boolean" in out.read_text()
    assert headway("vss", "import", str(tree)).err.startswith("--signal: no signal is named")
    nothing = headway("vss", "import", str(tree), "--signal", "Vehicle.Trace")
    assert (nothing.code, "no signal is left" in nothing.err) == (2, True)
