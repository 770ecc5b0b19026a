"""How deep the stack becomes: from call graphs written by hand, and from gcc itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.native.needed import host, needs_gcc

from headway.native.stack_use import deepest_stack
from headway.native.toolchain import compile_program

INDIRECT = "__indirect_call"


def function(name: str, frame: int, *calls: str, how: str = "static", virtual: bool = False) -> str:
    """A function of a call graph as gcc writes it."""
    before = "virtual " if virtual else ""
    place = rf"{before}void {name}()\nmain.cpp:1:1\n{frame} bytes ({how})"
    lines = [f'node: {{ title: "{name}" label: "{place}" }}']
    lines += [f'edge: {{ sourcename: "{name}" targetname: "{one}" label: "x" }}' for one in calls]
    return "\n".join(lines)


def depth(folder: Path, *files: list[str]) -> int | None:
    paths = []
    for number, functions in enumerate(files):
        path = folder / f"{number}.ci"
        path.write_text('graph: { title: "main.cpp"\n' + "\n".join(functions) + "\n}\n")
        paths.append(path)
    return deepest_stack(paths)


def test_the_deepest_path_counts(tmp_path: Path) -> None:
    functions = [
        function("main", 32, "left", "right"),
        function("left", 1000),
        function("right", 100, "below"),
        function("below", 950),
    ]
    assert depth(tmp_path, functions) == 32 + 100 + 950


def test_a_path_may_lead_through_several_sources(tmp_path: Path) -> None:
    declared = 'node: { title: "there" label: "there\\nthere.hpp:1:1" shape : ellipse }'
    first = [function("main", 8, "there"), declared]
    assert depth(tmp_path, first, [function("there", 64)]) == 72


def test_functions_of_libraries_do_not_count(tmp_path: Path) -> None:
    assert depth(tmp_path, [function("main", 8, "printf")]) == 8


def test_through_a_pointer_everything_virtual_or_never_named_can_be_reached(tmp_path: Path) -> None:
    functions = [
        function("main", 10, INDIRECT, "named"),
        function("named", 5000),
        function("in_a_table", 100),
        function("Filter_take", 200, "helper", virtual=True),
        function("helper", 50),
    ]
    assert depth(tmp_path, functions) == 10 + 5000
    assert depth(tmp_path, [functions[0].replace("named", "gone"), *functions[2:]]) == 10 + 250


def test_functions_that_reach_each_other_count_once_each(tmp_path: Path) -> None:
    functions = [
        function("main", 1, "push"),
        function("push", 10, INDIRECT),
        function("Join_take", 100, "push", virtual=True),
        function("Map_take", 1000, "push", virtual=True),
    ]
    assert depth(tmp_path, functions) == 1111


def test_a_frame_without_a_bound_has_no_depth(tmp_path: Path) -> None:
    assert depth(tmp_path, [function("main", 16, how="dynamic")]) is None
    assert depth(tmp_path, [function("main", 16, how="dynamic,bounded")]) == 16


def test_no_call_graph_no_depth(tmp_path: Path) -> None:
    assert deepest_stack([]) is None
    assert depth(tmp_path, []) is None


def test_deep_graphs_do_not_reach_python_s_limit(tmp_path: Path) -> None:
    chain = [function(f"f{number}", 1, f"f{number + 1}") for number in range(5000)]
    assert depth(tmp_path, chain) == 5000


PROGRAM = """
#include <cstdio>
struct Operator { virtual int take(int) = 0; };
struct Shallow : Operator { int take(int x) override { return x; } };
struct Deep : Operator {
  int take(int x) override {
    volatile char buffer[20000];
    buffer[x] = 1;
    return buffer[0];
  }
};
int main(int count, char**) {
  Shallow shallow;
  Deep deep;
  Operator* chosen = &shallow;
  if (count > 1) chosen = &deep;
  return chosen->take(count);
}
"""


@needs_gcc
@pytest.mark.parametrize(("buffer", "least"), [(20000, 20000), (300, 150)])
def test_gcc_tells_it_of_a_program(tmp_path: Path, buffer: int, least: int) -> None:
    """gcc may keep up to 128 bytes below the frame, in the red zone of the x86-64 ABI."""
    (tmp_path / "main.cpp").write_text(PROGRAM.replace("20000", str(buffer)))
    made = compile_program([tmp_path / "main.cpp"], tmp_path / "program", host(), strict=False)
    assert made.stack is not None
    assert least - 128 <= made.stack < buffer + 1000
