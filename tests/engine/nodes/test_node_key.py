"""The key of a build: new each time, for its owner only."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from tests.engine.nodes.study import study_plan

from headway.engine.nodes.executables import build_executables, write_build
from headway.engine.nodes.node_command import main
from headway.engine.nodes.node_key import KEY_BYTES, KEY_FILE, new_key, read_key, write_key
from headway.engine.nodes.node_slice import slice_to_json
from headway.errors import FileError


def test_each_build_makes_a_new_one_that_only_its_owner_reads(tmp_path: Path) -> None:
    plan = study_plan()
    built = build_executables(plan)
    before = os.umask(0)
    try:
        written = write_build(plan, built, tmp_path)
        first = read_key(tmp_path / KEY_FILE)
        write_build(plan, built, tmp_path)
    finally:
        os.umask(before)
    assert tmp_path / KEY_FILE in written
    assert len(first) == KEY_BYTES
    assert read_key(tmp_path / KEY_FILE) != first
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    for one in built:
        assert first not in one.content


def test_one_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    path = write_key(tmp_path, new_key())
    path.chmod(0o640)
    with pytest.raises(FileError, match="others can read the key of the nodes; got mode 0640"):
        read_key(path)


@pytest.mark.parametrize(
    ("content", "got"), [(b"", "0 bytes"), (bytes(31), "31 bytes"), (bytes(99), "more than 32")]
)
def test_one_that_is_damaged_is_not_used(tmp_path: Path, content: bytes, got: str) -> None:
    path = write_key(tmp_path, content)
    with pytest.raises(FileError, match=f"not a key of 32 bytes; got {got}"):
        read_key(path)


def test_a_node_without_one_does_not_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = study_plan()
    built = build_executables(plan)
    write_build(plan, built, tmp_path)
    (tmp_path / KEY_FILE).unlink()
    assert main(slice_to_json(built[0].part), tmp_path / built[0].name, []) == 2
    said = capsys.readouterr().err
    assert "cannot read the key of the nodes: No such file" in said
    assert f"take {KEY_FILE} from the folder of the build" in said


def test_it_may_lie_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = study_plan()
    built = build_executables(plan)
    write_build(plan, built, tmp_path)
    options = ["--key", str(tmp_path / "elsewhere")]
    assert main(slice_to_json(built[0].part), tmp_path / built[0].name, options) == 2
    assert "elsewhere: cannot read the key" in capsys.readouterr().err
