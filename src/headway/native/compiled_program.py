"""Programs that are compiled for this process: the shared library of a plan, from the cache where
it was compiled before.

Two programs come of a plan: the whole vehicle in virtual time, and the meaning of its query, where
nothing takes time. Buffers grow here as they must (``HEADWAY_GROWS``): a workstation has no reason
to shed what an ECU would have no room for.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from headway.engine.results import ScheduledUnit
from headway.model.graph import Graph
from headway.model.plan import Plan
from headway.native.build_cache import cached_program
from headway.native.cpp_library import LIBRARY, library_text
from headway.native.cpp_program import write_program
from headway.native.library import NativeLibrary
from headway.native.program_layout import ProgramLayout, meaning_layout, vehicle_layout
from headway.native.source_tree import with_runtime
from headway.native.toolchain import BinaryKind, BuildMode, find_toolchain
from headway.schedule.online import Policy

GROWS = "HEADWAY_GROWS"


@dataclass(frozen=True)
class CompiledProgram:
    """A library and what is known of it before it is loaded."""

    path: Path
    layout: ProgramLayout
    fingerprint: bytes
    """tells the states of programs apart"""

    def load(self) -> NativeLibrary:
        """A library of one's own, in which nothing has happened yet."""
        return NativeLibrary(self.path, self.layout.schemas)

    @property
    def graph(self) -> Graph:
        return self.layout.graph

    @property
    def stateful(self) -> tuple[str, ...]:
        return self.layout.stateful

    @property
    def units(self) -> tuple[ScheduledUnit, ...]:
        return tuple(self.layout.program.units)


@lru_cache(maxsize=16)
def vehicle_program(
    plan: Plan,
    policy: str | Policy = "s-edf",
    *,
    charged: bool = True,
    partitioned: bool = False,
    mode: BuildMode = BuildMode.RELEASE,
) -> CompiledProgram:
    """The whole vehicle, for virtual time. EnvironmentMissing without a compiler; QueryError and
    the like where the plan cannot be compiled."""
    return _compiled(vehicle_layout(plan, policy, charged=charged, partitioned=partitioned), mode)


@lru_cache(maxsize=16)
def meaning_program(
    plan: Plan, watched: frozenset[str] = frozenset(), mode: BuildMode = BuildMode.RELEASE
) -> CompiledProgram:
    """The query's meaning, tuple by tuple; ``watched`` as in
    :class:`~headway.engine.stepwise.Stepwise`."""
    return _compiled(meaning_layout(plan, watched), mode)


def library_files(layout: ProgramLayout) -> dict[str, str]:
    """What is written of a program for a shared library, without the runtime; LIBRARY is what is
    compiled of it."""
    program = write_program(layout)
    return {**program.files, LIBRARY: library_text(program)}


def _compiled(layout: ProgramLayout, mode: BuildMode) -> CompiledProgram:
    toolchain = find_toolchain()
    files = library_files(layout)
    built = cached_program(
        with_runtime(files),
        [LIBRARY],
        toolchain,
        kind=BinaryKind.SHARED,
        mode=mode,
        definitions=[GROWS],
        strict=False,  # a compiler newer than ours may warn of more
    )
    text = "\0".join(part for one in sorted(files.items()) for part in one)
    return CompiledProgram(built.path, layout, hashlib.sha256(text.encode()).digest()[:8])
