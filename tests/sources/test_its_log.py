"""Logs of BSMs and CAMs: times, units, what is unavailable, whose a tuple is, and what is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headway.errors import DataError
from headway.model.schema import schema
from headway.sources.recordings import read_stream
from headway.sources.source_records import Record
from headway.world.cam import codec

NOON = 1_780_315_200_000_000
"""2026-06-01T12:00:00Z"""


def bsm(number: int = 0, **core: Any) -> dict[str, Any]:
    """As the ODE publishes them."""
    return {
        "metadata": {
            "recordType": "bsmTx",
            "recordGeneratedAt": f"2026-06-01T12:00:{number:02}.000Z[UTC]",
            "odeReceivedAt": f"2026-06-01T12:00:{number:02}.5Z",
        },
        "payload": {
            "dataType": "us.dot.its.jpo.ode.plugin.j2735.J2735Bsm",
            "data": {
                "coreData": {
                    "msgCnt": number,
                    "id": "738B0000",
                    "secMark": number * 1000 + 25,
                    "position": {"latitude": 40.5, "longitude": -105.25, "elevation": None},
                    "speed": 12.5,
                    **core,
                },
                "partII": [],
            },
        },
    }


def read_bsms(folder: Path, *messages: object, extra: str = "") -> list[Record]:
    lines = (one if isinstance(one, str) else json.dumps(one) for one in messages)
    (folder / "log.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "car.yaml").write_text(
        "bsm: log.jsonl\ncolumns: {v: coreData.speed, lat: coreData.position.latitude, "
        f"up: coreData.position.elevation, kind: metadata.recordType}}\n{extra}"
    )
    wanted = schema(v="double", lat="double", up="double", kind="string")
    return list(read_stream(folder / "car.yaml", wanted))


def test_bsms(tmp_path: Path) -> None:
    found = read_bsms(tmp_path, bsm(0), "", bsm(1, speed=None, id="AB"))
    first = (NOON + 25_000, 12.5, 40.5, None, "bsmTx")
    second = (NOON + 1_025_000, None, 40.5, None, "bsmTx")
    assert found == [
        Record(NOON + 500_000, "738B0000", first, 1),
        Record(NOON + 1_500_000, "AB", second, 3),
    ]
    (named,) = read_bsms(tmp_path, bsm(), extra="vehicle: mine\n")
    assert named.vehicle == "mine"


@pytest.mark.parametrize(
    ("mark", "after"),
    [
        (0, 0),
        (59_999, -1_000),  # the message was made just before its record, in the minute before
        (30_000, -30_000_000),
        (29_999, 29_999_000),
        (61_000, 0),  # unknown: the record's own time
        (65_535, 0),
        (None, 0),
        ("7", 0),
    ],
)
def test_the_second_mark_is_taken_in_the_nearest_minute(
    tmp_path: Path, mark: object, after: int
) -> None:
    (found,) = read_bsms(tmp_path, bsm(secMark=mark))
    assert found.row[0] == NOON + after


def test_what_is_no_bsm(tmp_path: Path) -> None:
    wrong: dict[str, object] = {
        "{": "not JSON",
        "[1]": "no JSON object; got [1]",
        "{}": "no BSM; want an object with metadata and payload.data, as the ODE writes BSMs",
    }
    for text, told in wrong.items():
        with pytest.raises(DataError) as caught:
            read_bsms(tmp_path, bsm(), text)
        assert str(caught.value) == f"{tmp_path}/log.jsonl:2: {told}"
    timeless = bsm()
    timeless["metadata"]["recordGeneratedAt"] = 5
    with pytest.raises(DataError, match="timestamp: not a value of its column; got 5"):
        read_bsms(tmp_path, timeless)
    with pytest.raises(DataError, match="v: not a value of its column; got 'fast'"):
        read_bsms(tmp_path, bsm(speed="fast"))
    empty = bsm()
    empty["payload"]["data"]["coreData"].pop("speed")
    with pytest.raises(DataError, match=r"no message has a field 'coreData\.speed'"):
        read_bsms(tmp_path, empty)


CAM_ROW = (7, 500, 346_937_000, 1_355_023_000, 4095, 4095, 3601, 900, 127, 1234, 127)
"""station, milliseconds modulo 65,536, 34.6937 and 135.5023 degrees, to the east at 12.34 m/s"""


def read_cams(folder: Path, *lines: dict[str, object]) -> list[Record]:
    (folder / "log.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    (folder / "car.yaml").write_text(
        "cam: log.jsonl\ncolumns: {id: station_id, lat: latitude, v: speed, to: heading, "
        "a: acceleration, way: drive_direction}\n"
    )
    wanted = schema(id="bigint", lat="double", v="double", to="double", a="double", way="string")
    return list(read_stream(folder / "car.yaml", wanted))


def test_cams(tmp_path: Path) -> None:
    pytest.importorskip("pycrate_asn1dir", reason="pycrate is not installed")
    uper = codec().encode(CAM_ROW).hex()
    # TimestampIts at noon is 707,400,005 * 1000: 5 leap seconds since 2004, by hand 707,400,000 s.
    modulo = 707_400_005_000 % 65_536
    received = NOON + (500 - modulo) % 65_536 * 1000 + 40_000
    unknown = codec().encode((*CAM_ROW[:7], 3601, 127, 16_383, 127)).hex()
    found = read_cams(
        tmp_path,
        {"received": received, "uper": uper},
        {"received": received + 1_000, "uper": unknown},
    )
    assert [one.arrived_at for one in found] == [received, received + 1_000]
    assert [one.row[0] for one in found] == [received - 40_000] * 2
    assert found[0].row[1:] == (7, pytest.approx(34.6937), pytest.approx(12.34),
                                pytest.approx(90.0), None, "forward")  # fmt: skip
    assert found[1].row[3:5] == (None, None)


def test_what_is_no_cam(tmp_path: Path) -> None:
    pytest.importorskip("pycrate_asn1dir", reason="pycrate is not installed")
    for uper in ("", "zz", "00", None, 5, "ff" * 40):
        with pytest.raises(DataError, match="uper: no CAM; got") as caught:
            read_cams(tmp_path, {"received": NOON, "uper": uper})
        assert str(caught.value).startswith(f"{tmp_path}/log.jsonl:1: ")
    with pytest.raises(DataError, match="arrived_at: not a value of its column; got None"):
        read_cams(tmp_path, {"uper": "00"})


def test_a_column_that_no_cam_has(tmp_path: Path) -> None:
    (tmp_path / "car.yaml").write_text("cam: log.jsonl\ncolumns: {v: velocity}\n")
    (tmp_path / "log.jsonl").write_text("")
    with pytest.raises(DataError, match="got 'velocity'; want fields of station_id, station_type"):
        list(read_stream(tmp_path / "car.yaml", schema(v="double")))
