"""The drawn car: the same again, its buses and domains, and a small one compiled."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from benchmarks import bench_whole_car

from headway.model.vehicle import BusKind
from headway_studies.beyond import whole_car
from headway_studies.beyond.whole_car import DOMAINS, SHARED, Car, draw_car
from headway_studies.row_reading import number
from headway_studies.study import Row

STUDY = whole_car.STUDY


@cache
def row() -> Row:
    (found,) = STUDY.run({"ecus": 20, "applications": 8, "seed": 1})
    return found


def test_the_same_numbers_give_the_same_car() -> None:
    assert draw_car(30, 10, 4) == draw_car(30, 10, 4)
    assert draw_car(30, 10, 4) != draw_car(30, 10, 5)


def test_too_small_a_car_is_refused() -> None:
    with pytest.raises(ValueError, match="a car of 19 ECUs: at least 20, or a domain has none"):
        draw_car(19, 4, 1)


@pytest.mark.parametrize("ecus", [20, 70, 100])
def test_a_car_has_all_its_ecus_each_on_one_bus(ecus: int) -> None:
    car = draw_car(ecus, 60, 2)
    names = {node.name for node in car.vehicle.nodes}
    assert len(names) == ecus
    on_buses = Counter(name for bus in car.vehicle.buses for name in bus.nodes)
    assert on_buses == Counter(names)
    assert {gateway.buses for gateway in car.vehicle.gateways} == {
        tuple(bus.name for bus in car.vehicle.buses)
    }
    for bus in car.vehicle.buses:
        assert len(bus.nodes) <= (16 if bus.kind is BusKind.ETHERNET else 12)
    for domain in DOMAINS:
        mine = [name for name in names if name.startswith(f"{domain.name}_")]
        assert mine
        assert abs(len(mine) - ecus * domain.share) <= 2


def places(car: Car) -> dict[str, str]:
    return dict(car.vehicle.sensors) | dict(car.vehicle.pins)


def test_every_application_ends_at_an_actuator() -> None:
    car = draw_car(70, 60, 3)
    assert len(car.query.outputs) == 60
    assert set(dict(car.vehicle.pins)) == {output.stream for output in car.query.outputs}
    assert {source.name for source in car.query.sources} == set(dict(car.vehicle.sensors))
    assert set(places(car).values()) <= {node.name for node in car.vehicle.nodes}
    read = Counter(port.stream for step in car.query.operators for port in step.inputs)
    assert all(read[state] >= 1 for state in SHARED)
    assert sum(read[state] for state in SHARED) > 10


def test_a_small_car_compiles() -> None:
    found = row()
    assert (found["outputs"], found["kept"]) == (8, 8)
    assert found["buses"] == 6
    assert 0 < number(found, "bus_load") < 1


def test_the_benchmark_on_a_small_car(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "plan.html"
    bench_whole_car.main(["20:4", "--seed", "2", "--page", str(page)])
    told = capsys.readouterr().out
    assert "20 ECUs, 6 buses, 4 applications" in told
    assert "4 of 4 promised" in told
    assert "whole_car on car_20" in page.read_text(encoding="utf-8")


def test_what_is_told_of_several_cars() -> None:
    """Two cars of a size in one line, the least and the most of each."""
    other = {**row(), "kept": 7, "hard": 5, "hard_kept": 4, "bus_load": 0.5, "node_load": 0.25}
    one = {**row(), "hard": 5, "hard_kept": 5, "bus_load": 0.1, "node_load": 0.05}
    (claim,) = STUDY.analyse([one, other]).claims
    assert claim.ours.startswith("15 of 16 deadlines, of hard ones 9 of 10 (2 cars drawn;")
    assert claim.ours.endswith("used to 10–50 %, the fullest ECU to 5–25 %")
