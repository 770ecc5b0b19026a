"""How a node's folder is built without Headway: a ``CMakeLists.txt`` and one plain command.

Both use the flags of :mod:`headway.native.toolchain` but do not make warnings errors: whoever
builds this in five years has a compiler that warns of more. Both put the program where
``deployment.json`` says it is.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from headway.native.toolchain import (
    LANGUAGE,
    LINKED_SMALL,
    ONE_THREAD,
    OPTIMIZED,
    SMALL,
    STANDARD,
    THREADS,
    WARNINGS,
    ZIG_PACKAGE,
    BinaryKind,
    Target,
)

CMAKE = "CMakeLists.txt"
SCRIPT = "build.sh"
PROGRAMS = "bin"
SIZED = OPTIMIZED[BinaryKind.EXECUTABLE]


def program_path(node: str) -> str:
    """The program, in the node's folder."""
    return f"{PROGRAMS}/{node}"


def cmake_text(node: str, target: Target, sources: Sequence[str]) -> str:
    listed = "\n".join(f'  "{source}"' for source in sources)
    cross = target.triple is not None
    compiled = [*WARNINGS, *LANGUAGE, *ONE_THREAD, *SMALL, *THREADS]
    linked = [*(("-static",) if cross else ()), *LINKED_SMALL]
    hint = (
        f"""\
# It is meant for {target}: give CMake a compiler for that, for example the one in the Python
# package {ZIG_PACKAGE}, by a script zig-c++ that holds
#   exec python3 -m {ZIG_PACKAGE} c++ -target {target.triple} "$@"
# and -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_CXX_COMPILER=/path/to/zig-c++
"""
        if cross
        else ""
    )
    return f"""\
# The program of node {node}; written by headway build. Needs nothing but this folder:
#   cmake -S . -B build && cmake --build build
{hint}cmake_minimum_required(VERSION 3.16)
project({node} LANGUAGES CXX)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "{SIZED}")

add_executable(program
{listed}
)
set_target_properties(program PROPERTIES
  OUTPUT_NAME "{node}"
  RUNTIME_OUTPUT_DIRECTORY "${{CMAKE_CURRENT_SOURCE_DIR}}/{PROGRAMS}"
  CXX_STANDARD 17
  CXX_STANDARD_REQUIRED ON
  CXX_EXTENSIONS OFF
)
target_include_directories(program PRIVATE "${{CMAKE_CURRENT_SOURCE_DIR}}")
target_compile_options(program PRIVATE
  {" ".join(compiled)}
)
target_link_options(program PRIVATE {" ".join([*linked, *THREADS])})
"""


def script_text(node: str, target: Target, sources: Sequence[str]) -> str:
    compiler = "c++"
    if target.triple is not None:
        compiler = f"python3 -m {ZIG_PACKAGE} c++ -target {target.triple}"
    static = ("-static",) if target.triple is not None else ()
    flags = [*STANDARD, *WARNINGS, *LANGUAGE, *ONE_THREAD, SIZED, *SMALL, *THREADS]
    flags += [*static, *LINKED_SMALL]
    files = " ".join(shlex.quote(source) for source in sources)
    return f"""\
#!/bin/sh
# Compiles the program of node {node}; written by headway build. Needs nothing but this folder.
# CXX names another compiler; what is written behind the command is added to its flags.
set -e
cd "$(dirname "$0")"
mkdir -p {PROGRAMS}
${{CXX:-{compiler}}} {" ".join(flags)} -I . \\
  {files} -o {shlex.quote(program_path(node))} "$@"
"""
