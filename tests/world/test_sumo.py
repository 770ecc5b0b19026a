"""SUMO behind the same interface."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from headway.errors import EnvironmentMissing, FileError, InputError
from headway.world.drive_recording import record
from headway.world.drive_scenario import Scenario
from headway.world.grid_traffic import GridTraffic
from headway.world.sumo import (
    SumoTraffic,
    generate_grid,
    read_buildings,
    read_network,
    sumo_grid,
    sumo_traffic,
    write_trips,
)
from headway.world.traffic import Traffic

needs_sumo = pytest.mark.skipif(
    importlib.util.find_spec("libsumo") is None or importlib.util.find_spec("sumo") is None,
    reason="needs libsumo and eclipse-sumo (the extra 'sumo')",
)

NET = """<net>
  <edge id="ab" from="a" to="b"/><edge id="ba" from="b" to="a"/>
  <edge id=":b_0" function="internal"/>
  <junction id="a" type="priority" x="0" y="0"/><junction id="b" type="priority" x="100" y="0"/>
  <junction id=":b_0" type="internal" x="9" y="9"/>
</net>"""


@pytest.fixture(scope="module")
def driven() -> SumoTraffic:
    return sumo_grid(columns=4, rows=3, cars=40, duration=30.0, seed=3, equipped=0.5)


@needs_sumo
def test_both_kinds_of_traffic_answer_alike(driven: SumoTraffic) -> None:
    traffics: list[Traffic] = [driven, GridTraffic(Scenario())]
    for traffic in traffics:
        cars = len(traffic.ids)
        assert traffic.ids.tolist() == list(range(1, cars + 1))
        assert traffic.own in traffic.ids
        assert traffic.radio.shape == (cars,)
        assert traffic.radio.dtype == np.bool_
        assert traffic.buildings.shape[1] == traffic.streets.shape[1] == 4
        assert traffic.crossings.shape[1] == 2
        everyone = traffic.at(np.array([20.0, 20.05]))
        assert all(axis.shape == (2, cars) for axis in everyone)
        columns = np.array([0, 1, 2])
        some = traffic.of(columns, np.full(3, 20.05))
        np.testing.assert_array_equal(some.x, everyone.x[1, :3])
        bounds = traffic.bounds
        own = traffic.of(np.array([traffic.own - 1]), np.array([20.0]))
        assert bounds.min_x <= own.x[0] <= bounds.max_x
        assert bounds.min_y <= own.y[0] <= bounds.max_y


@needs_sumo
def test_cars_come_and_go_and_move_as_fast_as_they_say(driven: SumoTraffic) -> None:
    motion = driven.at(np.arange(0, 30, 0.1))
    there = np.isfinite(motion.x)
    assert not there[0].all()
    assert there.any(axis=0).all()
    speed = np.hypot(motion.vx, motion.vy)
    moved = np.hypot(np.diff(motion.x, axis=0), np.diff(motion.y, axis=0)) / 0.1
    straight = np.abs(np.diff(speed, axis=0)) < 1
    # The middle of a car swings out where it turns, so not every step agrees.
    agree = np.abs(moved - speed[1:])[straight & there[1:] & there[:-1]] < 0.5
    assert agree.mean() > 0.9
    for min_x, min_y, max_x, max_y in driven.buildings:
        inside = (motion.x > min_x) & (motion.x < max_x) & (motion.y > min_y) & (motion.y < max_y)
        assert not inside.any()


@needs_sumo
def test_it_records_a_drive_the_same_each_time(driven: SumoTraffic) -> None:
    drive, again = record(driven), record(driven)
    assert drive.streams["gps"].num_rows > 100
    assert drive.streams["radar"].num_rows > 0
    assert drive.counts.delivered > 0
    assert not (set(drive.streams["v2v"].column("sender").to_pylist())
                & set(driven.ids[~driven.radio].tolist()))  # fmt: skip
    for name, stream in drive.streams.items():
        assert stream.equals(again.streams[name])


@needs_sumo
def test_from_a_network_and_a_route_file(tmp_path: Path) -> None:
    net = generate_grid(tmp_path, 3, 3, 80.0)
    trips = write_trips(net, 5, 20.0, seed=1)
    traffic = sumo_traffic(net, trips, duration=20.0, own="car2")
    assert traffic.names[traffic.own - 1] == "car2"
    assert len(traffic.crossings) == 9
    assert len(traffic.streets) == 12
    with pytest.raises(InputError, match="own: no such car departs; got 'nobody'; such as 'car0'"):
        sumo_traffic(net, trips, duration=20.0, own="nobody")
    bad = tmp_path / "bad.xml"
    bad.write_text('<routes><trip id="t" depart="0" from="nowhere" to="A0B0"/></routes>')
    with pytest.raises(FileError, match=r"bad\.xml: SUMO failed"):
        sumo_traffic(net, bad, duration=20.0)


def test_without_libsumo_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = tmp_path / "one.net.xml"
    net.write_text(NET)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("SUMO_HOME", raising=False)
    with pytest.raises(EnvironmentMissing, match=r"needs libsumo.*pip install 'headway\[sumo\]'"):
        sumo_traffic(net, net, duration=1.0)
    with pytest.raises(EnvironmentMissing, match=r"SUMO's netgenerate.*'headway\[sumo\]'"):
        generate_grid(tmp_path, 3, 3, 100.0)


def test_a_network_is_read_without_its_inner_parts(tmp_path: Path) -> None:
    path = tmp_path / "one.net.xml"
    path.write_text(NET)
    network = read_network(path)
    assert network.crossings.tolist() == [[0, 0], [100, 0]]
    assert network.streets.tolist() == [[0, 0, 100, 0]]
    assert network.edges == ("ab", "ba")


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be read: No such file"):
        read_network(tmp_path / "none.net.xml")
    path = tmp_path / "x.net.xml"
    path.write_text("<net")
    with pytest.raises(FileError, match="cannot be read as XML"):
        read_network(path)
    path.write_text("<routes/>")
    with pytest.raises(FileError, match="no <net> file; got <routes>"):
        read_network(path)
    path.write_text("<net/>")
    with pytest.raises(FileError, match="a network without streets"):
        read_network(path)


def test_buildings_are_the_rectangles_around_polygons(tmp_path: Path) -> None:
    path = tmp_path / "houses.xml"
    path.write_text(
        '<additional><poly type="building.house" shape="0,0 10,2 8,9"/>'
        '<poly type="water" shape="0,0 1,1"/></additional>'
    )
    assert read_buildings(path).tolist() == [[0, 0, 10, 9]]
