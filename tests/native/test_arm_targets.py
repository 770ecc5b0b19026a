"""Programs for ARM: compiled by ziglang for every target, static, and run where qemu is.

The first program for a target also compiles the C++ library, which takes a minute or two; later
ones find it in ziglang's own cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.invoke import headway
from tests.engine.nodes.study import study_plan
from tests.native.needed import needs_zig
from tests.native.small_source import small_source

from headway.model.codec import plan_to_json
from headway.native import native_build
from headway.native.program_size import program_size
from headway.native.toolchain import Compiled, Target, compile_program, find_toolchain

ARM = [Target.AARCH64, Target.ARMV7]
PROGRAM = """
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

struct Step {
  virtual double of(double value) const = 0;
};
struct Root final : Step {
  double of(double value) const override { return std::sqrt(value); }
};

static double memory[4096];

// A variable whose first value is only known when the program runs brings no locks with it.
static double first(int argc) {
  static const double value = std::sqrt(static_cast<double>(argc));
  return value;
}

int main(int argc, char**) {
  const Root root;
  const Step& step = root;
  std::int64_t whole = std::int64_t{1} << 40;
  for (int place = 0; place < 4096; ++place) {
    memory[place] = step.of(static_cast<double>((place * 2654435761LL) % 4096 + argc));
  }
  std::sort(memory, memory + 4096);
  const double a = memory[1] * memory[2] + memory[3] * first(argc);
  std::printf("%a %lld\\n", a, static_cast<long long>(whole + static_cast<std::int64_t>(a * 1000)));
  return 0;
}
"""


@pytest.fixture(scope="module", params=ARM, ids=str)
def program(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Target, Compiled]:
    target: Target = request.param
    folder = tmp_path_factory.mktemp(f"for {target}")
    (folder / "main.cpp").write_text(PROGRAM)
    return target, compile_program(
        [Path("main.cpp")], folder / "program", find_toolchain(target), folder=folder
    )


@needs_zig
def test_it_is_static_stripped_and_small(program: tuple[Target, Compiled]) -> None:
    target, compiled = program
    size = program_size(compiled.path)
    assert size is not None
    assert size.machine == {"aarch64": "aarch64", "armv7": "arm"}[target]
    assert size.file < 60_000
    assert 4096 * 8 <= size.zeroed < 4096 * 8 + 20_000
    content = compiled.path.read_bytes()
    assert b"ld-musl" not in content
    assert b".symtab" not in content
    assert compiled.stack is None


@needs_zig
def test_it_computes_the_same_as_python(program: tuple[Target, Compiled]) -> None:
    target, compiled = program
    emulator = shutil.which(target.emulator or "")
    if emulator is None:
        pytest.skip(f"programs for {target} were compiled; without qemu-user they are not run")
    done = subprocess.run([emulator, compiled.path], capture_output=True, text=True, check=True)
    roots = sorted(((place * 2654435761) % 4096 + 1) ** 0.5 for place in range(4096))
    a = roots[1] * roots[2] + roots[3]
    told, whole = done.stdout.split()
    assert float.fromhex(told) == a
    assert int(whole) == (1 << 40) + int(a * 1000)


@needs_zig
@pytest.mark.parametrize("target", ARM)
def test_a_node_is_built_by_headway_and_by_its_own_script(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native_build, "node_sources", small_source)
    plan = tmp_path / "plan.json"
    plan.write_text(plan_to_json(study_plan()), encoding="utf-8")
    out = tmp_path / "out"
    done = headway("build", plan, "--out", out, "--target", f"rear={target}")
    assert (done.code, done.err) == (0, "")
    assert "compiled by ziglang" in done.out
    (rear,) = [line.split() for line in done.out.splitlines() if line.split()[1:2] == [target]]
    assert rear[4] == "unknown"  # the stack
    program = out / "rear" / "bin" / "rear"
    by_headway = program.read_bytes()
    program.unlink()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {name: text for name, text in os.environ.items() if name != "CXX"}
    subprocess.run([out / "rear" / "build.sh"], env={**environment, "PATH": path}, check=True)
    assert program.read_bytes() == by_headway
    emulator = shutil.which(target.emulator or "")
    if emulator is None:
        pytest.skip(f"programs for {target} were built; without qemu-user they are not run")
    told = subprocess.run([emulator, program], capture_output=True, text=True, check=True).stdout
    assert told == "node rear s-edf\n"
