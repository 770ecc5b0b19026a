"""``headway build`` for native nodes: what lies in the folder, what is told, what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.invoke import Outcome, headway
from tests.engine.nodes.study import study_plan
from tests.native.needed import HOST, needs_cmake, needs_compiler, needs_gcc
from tests.native.small_source import small_source

from headway.engine.nodes.node_key import read_key
from headway.model.codec import plan_to_json
from headway.native import native_build
from headway.native.toolchain import ZIG_PACKAGE

APPLICATION = '#include "doubled.hpp"\nint application(int given) { return doubled(given); }\n'
DOUBLED = "inline int doubled(int x) { return 2 * x; }\n"


@pytest.fixture(autouse=True)
def _small_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_build, "node_sources", small_source)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(plan_to_json(study_plan()), encoding="utf-8")
    return path


def build(plan: Path, out: Path, *options: str | Path) -> Outcome:
    return headway("build", plan, "--out", out, *options)


def printed(program: Path) -> str:
    return subprocess.run([program], capture_output=True, check=True, text=True).stdout


def application(folder: Path, name: str = "brake.cpp") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "doubled.hpp").write_text(DOUBLED)
    path = folder / name
    path.write_text(APPLICATION)
    return path


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def deployment(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "deployment.json").read_text())
    return found


# ---------------------------------------------------------------- what is built


@needs_compiler
def test_every_node_has_a_folder_with_its_source_and_its_program(
    plan: Path, tmp_path: Path
) -> None:
    out = tmp_path / "a build" / "native"
    done = build(plan, out, "--target", "native", "--policy", "fifo+")
    assert (done.code, done.err) == (0, "")
    assert sorted(path.name for path in out.iterdir()) == [
        "centre",
        "deployment.json",
        "front",
        "nodes.key",
        "rear",
        "summary.json",
        "whole_plan.json",
    ]
    assert {
        "CMakeLists.txt",
        "bin/rear",
        "build.sh",
        "headway/greeting.hpp",
        "main.cpp",
    } <= files_of(out / "rear")
    found = deployment(out)
    for node in ("front", "rear", "centre"):
        assert found["nodes"][node]["target"] == "native"
        assert printed(out / found["nodes"][node]["executable"]) == f"node {node} fifo+\n"
    assert found["start_order"] == ["centre", "front", "rear"]
    assert len(read_key(out / "nodes.key")) == 32


@needs_compiler
def test_the_table_shows_what_each_takes_of_memory(plan: Path, tmp_path: Path) -> None:
    done = build(plan, tmp_path / "out", "--target", "native")
    lines = [line.split() for line in done.out.splitlines()]
    (front,) = [line for line in lines if line[:1] == ["front"]]
    assert front[1] == "native"
    code, data, file = (int(front[place].replace(",", "")) for place in (2, 3, 5))
    assert 0 < code < file
    assert 0 < data < file
    assert file == (tmp_path / "out" / "front" / "bin" / "front").stat().st_size
    assert HOST is not None
    assert f"compiled by {HOST.name}: NODE/bin/NODE\n" in done.out
    assert f"wrote {tmp_path / 'out' / 'deployment.json'}" in done.out


@needs_gcc
def test_gcc_tells_the_stack_and_json_has_all_numbers(plan: Path, tmp_path: Path) -> None:
    done = build(plan, tmp_path / "out", "--target", "native", "--json")
    found = json.loads(done.out)
    assert list(found) == ["front", "rear", "centre"]
    front = found["front"]
    assert front["program"] == "front/bin/front"
    assert 0 < front["stack"] < 1000
    assert front["source_files"] == len(files_of(tmp_path / "out" / "front")) - 1
    assert all(front[name] > 0 for name in ("bytes", "code", "constants", "data", "zeroed"))
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["nodes"] == found
    assert summary["written_by"] == "headway"


def test_a_compiler_that_does_not_tell_the_stack(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bin" / "clang++"
    fake.parent.mkdir()
    fake.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "clang version 19" && exit 0\n'
        'for word in "$@"; do out=$word; done\n[ "$out" = - ] || echo program > "$out"\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("CXX", str(fake))
    done = build(plan, tmp_path / "out", "--target", "native")
    assert done.code == 0
    (front,) = [line.split() for line in done.out.splitlines() if line.strip().startswith("front")]
    assert front == ["front", "native", *4 * ["unknown"]]
    assert "compiled by clang version 19" in done.out


@needs_compiler
def test_a_car_may_mix_native_and_python_nodes(plan: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = build(plan, out, "--target", "native", "--target", "centre=python")
    assert done.code == 0
    names = {name: node["executable"] for name, node in deployment(out)["nodes"].items()}
    assert names == {
        "front": "front/bin/front",
        "rear": "rear/bin/rear",
        "centre": "centre.pyz",
    }
    assert "target" not in deployment(out)["nodes"]["centre"]
    assert os.access(out / "centre.pyz", os.X_OK)
    assert not (out / "centre").exists()
    helped = [sys.executable, str(out / "centre.pyz"), "--help"]
    assert (
        "--deployment" in subprocess.run(helped, capture_output=True, text=True, check=True).stdout
    )
    only = build(plan, tmp_path / "only", "--target", "rear=native", "--json")
    assert [("target" in node) for node in json.loads(only.out).values()] == [True, False, False]


# ---------------------------------------------------------------- without Headway


def test_emit_only_stops_before_compiling(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", "/nothing/here")  # no compiler is even looked for
    done = build(plan, tmp_path / "out", "--target", "native", "--emit-only")
    assert (done.code, done.err) == (0, "")
    assert not (tmp_path / "out" / "front" / "bin").exists()
    (front,) = [line.split() for line in done.out.splitlines() if line.strip().startswith("front")]
    files = len(files_of(tmp_path / "out" / "front"))
    assert (front[1], front[2], front[4]) == ("native", str(files), "front/build.sh")
    assert "compiled by" not in done.out


@needs_compiler
@pytest.mark.parametrize("way", ["build.sh", pytest.param("cmake", marks=needs_cmake)])
def test_the_folder_builds_by_itself(plan: Path, tmp_path: Path, way: str) -> None:
    app = application(tmp_path / "my app", "brake & (2) größe's.cpp")
    out = tmp_path / "out of $HOME"
    options = ("--target", "native", "--emit-only", "--app", f"centre={app}")
    build(plan, out, *options, "--app", f"centre={app.parent / 'doubled.hpp'}")
    folder = tmp_path / "moved (to) somewhere else"
    (out / "centre").rename(folder)
    assert HOST is not None
    environment = {**os.environ, "CXX": " ".join(HOST.command)}
    if way == "build.sh":
        commands = [[str(folder / "build.sh"), "-DNDEBUG"]]
    else:
        made = str(tmp_path / "made by cmake")
        commands = [["cmake", "-S", str(folder), "-B", made], ["cmake", "--build", made]]
    for command in commands:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
    assert printed(folder / "bin" / "centre") == "node centre s-edf application 40\n"


# ---------------------------------------------------------------- applications


@needs_compiler
def test_an_application_is_linked_into_the_node_that_is_named(plan: Path, tmp_path: Path) -> None:
    app = application(tmp_path / "app")
    out = tmp_path / "out"
    header = f"rear={app.parent / 'doubled.hpp'}"
    done = build(plan, out, "--target", "native", "--app", f"rear={app}", "--app", header)
    assert (done.code, done.err) == (0, "")
    assert printed(out / "rear" / "bin" / "rear") == "node rear s-edf application 40\n"
    assert printed(out / "front" / "bin" / "front") == "node front s-edf\n"
    assert (out / "rear" / "app" / "brake.cpp").read_text() == APPLICATION


@needs_compiler
def test_without_a_node_it_goes_to_the_only_one_with_outputs(plan: Path, tmp_path: Path) -> None:
    app = application(tmp_path / "app")
    out = tmp_path / "out"
    done = build(plan, out, "--target", "native", "--app", app, "--app", app.parent / "doubled.hpp")
    assert done.code == 0
    assert printed(out / "centre" / "bin" / "centre").endswith("application 40\n")


@needs_compiler
def test_an_error_in_an_application_shows_the_user_s_own_file(plan: Path, tmp_path: Path) -> None:
    app = tmp_path / "wrong.cpp"
    app.write_text("int application(int given) {\n  return given + missing;\n}\n")
    out = tmp_path / "out"
    done = build(plan, out, "--target", "native", "--app", app)
    assert done.code == 2
    assert done.err.startswith(f"{app}:2:18: node centre: the compiler refuses this: ")
    assert "missing" in done.err
    assert not out.exists()


@needs_compiler
def test_a_warning_in_an_application_is_a_note(plan: Path, tmp_path: Path) -> None:
    app = tmp_path / "loose.cpp"
    app.write_text("int application(int given) { double x = given; return x; }\n")
    done = build(plan, tmp_path / "out", "--target", "native", "--app", app)
    assert done.code == 0
    assert done.err.startswith("note: node centre: app/loose.cpp:1:")
    assert "conversion" in done.err


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("brake.py", b"", "not a C++ file; give one that ends in .cpp, .cc, .cxx, .c++"),
        ("a$b.cpp", b"", "a file name that CMake cannot take; rename it"),
        ("brake.cpp", b"\xff\xfe", "not text in UTF-8; save it as UTF-8"),
        ("brake.cpp", None, "cannot be read: No such file or directory"),
        ("brake.hpp", b"", "an application of headers only; name its sources too"),
    ],
)
def test_a_file_that_is_no_application_is_refused(
    plan: Path, tmp_path: Path, name: str, content: bytes | None, told: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    done = build(plan, tmp_path / "out", "--target", "native", "--emit-only", "--app", path)
    assert done.code == 2
    assert done.err.startswith(f"{path}: --app: {told}")
    assert not (tmp_path / "out").exists()


def test_two_files_of_one_name_are_refused(plan: Path, tmp_path: Path) -> None:
    paths = [application(tmp_path / folder) for folder in ("one", "two")]
    options = [option for path in paths for option in ("--app", path)]
    done = build(plan, tmp_path / "out", "--target", "native", "--emit-only", *options)
    assert done.err == (
        f"{paths[1]}: --app: two files of the application have this name; rename one\n"
    )


def test_an_application_must_have_a_native_node(plan: Path, tmp_path: Path) -> None:
    app = application(tmp_path / "app")
    options = ("--target", "front=native", "--target", "rear=native", "--emit-only")
    done = build(plan, tmp_path / "out", *options, "--app", app)
    assert done.code == 2
    assert done.err == (
        f"--app: which node is the application for?; got {app}; "
        f"write NODE={app}; there are front, rear\n"
    )


# ---------------------------------------------------------------- the folder


def test_a_folder_with_something_in_it_needs_force(plan: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    build(plan, out, "--target", "native", "--emit-only")
    (out / "front" / "edited.hpp").write_text("")
    (out / "notes.txt").write_text("mine")
    key = (out / "nodes.key").read_bytes()
    again = build(plan, out, "--target", "native", "--emit-only")
    assert again.code == 2
    assert "the output folder is not empty" in again.err
    assert (out / "nodes.key").read_bytes() == key
    forced = build(plan, out, "--target", "rear=native", "--emit-only", "--force")
    assert forced.code == 0
    assert (out / "notes.txt").read_text() == "mine"
    assert not (out / "front").exists()
    assert (out / "rear" / "build.sh").exists()
    assert (out / "nodes.key").read_bytes() != key


def test_what_headway_did_not_write_is_never_replaced(plan: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "rear").mkdir(parents=True)
    (out / "rear" / "thesis.txt").write_text("mine")
    done = build(plan, out, "--target", "native", "--emit-only", "--force")
    assert done.code == 2
    assert "here lies something that no run of Headway wrote" in done.err
    assert [str(path.relative_to(out)) for path in sorted(out.rglob("*"))] == [
        "rear",
        "rear/thesis.txt",
    ]


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            ["--target", "sparc"],
            "--target: not a target; got sparc; use python, native, aarch64, armv7",
        ),
        (
            ["--target", "front=sparc"],
            "--target: not a target; got front=sparc; use python, native, aarch64, armv7",
        ),
        (
            ["--target", "attic=native"],
            "--target: no node 'attic' has something to do; got attic=native; "
            "name one of front, rear, centre",
        ),
        (
            ["--emit-only"],
            "--emit-only: --emit-only is for native nodes; add --target native, or leave it out",
        ),
        (
            ["--app", "brake.cpp", "--target", "python"],
            "--app: --app is for native nodes; add --target native, or leave it out",
        ),
        (
            ["--tcp"],
            "--tcp: --tcp is for native nodes; add --target native, or leave it out",
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(
    plan: Path, tmp_path: Path, options: list[str], told: str
) -> None:
    done = build(plan, tmp_path / "out", *options)
    assert (done.code, done.err) == (2, told + "\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("target", ["native", "aarch64", "armv7"])
def test_without_a_compiler_the_message_helps(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.setitem(sys.modules, ZIG_PACKAGE, None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    done = build(plan, tmp_path / "out", "--target", target)
    assert done.code == 2
    assert "pip install 'headway[native]'" in done.err
    assert "--target python" in done.err
    assert "--emit-only" in done.err
    assert not (tmp_path / "out").exists()
    emitted = build(plan, tmp_path / "out", "--target", target, "--emit-only")
    assert emitted.code == 0
