"""C++ of the tests of nodes, compiled once for all of them."""

from __future__ import annotations

from pathlib import Path

from tests.native.needed import host

from headway.native.toolchain import RUNTIME, BinaryKind, BuildMode, compile_program

HERE = Path(__file__).parent


def compiled(
    source: str,
    folder: Path,
    *,
    kind: BinaryKind = BinaryKind.EXECUTABLE,
    mode: BuildMode = BuildMode.DEBUG,
) -> Path:
    """The program or library of a source file beside this one."""
    out = folder / Path(source).stem
    compile_program(
        [HERE / source], out, host(), kind=kind, mode=mode, include=[RUNTIME, HERE], strict=True
    )
    return out
