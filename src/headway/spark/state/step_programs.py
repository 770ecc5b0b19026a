"""The compiled program of a stream or of a region of a batch: made by the driver, run in tasks.

The driver compiles it once (:mod:`headway.native.build_cache`) and hands it to the tasks as bytes;
a machine writes it into a file once. Where a plan cannot be compiled, or compiled code would give
other answers, or there is no compiler, the Python engine runs it, and the reason can be told.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from headway.compiler.node_queries import on_one_node
from headway.errors import EnvironmentMissing, InputError, Problem
from headway.model.plan import Plan
from headway.model.schema import DataType
from headway.native.compiled_program import meaning_program
from headway.native.library import NativeLibrary
from headway.native.toolchain import BuildMode
from headway.spark.state.state_sections import PYTHON_FORM

VARIABLE = "HEADWAY_STEPS"
"""in the driver's environment: ``python`` has nothing compiled"""


@dataclass(frozen=True, slots=True)
class StepProgram:
    """The library as bytes; None where Python runs the plan, and why."""

    library: bytes | None
    reason: str = ""


def step_program(
    plan: Plan, watched: Collection[str] = (), *, mode: BuildMode = BuildMode.RELEASE
) -> StepProgram:
    """Of a plan; ``watched`` as in :class:`~headway.engine.stepwise.Stepwise`."""
    plan = on_one_node(plan)
    if os.environ.get(VARIABLE) == PYTHON_FORM:
        return StepProgram(None, f"{VARIABLE} asks for Python")
    if problems := list(_other_answers(plan)):
        return StepProgram(None, "; ".join(map(str, problems)))
    try:
        program = meaning_program(plan, frozenset(watched), mode)
        with NativeLibrary(program.path, program.layout.schemas) as library:
            problems = list(_forgetful(program.stateful, library))
    except (InputError, EnvironmentMissing) as error:
        return StepProgram(None, str(error))
    if problems:
        return StepProgram(None, "; ".join(map(str, problems)))
    return StepProgram(program.path.read_bytes())


def _other_answers(plan: Plan) -> Iterator[Problem]:
    """Compiled code has fixed room for a text: without a declared length a long one would be
    rejected, which no other way of running the query does."""
    for source in plan.query.sources:
        for field in source.schema.fields:
            if field.type is DataType.STRING and field.length is None:
                yield Problem(
                    "a string without a length cannot be compiled",
                    at=f"sources.{source.name}.schema.{field.name}",
                    want="declare its length, as in string(36)",
                )


def _forgetful(stateful: tuple[str, ...], library: NativeLibrary) -> Iterator[Problem]:
    """A class of the user in C++ that does not say what it remembers can serve one vehicle only."""
    for place, name in enumerate(stateful):
        if not library.saves(place):
            yield Problem(
                "its class in C++ does not save what it remembers",
                at=f"operators.{name}",
                want="override save and load",
            )


@lru_cache(maxsize=8)
def program_file(program: bytes) -> Path:
    """The program as a file of this machine, named by its content: written once, whoever needs it,
    and never seen half written."""
    name = hashlib.sha256(program).hexdigest()[:32]
    folder = Path(tempfile.gettempdir()) / f"headway-programs-{os.getuid()}"
    path = folder / f"{name}.so"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if path.exists() and path.read_bytes() == program:
            return path
        with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{name}-", delete=False) as draft:
            draft.write(program)
        Path(draft.name).replace(path)
    except OSError as error:
        raise EnvironmentMissing(
            f"The compiled program cannot be written: {folder}: {error.strerror or error}. Set "
            "TMPDIR to a folder that can be written to."
        ) from None
    return path
