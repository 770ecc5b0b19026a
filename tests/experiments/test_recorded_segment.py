"""Where the recorded drive is looked for, and what is said of one that is absent or broken."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from headway.errors import EnvironmentMissing, InputError
from headway.experiments.recorded.segment import (
    DBC,
    FILES,
    SEGMENT_VARIABLE,
    SHARED_VARIABLE,
    lacks,
    recording,
    segment_directory,
)
from headway.experiments.rows import where
from headway.experiments.studies.recorded_drive import STUDY
from headway.experiments.study import Cell

SEGMENT = segment_directory()
needs_the_drive = pytest.mark.skipif(lacks() is not None, reason=str(lacks()))


@needs_the_drive
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
    assert len(where(rows, part="moment")) > 400


@needs_the_drive
@pytest.mark.parametrize(
    ("name", "part", "told"),
    [
        ("processed_log/CAN/raw_can/data", "ahead", r"raw_can: "),
        ("processed_log/CAN/radar/value", "ahead", r"radar/value is not a readable NumPy file"),
        ("processed_log/GNSS/live_gnss_ublox/t", "position", r"ublox/t is not a readable NumPy"),
        ("global_pose/frame_positions", "position", r"frame_positions is not a readable NumPy"),
        (DBC, "rate", r"toyota_adas.dbc: 12 of the radar's tracks cannot"),
    ],
)
def test_a_broken_recording_is_told(
    name: str, part: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = copied(tmp_path / "segment")
    monkeypatch.setenv(SEGMENT_VARIABLE, str(folder))
    whole = one_cell(STUDY.cells(True), part)
    path = (folder / name).resolve()
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InputError, match=r"not the recorded drive that the run began with"):
        STUDY.run(whole)
    with pytest.raises(InputError, match=told):
        STUDY.run(one_cell(STUDY.cells(True), part))
    path.unlink()
    assert f"lacks {name}: set {SEGMENT_VARIABLE}" in str(lacks())
    with pytest.raises(EnvironmentMissing, match=r"the recorded drive lacks"):
        STUDY.run(whole)


def test_without_a_recording_the_study_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SEGMENT_VARIABLE, str(tmp_path))
    lack = STUDY.lacks()
    assert lack is not None
    for word in (SEGMENT_VARIABLE, "comma2k19", "processed_log/CAN", "toyota_adas.dbc"):
        assert word in lack
    assert str(tmp_path) not in lack
    assert recording() is None
    with pytest.raises(EnvironmentMissing, match=r"there is no recorded drive"):
        STUDY.run(STUDY.cells(True)[0])


def test_where_the_recording_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHARED_VARIABLE, "/elsewhere")
    monkeypatch.delenv(SEGMENT_VARIABLE, raising=False)
    assert segment_directory() == Path("/elsewhere/data/comma2k19/segment")
    monkeypatch.setenv(SEGMENT_VARIABLE, "/drives/7")
    assert segment_directory() == Path("/drives/7")


def copied(folder: Path) -> Path:
    for name in FILES:
        target = folder.parent / Path(name).name if name == DBC else folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(SEGMENT / name, target)
    return folder


def one_cell(cells: Iterable[Cell], part: str) -> Cell:
    return next(cell for cell in cells if cell["part"] == part)
