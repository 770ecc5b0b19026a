"""What a program takes of memory: of ELF files of every width and order, and of a real one."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from tests.native.needed import host, needs_compiler

from headway.errors import FileError
from headway.native.program_size import ProgramSize, program_size
from headway.native.toolchain import compile_program

TEXT, RODATA, DATA, BSS, COMMENT = (1, 6, 400), (1, 2, 30), (1, 3, 7), (8, 3, 1 << 20), (1, 0, 99)
"""(type, flags, size)"""


def elf(sections: list[tuple[int, int, int]], *, wide: bool, big: bool, machine: int) -> bytes:
    """A header and a table of sections, with nothing between."""
    order = ">" if big else "<"
    start = 64 if wide else 52
    entry = 64 if wide else 40
    content = b"\x7fELF" + bytes([2 if wide else 1, 2 if big else 1, 1]).ljust(12, b"\0")
    word = "Q" if wide else "I"
    content += struct.pack(
        f"{order}HHI3{word}IHHHHHH",
        2,
        machine,
        1,
        0,
        0,
        start,
        0,
        start,
        0,
        0,
        entry,
        len(sections),
        0,
    )
    assert len(content) == start
    for kind, flags, size in sections:
        content += struct.pack(f"{order}II4{word}II2{word}", 0, kind, flags, 0, 0, size, 0, 0, 0, 0)
    return content


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("big", [False, True])
def test_sections_are_counted_by_what_they_become(tmp_path: Path, wide: bool, big: bool) -> None:
    path = tmp_path / "program"
    content = elf([(0, 0, 0), TEXT, RODATA, DATA, BSS, COMMENT], wide=wide, big=big, machine=40)
    path.write_bytes(content)
    size = program_size(path)
    assert size == ProgramSize(
        machine="arm", file=len(content), code=400, constants=30, data=7, zeroed=1 << 20
    )
    assert size.static_data == (1 << 20) + 7


def test_an_unknown_machine_has_its_number(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(elf([], wide=True, big=False, machine=999))
    size = program_size(path)
    assert size is not None
    assert size.machine == "machine 999"


def test_other_files_have_no_size(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(b"\xcf\xfa\xed\xfe" + bytes(100))
    assert program_size(path) is None


def test_every_file_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "program"
    content = elf([TEXT, DATA], wide=True, big=False, machine=62)
    for length in range(4, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(FileError, match="not a whole ELF file"):
            program_size(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be read: No such file"):
        program_size(tmp_path / "nothing")


@needs_compiler
def test_the_memory_of_a_program_is_seen(tmp_path: Path) -> None:
    text = """
#include <cstdio>
static char memory[1000000];
static const char table[5000] = {1};
int main(int argc, char**) {
  std::puts(&memory[argc]);
  return table[argc];
}
"""
    (tmp_path / "main.cpp").write_text(text)
    made = compile_program([tmp_path / "main.cpp"], tmp_path / "program", host())
    size = program_size(made.path)
    assert size is not None
    assert size.file == made.path.stat().st_size < 100_000
    assert 1_000_000 <= size.zeroed < 1_050_000
    assert 5_000 <= size.constants < 30_000
    assert 0 < size.code < 30_000
