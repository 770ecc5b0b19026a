"""A project made by ``headway new`` works at once, and nothing that is there is written over."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.invoke import headway

from headway.files.shipped_examples import examples_folder, shipped_examples


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_new_project_compiles_runs_and_passes_its_tests(tmp_path: Path) -> None:
    made = headway("new", "brake_watch", "--into", str(tmp_path))
    assert made.code == 0, made.err
    project = tmp_path / "brake_watch"
    assert f"wrote {project}: README.md, make_recording.py, query.yaml" in made.out
    query, vehicle = str(project / "query.yaml"), str(project / "vehicle.yaml")
    compiled = headway("compile", query, "--vehicle", vehicle, "--out", str(tmp_path / "build"))
    assert compiled.code == 0, compiled.out
    assert compiled.out.startswith("brake_watch on two_ecus")
    assert (tmp_path / "build" / "plan.html").is_file()
    ran = headway(
        "run", query, "--engine", "vehicle", "--vehicle", vehicle, "--json",
        "--input", str(project / "recording"), "--output", str(tmp_path / "results"),
    )  # fmt: skip
    assert ran.code == 0, ran.err
    outputs = {one["output"]: one for one in json.loads(ran.out)["outputs"]}
    assert outputs["alarm"]["tuples"] > 0
    assert outputs["hard_braking"]["tuples"] > 0
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--rootdir", ".", "-p", "no:cacheprovider"],
        cwd=project,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert tests.returncode == 0, tests.stdout
    assert "3 passed" in tests.stdout


def test_the_recording_is_what_its_program_writes(tmp_path: Path) -> None:
    headway("new", "first", "--into", str(tmp_path))
    before = everything(tmp_path)
    subprocess.run([sys.executable, tmp_path / "first" / "make_recording.py"], check=True)
    assert everything(tmp_path) == before


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "query.yaml").write_text("mine")
    for made in (
        headway("new", "mine", "--into", str(tmp_path)),
        headway("new", "mine", "--into", str(tmp_path)),
    ):
        assert made.code == 2
        want = "there is something of this name already; choose another name, or move it away"
        assert made.err == f"{tmp_path / 'mine'}: {want}\n"
    assert everything(tmp_path) == {"mine/query.yaml": b"mine"}


@pytest.mark.parametrize("name", ["../up", "two words", "", "1st", "x" * 64])
def test_a_project_has_the_name_of_a_query(name: str, tmp_path: Path) -> None:
    made = headway("new", name, "--into", str(tmp_path))
    assert made.code == 2
    assert f"not a name; got {name!r}; use letters, digits and '_'" in made.err
    assert everything(tmp_path) == {}


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    made = headway("new", "first", "--into", str(tmp_path / "file"))
    assert made.code == 2
    assert str(tmp_path / "file" / "first") in made.err
    assert everything(tmp_path) == {"file": b""}


def test_what_was_written_is_told_as_json(tmp_path: Path) -> None:
    told = json.loads(headway("new", "first", "--into", str(tmp_path), "--json").out)
    assert told["folder"] == str(tmp_path / "first")
    assert set(told["files"]) == everything(tmp_path / "first").keys()


def test_every_example_is_listed_and_copied_whole(tmp_path: Path) -> None:
    names = {folder.name for folder in examples_folder().iterdir() if folder.is_dir()}
    listed = headway("examples", "--json")
    assert {one["name"] for one in json.loads(listed.out)} == names
    assert all(one.summary for one in shipped_examples())
    copied = headway("examples", str(tmp_path), "tyre_watch", "hello")
    assert copied.code == 0, copied.err
    assert {path.name for path in tmp_path.iterdir()} == {"tyre_watch", "hello"}
    assert everything(tmp_path / "hello") == everything(examples_folder() / "hello")
    again = headway("examples", str(tmp_path), "hello")
    assert again.code == 2
    assert "something of this name" in again.err


def test_an_example_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    done = headway("examples", str(tmp_path), "goodbye")
    assert done.code == 2
    assert done.err.startswith(
        "there is no such example; got goodbye; choose from brake_assistant,"
    )
