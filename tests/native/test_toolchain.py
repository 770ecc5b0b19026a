"""Finding a compiler, calling it, and what is said when there is none or when it refuses."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest
from tests.native.needed import (
    fake_compiler,
    host,
    needs_compiler,
    needs_sanitizers,
    needs_zig,
    path_of,
)

from headway.errors import EnvironmentMissing, FileError
from headway.native.toolchain import (
    ZIG_PACKAGE,
    BinaryKind,
    BuildMode,
    Family,
    Target,
    Toolchain,
    compile_program,
    find_toolchain,
    flags_of,
)

HELLO = '#include <cstdio>\nint main() { std::puts("hello"); }\n'


def source(folder: Path, text: str, name: str = "main.cpp") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refused(folder: Path, text: str, toolchain: Toolchain | None = None) -> str:
    """What is said of a program that the compiler does not take."""
    source(folder, text)
    out = folder / "program"
    with pytest.raises(FileError) as caught:
        compile_program([Path("main.cpp")], out, toolchain or host(), folder=folder)
    assert not out.exists()
    return str(caught.value)


# ---------------------------------------------------------------- finding one


def test_the_one_that_cxx_names_is_taken_with_its_arguments(tmp_path: Path) -> None:
    mine = fake_compiler(tmp_path / "my compilers" / "mine", version="mine (GCC) 14")
    fake_compiler(tmp_path / "bin" / "c++", version="another")
    found = find_toolchain(
        environment={"CXX": f"'{mine}' -march=native", "PATH": path_of(tmp_path / "bin")}
    )
    assert found == Toolchain(
        (str(mine), "-march=native"), "mine (GCC) 14", Target.NATIVE, Family.GCC
    )


def test_the_system_s_are_tried_in_their_order_and_broken_ones_passed_over(tmp_path: Path) -> None:
    fake_compiler(tmp_path / "c++", version="broken", body="exit 1")
    fake_compiler(tmp_path / "g++", version="g++ (Debian) 12")
    clang = fake_compiler(tmp_path / "clang++", version="Debian clang version 19")
    found = find_toolchain(environment={"PATH": path_of(tmp_path)})
    assert (found.command, found.family) == ((str(clang),), Family.CLANG)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("echo 'no such standard' >&2; exit 1", "no such standard"),
        (None, "No such file or directory"),
    ],
)
def test_a_wish_that_cannot_be_met_is_not_replaced(
    tmp_path: Path, body: str | None, reason: str
) -> None:
    fake_compiler(tmp_path / "c++", version="good")
    mine = tmp_path / "mine"
    if body is not None:
        fake_compiler(mine, version="mine", body=body)
    with pytest.raises(EnvironmentMissing) as caught:
        find_toolchain(environment={"CXX": str(mine), "PATH": path_of(tmp_path)})
    text = str(caught.value)
    assert text.startswith("CXX names a compiler that cannot be used: ")
    assert reason in text
    assert text.endswith("Set CXX to one that compiles C++17, or unset it.")


@needs_zig
def test_without_any_of_the_system_s_ziglang_is_taken(tmp_path: Path) -> None:
    found = find_toolchain(environment={"PATH": path_of(tmp_path)})
    assert found.family is Family.ZIG
    assert found.command == (sys.executable, "-m", "ziglang", "c++")
    assert found.name.startswith("ziglang ")


def test_without_any_the_message_names_the_extra_and_the_python_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, ZIG_PACKAGE, None)
    with pytest.raises(EnvironmentMissing) as caught:
        find_toolchain(environment={"PATH": path_of(tmp_path)})
    text = str(caught.value)
    assert text.startswith("Native programs need a C++17 compiler and none was found: install")
    assert "pip install 'headway[native]'" in text
    assert "headway build --target python" in text
    assert "--emit-only" in text


def test_what_was_refused_on_the_way_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, ZIG_PACKAGE, None)
    fake_compiler(tmp_path / "g++", version="old", body="echo 'unknown -std=c++17' >&2; exit 1")
    with pytest.raises(EnvironmentMissing, match=r"\(refused: .*unknown -std=c\+\+17\)"):
        find_toolchain(environment={"PATH": path_of(tmp_path)})


@pytest.mark.parametrize("target", [Target.AARCH64, Target.ARMV7])
def test_arm_needs_ziglang_whatever_else_there_is(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_compiler(tmp_path / "c++", version="good")
    monkeypatch.setitem(sys.modules, ZIG_PACKAGE, None)
    with pytest.raises(EnvironmentMissing) as caught:
        find_toolchain(target, {"PATH": path_of(tmp_path), "CXX": "c++"})
    assert f"The target {target} is compiled by the Python package ziglang" in str(caught.value)
    assert "pip install 'headway[native]'" in str(caught.value)


# ---------------------------------------------------------------- flags


def test_what_every_program_is_compiled_with() -> None:
    gcc = Toolchain(("g++",), "g++ 12", Target.NATIVE, Family.GCC)
    flags = flags_of(gcc, kind=BinaryKind.EXECUTABLE, mode=BuildMode.RELEASE)
    assert {
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Wconversion",
        "-Wshadow",
        "-Werror",
        "-fno-exceptions",
        "-fno-rtti",
        "-ffp-contract=off",
        "-Os",
    } <= set(flags)
    assert "-Werror" not in flags_of(
        gcc, kind=BinaryKind.EXECUTABLE, mode=BuildMode.RELEASE, strict=False
    )
    shared = flags_of(gcc, kind=BinaryKind.SHARED, mode=BuildMode.RELEASE)
    assert "-fno-gnu-unique" in shared
    assert "-fno-threadsafe-statics" in flags
    assert "-fno-threadsafe-statics" not in shared  # whoever loads it may have threads


def test_for_arm_programs_are_static_and_for_this_machine_not_tied_to_its_processor() -> None:
    def flags(target: Target) -> tuple[str, ...]:
        zig = Toolchain(("zig", "c++"), "ziglang 1", target, Family.ZIG)
        return flags_of(zig, kind=BinaryKind.EXECUTABLE, mode=BuildMode.RELEASE)

    assert flags(Target.ARMV7)[:3] == ("-target", "arm-linux-musleabihf", "-static")
    assert flags(Target.AARCH64)[:3] == ("-target", "aarch64-linux-musl", "-static")
    assert flags(Target.NATIVE)[0] == "-mcpu=baseline"


def test_zig_compiles_its_libraries_for_one_set_of_flags_only() -> None:
    zig = Toolchain(("zig", "c++"), "ziglang 1", Target.ARMV7, Family.ZIG)
    release, debug = (
        flags_of(zig, kind=BinaryKind.EXECUTABLE, mode=mode)
        for mode in (BuildMode.RELEASE, BuildMode.DEBUG)
    )
    assert release == debug


def test_zig_has_no_sanitizers_and_says_so() -> None:
    zig = Toolchain(("zig", "c++"), "ziglang 1", Target.NATIVE, Family.ZIG)
    with pytest.raises(EnvironmentMissing, match=r"ziglang 1 has no sanitizers: build with gcc"):
        flags_of(zig, kind=BinaryKind.EXECUTABLE, mode=BuildMode.SANITIZED)


# ---------------------------------------------------------------- compiling


@needs_compiler
@pytest.mark.parametrize("mode", [BuildMode.RELEASE, BuildMode.DEBUG])
def test_a_program_runs(tmp_path: Path, mode: BuildMode) -> None:
    made = compile_program([source(tmp_path, HELLO)], tmp_path / "program", host(), mode=mode)
    assert subprocess.run([made.path], capture_output=True, check=True).stdout == b"hello\n"
    assert made.warnings == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["main.cpp", "program"]


@needs_compiler
@pytest.mark.parametrize(
    "name", ["with space.cpp", "-O9.cpp", "it's $HOME;`x`.cpp", "größe&|*?.cpp", "@file.cpp"]
)
def test_odd_names_are_only_names(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "a folder; it's $odd"
    source(folder, HELLO.replace("hello", "odd"), name)
    made = compile_program(
        [Path(name)],
        folder / "bin (1)" / f"{name} out",
        host(),
        mode=BuildMode.DEBUG,
        folder=folder,
    )
    assert subprocess.run([made.path], capture_output=True, check=True).stdout == b"odd\n"


@needs_compiler
def test_definitions_and_folders_of_headers(tmp_path: Path) -> None:
    source(tmp_path / "the headers" / "own", "inline int three() { return 3; }\n", "three.hpp")
    text = '#include "own/three.hpp"\nint main() { return three() + MORE; }\n'
    made = compile_program(
        [source(tmp_path, text)],
        tmp_path / "program",
        host(),
        mode=BuildMode.DEBUG,
        include=[tmp_path / "the headers"],
        definitions=["MORE=4"],
    )
    assert subprocess.run([made.path], check=False).returncode == 7


LIBRARY = """
inline int count() { static int calls = 0; return ++calls; }
template <class T> struct Held { static T value; };
template <class T> T Held<T>::value = T();
extern "C" int called() { return count() + (Held<int>::value += 10); }
"""


@needs_compiler
def test_two_libraries_in_one_process_do_not_share_their_variables(tmp_path: Path) -> None:
    libraries = []
    for name in ("first", "second"):
        path = tmp_path / f"{name}.so"
        compile_program([source(tmp_path, LIBRARY)], path, host(), kind=BinaryKind.SHARED)
        libraries.append(ctypes.CDLL(str(path)))
    first, second = libraries
    assert [first.called(), first.called(), second.called()] == [11, 22, 11]


@needs_sanitizers
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("std::free(items); return items[argc];", b"AddressSanitizer: heap-use-after-free"),
        ("return items[0] + 2147483647 + argc;", b"signed integer overflow"),
    ],
)
def test_sanitized_programs_end_at_the_first_fault(
    tmp_path: Path, statement: str, told: bytes
) -> None:
    items = "int* volatile items = static_cast<int*>(std::calloc(4, sizeof(int)));"
    text = f"#include <cstdlib>\nint main(int argc, char**) {{ {items} {statement} }}\n"
    made = compile_program(
        [source(tmp_path, text)], tmp_path / "program", host(), mode=BuildMode.SANITIZED
    )
    done = subprocess.run([made.path], capture_output=True, check=False)
    assert done.returncode != 0
    assert told in done.stderr


# ---------------------------------------------------------------- refusals


@needs_compiler
def test_an_error_is_told_with_its_place_and_the_compiler(tmp_path: Path) -> None:
    text = refused(tmp_path, "int main() {\n  return missing;\n}\n")
    first = text.splitlines()[0]
    assert first.startswith("main.cpp:2:10: the compiler refuses this: ")
    assert "missing" in first
    assert text.endswith(f"; compiled by {host().name}")


@needs_compiler
def test_of_many_errors_the_first_are_told(tmp_path: Path) -> None:
    lines = [f"int f{number}() {{ return missing{number}; }}" for number in range(12)]
    told = refused(tmp_path, "\n".join(lines) + "\n").splitlines()
    assert [line.split(":")[1] for line in told] == ["1", "2", "3", "4", "5"]
    assert told[-1].endswith("; 7 more like these")


@needs_compiler
def test_warnings_are_errors_but_for_those_who_say_otherwise(tmp_path: Path) -> None:
    text = "int main() { double half = 0.5; int none = half; return none; }\n"
    assert "conversion" in refused(tmp_path, text)
    made = compile_program(
        [Path("main.cpp")], tmp_path / "program", host(), strict=False, folder=tmp_path
    )
    (warning,) = made.warnings
    assert warning.startswith("main.cpp:1:")
    assert "conversion" in warning


@needs_compiler
def test_what_cannot_be_linked_is_told(tmp_path: Path) -> None:
    told = refused(tmp_path, "int missing();\nint main() { return missing(); }\n").splitlines()
    assert len(told) == 1
    assert told[0].startswith("the linker refuses this: ")
    assert "missing" in told[0]


@needs_compiler
def test_a_header_that_is_not_there_is_told(tmp_path: Path) -> None:
    told = refused(tmp_path, '#include "nowhere.hpp"\n').splitlines()
    assert told[0].startswith("main.cpp:1:10: the compiler refuses this: ")
    assert "nowhere.hpp" in told[0]


def test_a_compiler_that_was_killed_is_told(tmp_path: Path) -> None:
    killed = fake_compiler(tmp_path / "bin" / "c++", version="c++ 1", body="kill -9 $$")
    toolchain = Toolchain((str(killed),), "c++ 1", Target.NATIVE, Family.CLANG)
    told = refused(tmp_path, HELLO, toolchain)
    assert told == (
        "the compiler was ended by signal 9; got no message; compiled by c++ 1; "
        "is there enough memory?"
    )


def test_a_compiler_that_fails_without_a_word_is_told(tmp_path: Path) -> None:
    silent = fake_compiler(tmp_path / "bin" / "c++", version="c++ 1", body="exit 3")
    toolchain = Toolchain((str(silent),), "c++ 1", Target.NATIVE, Family.CLANG)
    told = refused(tmp_path, HELLO, toolchain)
    assert told == "the compiler failed; got exit code 3: no message; compiled by c++ 1"


def test_a_compiler_that_has_gone_is_told(tmp_path: Path) -> None:
    toolchain = Toolchain((str(tmp_path / "gone"),), "c++ 1", Target.NATIVE, Family.CLANG)
    with pytest.raises(EnvironmentMissing, match=r"The compiler has gone: .*gone"):
        compile_program([source(tmp_path, HELLO)], tmp_path / "program", toolchain)


@needs_compiler
def test_a_failed_compilation_leaves_the_earlier_program(tmp_path: Path) -> None:
    out = tmp_path / "program"
    out.write_text("earlier")
    source(tmp_path, "nonsense\n")
    with pytest.raises(FileError):
        compile_program([Path("main.cpp")], out, host(), folder=tmp_path)
    assert out.read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["main.cpp", "program"]


@needs_compiler
def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    blocked = source(tmp_path, "", "file")
    with pytest.raises(FileError, match="cannot write here"):
        compile_program([source(tmp_path, HELLO)], blocked / "program", host())
