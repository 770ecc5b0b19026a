"""What a node's program may weigh, and that it has only the modules it uses; written without a
warning."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.invoke import EXAMPLES, headway
from tests.engine.nodes.study import study_plan
from tests.native.needed import host, needs_compiler, needs_zig

from headway.engine.nodes.executables import slices_of
from headway.front_door.compiling import compile
from headway.model.plan import Plan
from headway.native.build_cache import cached_program
from headway.native.compiled_program import GROWS, library_files
from headway.native.cpp_library import LIBRARY
from headway.native.cpp_process import Carrier, carriers_of
from headway.native.native_build import BuiltNode, build_car
from headway.native.program_layout import ProgramLayout, meaning_layout, vehicle_layout
from headway.native.source_tree import node_sources, with_runtime
from headway.native.toolchain import BinaryKind, Target

KB = 1_000
COLLISION_WARNING = EXAMPLES / "collision_warning"
BETWEEN_NODES = {"greeting", "sha256", "node_links", "node_deployment", "udp_transport"}


def hello() -> Plan:
    return compile(EXAMPLES / "hello" / "query.yaml", EXAMPLES / "hello" / "vehicle.yaml").plan


def collision_warning() -> Plan:
    return compile(COLLISION_WARNING / "query.yaml", COLLISION_WARNING / "vehicle_modern.yaml").plan


def built(plan: Plan, target: Target, folder: Path) -> tuple[BuiltNode, ...]:
    targets = dict.fromkeys((query.node for query in plan.node_queries), target)
    return build_car(plan, folder / "car", targets=targets).native


# ---------------------------------------------------------------- bytes


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(Target.NATIVE, marks=needs_compiler),
        pytest.param(Target.AARCH64, marks=needs_zig),
        pytest.param(Target.ARMV7, marks=needs_zig),
    ],
)
def test_hello(target: Target, tmp_path: Path) -> None:
    (ecu,) = built(hello(), target, tmp_path)
    assert ecu.warnings == ()
    if ecu.size is None:
        pytest.skip("programs of this machine are no ELF files: only they are measured")
    assert ecu.size.file < 100 * KB
    assert ecu.size.data + ecu.size.zeroed < 100 * KB


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(Target.NATIVE, marks=needs_compiler),
        pytest.param(Target.ARMV7, marks=needs_zig),  # its programs are the largest
    ],
)
def test_the_collision_warning(target: Target, tmp_path: Path) -> None:
    nodes = built(collision_warning(), target, tmp_path)
    assert [node.node for node in nodes] == ["node1", "node2", "node3"]
    for node in nodes:
        assert node.warnings == ()
        if node.size is None:
            pytest.skip("programs of this machine are no ELF files: only they are measured")
        assert node.size.file < 400 * KB


# ---------------------------------------------------------------- modules


def modules_of(plan: Plan, node: str, policy: str = "s-edf", *carriers: Carrier) -> set[str]:
    files = node_sources(plan, node, policy, carriers=carriers).files
    return {Path(name).stem for name in files if name.startswith("headway/")}


def test_a_node_that_is_alone_has_nothing_for_others() -> None:
    modules = modules_of(hello(), "ecu")
    assert {"kernel", "wall_time", "node_main"} <= modules
    assert not modules & {*BETWEEN_NODES, "tcp_transport", "can_transport", "reservations"}
    assert not modules & {"join", "aggregate", "fusion", "letter_case", "virtual_time"}


def test_a_node_has_the_carriers_of_its_peers() -> None:
    plan = collision_warning()
    datagrams = modules_of(plan, "node1", "s-edf", Carrier.UDP)
    assert datagrams >= BETWEEN_NODES
    assert "tcp_transport" not in datagrams
    connections = modules_of(plan, "node1", "s-edf", Carrier.TCP)
    assert "tcp_transport" in connections
    assert "udp_transport" not in connections


def test_reservations_only_where_they_are_made() -> None:
    assert "reservations" in modules_of(hello(), "ecu", "rop-edf-1")


def test_the_fewest_carriers() -> None:
    parts = {part.node: part for part in slices_of(study_plan())}
    native: dict[str, Target | None] = dict.fromkeys(parts, Target.NATIVE)
    assert carriers_of(parts["rear"], native) == {Carrier.UDP}
    assert carriers_of(parts["rear"], native, tcp=True) == {Carrier.UDP, Carrier.TCP}
    assert carriers_of(parts["rear"], {**native, "centre": None}) == {Carrier.TCP}
    assert carriers_of(parts["centre"], {**native, "rear": None}) == {Carrier.UDP, Carrier.TCP}
    # Another build makes the rest, of which nothing is known.
    assert carriers_of(parts["rear"], {"rear": Target.NATIVE}) == {Carrier.UDP, Carrier.TCP}
    (ecu,) = slices_of(hello())
    assert carriers_of(ecu, {"ecu": Target.NATIVE}) == frozenset()
    assert carriers_of(ecu, {"ecu": Target.NATIVE}, tcp=True) == {Carrier.TCP}


def test_connections_for_programs_outside_are_asked_for(tmp_path: Path) -> None:
    given = (EXAMPLES / "hello" / "query.yaml", "--vehicle", EXAMPLES / "hello" / "vehicle.yaml")
    options = ("--target", "native", "--emit-only", "--out")
    for out, wish in ((tmp_path / "alone", ()), (tmp_path / "open", ("--tcp",))):
        done = headway("build", *given, *options, out, *wish)
        assert (done.code, done.err) == (0, "")
        assert (out / "ecu" / "headway" / "tcp_transport.hpp").exists() == bool(wish)
        assert not (out / "ecu" / "headway" / "udp_transport.hpp").exists()


# ---------------------------------------------------------------- libraries


@needs_compiler
@pytest.mark.parametrize("layout", [vehicle_layout, meaning_layout])
def test_a_library_is_compiled_without_a_warning(
    layout: Callable[[Plan], ProgramLayout], tmp_path: Path
) -> None:
    """Users are not stopped by what a newer compiler warns of; we are."""
    files = library_files(layout(collision_warning()))
    cached_program(
        with_runtime(files),
        [LIBRARY],
        host(),
        kind=BinaryKind.SHARED,
        definitions=[GROWS],
        strict=True,
        cache=tmp_path,
    )
