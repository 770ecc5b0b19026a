"""Where the recorded drive is looked for, and what is said of one that is absent or broken."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.recorded_drive import SEGMENT, unpacked

from headway.errors import EnvironmentMissing, InputError
from headway_studies.beyond import recorded_segment as segment
from headway_studies.beyond.recorded_drive import STUDY
from headway_studies.beyond.recorded_segment import (
    DBC,
    FILES,
    SEGMENT_VARIABLE,
    lacks,
    recording,
    segment_directory,
)
from headway_studies.row_reading import where
from headway_studies.study import Cell


def test_rows_are_the_same_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy elsewhere, and the cells as computed from it; blanks must not hurt the CAN pointer."""
    copy = copied(tmp_path / "an other: place" / "segment")
    cells = STUDY.cells(True)
    ahead = one_cell(cells, "ahead")
    rows = STUDY.run(ahead)
    monkeypatch.setenv(SEGMENT_VARIABLE, str(copy))
    assert STUDY.cells(True) == cells
    assert STUDY.run(ahead) == rows
    assert where(rows, part="moment")


@pytest.mark.parametrize(
    ("name", "part", "told"),
    [
        ("processed_log/CAN/raw_can/data", "ahead", r"raw_can: "),
        ("processed_log/CAN/radar/value", "ahead", r"radar/value is not a readable NumPy file"),
        ("processed_log/GNSS/live_gnss_ublox/t", "position", r"ublox/t is not a readable NumPy"),
        ("global_pose/frame_positions", "position", r"frame_positions is not a readable NumPy"),
        (DBC, "rate", r"toyota_adas.dbc: \d+ of the radar's tracks cannot"),
    ],
)
def test_a_broken_recording_is_told(
    name: str, part: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = unpacked(tmp_path / "segment")
    monkeypatch.setenv(SEGMENT_VARIABLE, str(folder))
    whole = one_cell(STUDY.cells(True), part)
    path = (folder / name).resolve()
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InputError, match=r"not the recorded drive that the run began with"):
        STUDY.run(whole)
    with pytest.raises(InputError, match=told):
        STUDY.run(one_cell(STUDY.cells(True), part))
    path.unlink()
    assert f"got a folder without {name}; set it to" in str(lacks())
    with pytest.raises(EnvironmentMissing, match=r"there is no whole recorded drive"):
        STUDY.run(whole)


@pytest.mark.parametrize(
    ("name", "part", "told"),
    [
        ("processed_log/CAN/raw_can.npz", "ahead", r"raw_can.npz: "),
        ("processed_log/CAN/speed.npz", "position", r"CAN/speed/t is not a readable NumPy file"),
    ],
)
def test_a_broken_packed_recording_is_told(
    name: str, part: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SEGMENT_VARIABLE, raising=False)
    folder = tmp_path / "segment"
    shutil.copytree(segment_directory(), folder)
    shutil.copyfile(segment.dbc_of(segment_directory()), segment.dbc_of(folder))
    (folder / name).write_bytes((folder / name).read_bytes()[:1000])
    monkeypatch.setenv(SEGMENT_VARIABLE, str(folder))
    with pytest.raises(InputError, match=told):
        STUDY.run(one_cell(STUDY.cells(True), part))


def test_without_a_recording_the_study_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Headway's own is there unless it was not installed. What is said is the same on every
    machine: it goes into reports."""
    monkeypatch.delenv(SEGMENT_VARIABLE, raising=False)
    assert STUDY.lacks() is None
    monkeypatch.setattr(segment, "OWN", "examples/not_there")
    assert STUDY.lacks() == (
        "the recorded drive is not installed (examples/not_there): install Headway from a wheel or "
        "a source tree, or set HEADWAY_COMMA2K19 to the folder of a segment of a Toyota RAV4 from "
        "the public data set comma2k19 (repository commaai/comma2k19), which holds global_pose, "
        "processed_log/CAN and processed_log/GNSS, and put toyota_adas.dbc (repository "
        "commaai/opendbc) into the folder above"
    )
    assert recording() is None
    with pytest.raises(EnvironmentMissing, match=r"the recorded drive is not installed"):
        STUDY.run(STUDY.cells(True)[0])


@pytest.mark.parametrize(
    ("name", "got"),
    [
        (".", f"a folder without {FILES[0]} and {len(FILES) - 1} more of its {len(FILES)} files"),
        ("absent", "no such folder"),
    ],
)
def test_a_wrong_folder_is_named_with_what_it_lacks(
    name: str, got: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / name
    monkeypatch.setenv(SEGMENT_VARIABLE, str(folder))
    assert str(STUDY.lacks()).startswith(
        f"{folder}: HEADWAY_COMMA2K19 is set to this folder, but there is no whole recorded drive "
        f"in it; got {got}; set it to the folder of a segment"
    )
    assert recording() is None


def test_a_relative_folder_is_one_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(SEGMENT_VARIABLE, "drives/7")
    assert segment_directory() == tmp_path / "drives" / "7"


def copied(folder: Path) -> Path:
    """As it is."""
    shutil.copytree(SEGMENT, folder)
    shutil.copyfile(segment.dbc_of(SEGMENT), segment.dbc_of(folder))
    return folder


def one_cell(cells: Iterable[Cell], part: str) -> Cell:
    return next(cell for cell in cells if cell["part"] == part)
