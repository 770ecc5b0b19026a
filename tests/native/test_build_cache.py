"""Programs that are kept: found again, told apart, and built again where they are damaged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.native.needed import fake_compiler, host, needs_compiler
from tests.waiting import PATIENCE_S

from headway.errors import EnvironmentMissing, FileError, InputError
from headway.native import build_cache
from headway.native.build_cache import CachedProgram, cache_folder, cached_program
from headway.native.toolchain import BinaryKind, BuildMode, Family, Target, Toolchain

TREE = {
    "main.cpp": '#include "parts/number.hpp"\nint main() { return NUMBER; }\n',
    "parts/number.hpp": "constexpr int NUMBER = 3;\n",
}


@pytest.fixture
def fake(tmp_path: Path) -> Toolchain:
    """Compiles nothing but writes all that it was given to the program, and itself into a list."""
    body = f"""
echo called >> '{tmp_path}/calls'
for word in "$@"; do out=$word; done
cat main.cpp > "$out"; echo "$@" >> "$out"
"""
    command = fake_compiler(tmp_path / "bin" / "c++", version="fake 1", body=body)
    return Toolchain((str(command),), "fake 1", Target.NATIVE, Family.CLANG)


def calls(tmp_path: Path) -> int:
    path = tmp_path / "calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


def kept(
    tmp_path: Path, fake: Toolchain, files: Mapping[str, str] = TREE, **options: Any
) -> CachedProgram:
    return cached_program(files, ["main.cpp"], fake, cache=tmp_path / "cache", **options)


def test_the_second_time_nothing_is_compiled(tmp_path: Path, fake: Toolchain) -> None:
    said: list[str] = []
    first = kept(tmp_path, fake, before_compiling=lambda: said.append("compiling"))
    second = kept(tmp_path, fake, before_compiling=lambda: said.append("compiling"))
    assert (first.built, second.built) == (True, False)
    assert first.path == second.path
    assert first.path.read_text().startswith(TREE["main.cpp"])
    assert said == ["compiling"]
    assert calls(tmp_path) == 1
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [first.path.parent.name]


def test_whatever_matters_makes_another_program(tmp_path: Path, fake: Toolchain) -> None:
    headers = tmp_path / "headers"
    headers.mkdir()
    (headers / "own.hpp").write_text("one\n")
    changes: list[dict[str, Any]] = [
        {},
        {"files": {**TREE, "main.cpp": "int main() { return 1; }\n"}},
        {"files": {**TREE, "parts/number.hpp": "constexpr int NUMBER = 4;\n"}},
        {"files": {**TREE, "more.hpp": ""}},
        {"files": {"main.cpp": TREE["main.cpp"], "parts/named.hpp": TREE["parts/number.hpp"]}},
        {"kind": BinaryKind.SHARED},
        {"mode": BuildMode.DEBUG},
        {"definitions": ["HEADWAY_GROWS"]},
        {"extra": ["-lm"]},
        {"strict": False},
        {"include": [headers]},
        {"fake": replace(fake, version="fake 2")},
        {"fake": replace(fake, command=(*fake.command, "-march=native"))},
    ]
    paths = {kept(tmp_path, **{"fake": fake, **change}).path for change in changes}
    assert len(paths) == len(changes) == calls(tmp_path)
    (headers / "own.hpp").write_text("two\n")
    assert kept(tmp_path, fake, include=[headers]).path not in paths


def test_names_and_texts_cannot_be_mistaken_for_each_other(tmp_path: Path, fake: Toolchain) -> None:
    one = kept(tmp_path, fake, {"main.cpp": "ab", "x": "c"})
    other = kept(tmp_path, fake, {"main.cpp": "a", "bx": "c"})
    assert one.path != other.path


@pytest.mark.parametrize(
    "damage",
    [
        lambda entry: (entry / "program").write_bytes(b"something else"),
        lambda entry: (entry / "program").write_bytes(b""),
        lambda entry: (entry / "program").unlink(),
        lambda entry: (entry / "entry.json").write_text("{"),
        lambda entry: (entry / "entry.json").write_text("[]"),
        lambda entry: (entry / "entry.json").write_text("[" * 100_000),
        lambda entry: (entry / "entry.json").write_bytes(b"\xff\xfe"),
        lambda entry: (entry / "entry.json").unlink(),
        lambda entry: (entry / "entry.json").write_text(
            json.dumps({**json.loads((entry / "entry.json").read_text()), "stack": "deep"})
        ),
    ],
)
def test_a_damaged_entry_is_built_again(tmp_path: Path, fake: Toolchain, damage: Any) -> None:
    first = kept(tmp_path, fake)
    content = first.path.read_text()
    damage(first.path.parent)
    again = kept(tmp_path, fake)
    assert again == replace(first, built=True)
    assert again.path.read_text().startswith(TREE["main.cpp"])
    assert len(again.path.read_text()) == len(content)
    assert kept(tmp_path, fake).built is False
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [first.path.parent.name]


def test_who_comes_second_takes_the_first_one_s(tmp_path: Path, fake: Toolchain) -> None:
    """Another process builds the same while this one compiles."""
    theirs: list[CachedProgram] = []
    mine = kept(tmp_path, fake, before_compiling=lambda: theirs.append(kept(tmp_path, fake)))
    assert calls(tmp_path) == 2
    assert theirs[0].built
    assert mine == replace(theirs[0], built=False)
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [mine.path.parent.name]


def test_many_at_once(tmp_path: Path, fake: Toolchain) -> None:
    with ThreadPoolExecutor(max_workers=8) as pool:
        found = list(pool.map(lambda _: kept(tmp_path, fake), range(16)))
    assert len({one.path for one in found}) == 1
    assert sum(one.built for one in found) == 1
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [found[0].path.parent.name]


def test_a_refused_program_is_not_kept(tmp_path: Path) -> None:
    command = fake_compiler(tmp_path / "c++", version="fake", body="exit 1")
    toolchain = Toolchain((str(command),), "fake", Target.NATIVE, Family.CLANG)
    for _ in range(2):
        with pytest.raises(FileError, match="the compiler failed"):
            kept(tmp_path, toolchain)
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("name", ["../main.cpp", "/main.cpp", "a/../../main.cpp", "."])
def test_a_file_outside_the_tree_is_refused(tmp_path: Path, fake: Toolchain, name: str) -> None:
    with pytest.raises(InputError, match="must lie inside the folder of its program"):
        kept(tmp_path, fake, {**TREE, name: ""})
    assert calls(tmp_path) == 0


# ---------------------------------------------------------------- room


def test_what_was_not_used_for_longest_makes_room(
    tmp_path: Path, fake: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def number(count: int) -> CachedProgram:
        return kept(tmp_path, fake, {"main.cpp": f"{count:0>1000}\n"})

    entries = [number(count).path.parent for count in range(4)]
    for age, entry in enumerate(entries):
        os.utime(entry, (1000 + age, 1000 + age))
    number(0)  # has been used now
    draft = tmp_path / "cache" / "draft-killed"
    draft.mkdir()
    os.utime(draft, (1000, 1000))
    size = sum(path.stat().st_size for path in entries[0].iterdir())
    monkeypatch.setattr(build_cache, "MOST_BYTES", 3 * size + size // 2)
    last = number(9).path.parent
    assert {path.name for path in (tmp_path / "cache").iterdir()} == {
        entries[0].name,
        entries[3].name,
        last.name,
    }


def test_what_was_used_lately_stays(
    tmp_path: Path, fake: Toolchain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_cache, "MOST_BYTES", 0)
    first = kept(tmp_path, fake)
    kept(tmp_path, fake, mode=BuildMode.DEBUG)
    assert kept(tmp_path, fake) == replace(first, built=False)


# ---------------------------------------------------------------- places


def test_where_programs_are_kept(tmp_path: Path) -> None:
    chosen = {"HEADWAY_CACHE": str(tmp_path / "mine"), "XDG_CACHE_HOME": str(tmp_path / "xdg")}
    assert cache_folder(chosen) == tmp_path / "mine" / "native-programs"
    del chosen["HEADWAY_CACHE"]
    assert cache_folder(chosen) == tmp_path / "xdg" / "headway" / "native-programs"


def test_others_cannot_look_into_it(tmp_path: Path, fake: Toolchain) -> None:
    kept(tmp_path, fake)
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path, fake: Toolchain) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentMissing) as caught:
        cached_program(TREE, ["main.cpp"], fake, cache=tmp_path / "file" / "cache")
    assert str(caught.value) == (
        f"Compiled programs cannot be kept: {tmp_path}/file/cache: Not a directory. "
        f"Set HEADWAY_CACHE to a folder that can be written to."
    )


# ---------------------------------------------------------------- a real compiler

BUILD = """
import sys
from pathlib import Path
from headway.native.build_cache import cached_program
from headway.native.toolchain import BuildMode, find_toolchain

files = {"main.cpp": "int main() { return 42; }\\n"}
sys.stdin.read()  # until both are there
built = cached_program(files, ["main.cpp"], find_toolchain(), mode=BuildMode.DEBUG)
sys.stdout.write(str(built.path))
"""


@needs_compiler
def test_two_processes_build_the_same_at_once(tmp_path: Path) -> None:
    environment = {**os.environ, "HEADWAY_CACHE": str(tmp_path / "the cache")}
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", BUILD]
    both = [
        subprocess.Popen(command, env=environment, text=True, stdin=pipe, stdout=pipe)
        for _ in range(2)
    ]
    for one in both:
        assert one.stdin is not None
        one.stdin.close()
        one.stdin = None
    paths = {one.communicate(timeout=PATIENCE_S)[0] for one in both}
    assert [one.returncode for one in both] == [0, 0]
    (path,) = paths
    assert subprocess.run([path], check=False).returncode == 42
    assert len(list((tmp_path / "the cache" / "native-programs").iterdir())) == 1


@needs_compiler
def test_a_program_of_several_files_works(tmp_path: Path) -> None:
    built = cached_program(TREE, ["main.cpp"], host(), mode=BuildMode.DEBUG, cache=tmp_path)
    assert subprocess.run([built.path], check=False).returncode == 3


@needs_compiler
def test_an_error_names_the_file_as_the_tree_does(tmp_path: Path) -> None:
    files = {**TREE, "parts/number.hpp": "constexpr int NUMBER = wrong;\n"}
    with pytest.raises(FileError, match=r"^parts/number.hpp:1:24: the compiler refuses this: "):
        cached_program(files, ["main.cpp"], host(), cache=tmp_path)
