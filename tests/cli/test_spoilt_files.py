"""Whatever is in a file that a command reads, it ends with an exit code and, if that is 2, with a
message that names the file: no traceback, and nothing is written outside the given folder.

``HEADWAY_EXPLORE=N`` spoils N times as many.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from tests.cli.running import headway
from tests.cli.spoilt_files import KINDS, Spoilt, name_of, spoil_bytes, spoil_json
from tests.exploring import TIMES
from typer.testing import Result

CASES = 6 * max(TIMES, 1)
"""of each kind"""
SEED = int(os.environ.get("HEADWAY_SPOIL_SEED", "0"))
MAY_END = {0, 1, 2, 3}


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_a_spoilt_file_is_read_or_refused(kind: Spoilt, tmp_path: Path) -> None:
    for package in kind.needs:
        pytest.importorskip(package)
    kind.make(tmp_path)
    whole = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    content = (tmp_path / kind.file).read_bytes()
    draw = random.Random(f"{SEED} {name_of(kind)}")
    assert run(kind, tmp_path).exit_code in {0, 1}  # the whole one
    for _ in range(CASES):
        by_structure = kind.file.endswith(".json") and draw.random() < 0.7
        if by_structure:
            spoilt = spoil_json(content.decode(), draw).encode()
        else:
            spoilt = spoil_bytes(content, draw)
        restore(tmp_path, whole)
        (tmp_path / kind.file).write_bytes(spoilt)
        done = run(kind, tmp_path)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise AssertionError(f"{kind.file}: {spoilt!r}") from done.exception
        assert done.exit_code in MAY_END, (spoilt, done.output)
        assert "Traceback" not in done.output
        if done.exit_code == 2:
            assert done.stderr.strip(), spoilt


def run(kind: Spoilt, folder: Path) -> Result:
    return headway(*(part.replace("DIR", str(folder)) for part in kind.command))


def restore(folder: Path, whole: dict[Path, bytes]) -> None:
    """The folder as it was; what a command added is removed, and none is added elsewhere."""
    assert not (folder.parent / "x").exists()
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() and path not in whole:
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    for path, content in whole.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
