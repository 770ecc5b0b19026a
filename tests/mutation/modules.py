"""What is mutated, by subject, and which tests may see it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

SUBJECTS: Mapping[str, tuple[str, ...]] = {
    "policies": ("src/headway/schedule/online/*.py",),
    "static": (
        "src/headway/schedule/static/validate.py",
        "src/headway/schedule/static/timing.py",
        "src/headway/schedule/static/insertion.py",
        "src/headway/schedule/static/ranks.py",
        "src/headway/schedule/static/selection.py",
        "src/headway/schedule/static/from_plan.py",
        "src/headway/schedule/static/periodic.py",
    ),
    "overload": (
        "src/headway/schedule/overload/one_processor.py",
        "src/headway/schedule/overload/load_trials.py",
        "src/headway/schedule/overload/admission_over_nodes.py",
    ),
    "bounds": (
        "src/headway/compiler/latency/*.py",
        "src/headway/compiler/deadlines.py",
        "src/headway/compiler/utilisation.py",
        "src/headway/model/quantities.py",
    ),
    "placement": (
        "src/headway/compiler/placement/local_search.py",
        "src/headway/compiler/placement/placement_problem.py",
        "src/headway/compiler/placement/integer_program.py",
    ),
    "checks": (
        "src/headway/compiler/check_query.py",
        "src/headway/compiler/check_vehicle.py",
        "src/headway/engine/declared_limits.py",
    ),
    "engine": (
        "src/headway/engine/kernel.py",
        "src/headway/engine/fast_path.py",
        "src/headway/engine/virtual_time.py",
        "src/headway/engine/ingest.py",
        "src/headway/engine/results.py",
        "src/headway/engine/waiting_room.py",
        "src/headway/engine/watermarks.py",
        "src/headway/engine/reservations.py",
    ),
    "operators": ("src/headway/engine/operators/*.py",),
    "nodes": (
        "src/headway/engine/nodes/liveness.py",
        "src/headway/engine/nodes/peers.py",
        "src/headway/engine/nodes/greeting.py",
        "src/headway/engine/nodes/links.py",
        "src/headway/engine/nodes/wire_format.py",
    ),
    "readers": (
        "src/headway/files/graph_formats.py",
        "src/headway/files/graph_draft.py",
        "src/headway/sources/mdf_file.py",
    ),
    "expressions": (
        "src/headway/expressions/typing_rules.py",
        "src/headway/expressions/units.py",
        "src/headway/expressions/check.py",
        "src/headway/expressions/casts.py",
        "src/headway/expressions/kernels.py",
        "src/headway/expressions/aggregates.py",
        "src/headway/expressions/emit.py",
    ),
}
"""Modules whose mistakes would be believed: orders, bounds, checks, answers, readers. The studies,
the command line, pages, Spark and native code are not among them."""

TESTS: tuple[str, ...] = (
    "tests/schedule",
    "tests/compiler",
    "tests/expressions",
    "tests/engine",
    "tests/files/graphs",
    "tests/sources/test_mdf.py",
)
"""Where tests are looked for. Those that need Spark are left out, and so are those of native code,
of pages, of studies and of the command line: a mistake of a module should be seen beside it, and
these take long. ``--tests`` names others."""
LEFT_OUT = (
    "tests/compiler/test_both_forms.py",
    "tests/compiler/test_network_opinion.py",
    "tests/compiler/test_second_opinion.py",
    "tests/engine/adversary",
    "tests/engine/wall",
    "tests/engine/nodes/test_attack.py",
    "tests/engine/nodes/test_dead_thread.py",
    "tests/engine/nodes/test_executables.py",
    "tests/engine/nodes/test_exit_codes.py",
    "tests/engine/nodes/test_live_nodes.py",
    "tests/engine/nodes/test_nodes.py",
    "tests/engine/nodes/test_processes.py",
    "tests/engine/nodes/test_resuming.py",
    "tests/expressions/test_same_on_spark.py",
)
"""Of these folders: those that start processes or wait for a clock, or that take long for what they
see of these modules. What only they would see counts as survived."""


def modules(root: Path, subjects: tuple[str, ...] = ()) -> dict[str, str]:
    """Every module to mutate, relative to ``root``, with its subject."""
    unknown = [name for name in subjects if name not in SUBJECTS]
    if unknown:
        raise ValueError(f"no subject {unknown[0]!r}; there are {', '.join(SUBJECTS)}")
    found = {}
    for subject, patterns in SUBJECTS.items():
        if subjects and subject not in subjects:
            continue
        for pattern in patterns:
            paths = sorted(path for path in root.glob(pattern) if path.name != "__init__.py")
            if not paths:
                raise ValueError(f"{pattern}: no such module; mend {Path(__file__).name}")
            found.update({path.relative_to(root).as_posix(): subject for path in paths})
    return found


def files_of_tests(root: Path, tests: tuple[str, ...] = TESTS) -> list[str]:
    """The test files, relative to ``root``, folder by folder."""
    found: dict[str, None] = {}
    for name in tests:
        place = root / name
        if not place.exists():
            raise ValueError(f"{name}: no such folder or file of tests")
        paths = [place] if place.is_file() else sorted(place.rglob("test_*.py"))
        names = [path.relative_to(root).as_posix() for path in paths]
        found |= dict.fromkeys(one for one in names if one == name or not one.startswith(LEFT_OUT))
    return list(found)
