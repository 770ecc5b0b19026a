"""A gate: what is fused, what is left out, and when a key means another object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from tests.fusion.support import AROUND, SEEN, context, fix, own_vehicle, run, surroundings

from headway.errors import InputError, QueryError
from headway.files.load_queries import parse_query
from headway.fusion.association import chi_square, gate_limits
from headway.fusion.operator import SensorFusion
from headway.fusion.refused_tuples import RefusalReason
from headway.fusion.state import FilterState, start
from headway.fusion.surroundings import SurroundingsFusion
from headway.fusion.track import Key, Measurement
from headway.model.operators import AssociationGate, Fusion
from headway.model.quantities import MILLISECOND
from headway.model.user_operator import Row

MS = 1_000
GATE = AssociationGate(0.999, 3)


def at(moment: int, x: float, *, sensor: str = "radar") -> Row:
    """Car 1, standing still, seen to 0.1 m; its velocity measured too."""
    return (moment * MS, 1, sensor, False, x, 0.0, 0.0, 0.0, 0.01, 0.01, 0.01, 0.01)


def place(fusion: SurroundingsFusion, moment: int) -> float:
    state = fusion.estimate(1, moment * MS)
    assert state is not None
    return state.x


def fed(fusion: SurroundingsFusion, rows: Iterable[Row]) -> SurroundingsFusion:
    for row in rows:
        run(fusion, board=[row])
    return fusion


@given(st.floats(0.5, 1 - 1e-12))
def test_limits_are_quantiles_of_chi_square(accept: float) -> None:
    expected = [0.0, *(float(chi2.ppf(accept, numbers)) for numbers in range(1, 5))]
    assert gate_limits(accept) == pytest.approx(expected, rel=1e-4)


@given(st.floats(0, 60), st.integers(1, 4))
def test_shares_are_those_of_chi_square(squared: float, numbers: int) -> None:
    assert chi_square(squared, numbers) == pytest.approx(float(chi2.cdf(squared, numbers)))


def test_without_a_gate_a_jump_drags_the_estimate_along() -> None:
    fusion = fed(surroundings(), [at(0, 0.0), at(50, 0.0), at(100, 21.0)])
    assert 1.0 < place(fusion, 100) < 20.0


def test_one_nonsense_is_left_out_and_told() -> None:
    fusion = surroundings(front=200 * MILLISECOND, gate=GATE)
    wrong = at(100, 21.0)
    fed(fusion, [at(0, 0.0), at(50, 0.0), wrong, at(150, 0.0)])
    assert place(fusion, 150) == 0.0
    assert fusion.outside == 0  # it might still be the first of another object
    fed(fusion, [at(350, 0.0)])
    assert fusion.outside == 1
    assert [(one.reason, one.row) for one in fusion.take_refused()] == [
        (RefusalReason.OUTSIDE, wrong)
    ]


def test_another_object_takes_over_the_key_once_it_is_confirmed() -> None:
    fusion = fed(surroundings(gate=GATE), [at(0, 0.0), at(50, 0.0), at(100, 21.0), at(150, 21.0)])
    assert place(fusion, 150) == 0.0
    fed(fusion, [at(200, 21.0)])
    assert place(fusion, 200) == 21.0
    alone = fed(surroundings(), [at(100, 21.0), at(150, 21.0), at(200, 21.0)])
    assert fusion.estimate(1, 200 * MS) == alone.estimate(1, 200 * MS)
    fed(fusion, [at(1900, 21.0)])
    assert fusion.outside == 0


def test_several_tuples_of_a_moment_confirm_once() -> None:
    fusion = fed(surroundings(gate=GATE), [at(0, 0.0), *[at(100, 21.0)] * 5])
    assert place(fusion, 100) == 0.0


def test_one_inside_the_gate_ends_the_rival() -> None:
    rows = [at(0, 0.0)]
    for moment in range(50, 950, 100):
        rows += [at(moment, 21.0), at(moment + 50, 0.0, sensor="lidar")]
    fusion = fed(surroundings(gate=GATE), rows)
    assert place(fusion, 900) == 0.0


def test_a_rival_of_a_rival_begins_anew() -> None:
    rows = [at(0, 0.0), at(50, 21.0), at(100, 21.0), at(150, 50.0), at(200, 50.0)]
    fusion = fed(surroundings(gate=GATE), rows)
    assert place(fusion, 200) == 0.0
    assert place(fed(fusion, [at(250, 50.0)]), 250) == 50.0


def test_confirm_1_takes_over_at_once() -> None:
    fusion = fed(surroundings(gate=AssociationGate(0.999, 1)), [at(0, 0.0), at(50, 21.0)])
    assert place(fusion, 50) == 21.0


def test_an_object_not_measured_for_long_gives_its_key_to_the_rival() -> None:
    gate = AssociationGate(0.999, 9)
    rows = [at(0, 0.0), at(200, 21.0), at(400, 21.0), at(600, 21.0)]
    fusion = fed(surroundings(rear=500 * MILLISECOND, front=500 * MILLISECOND, gate=gate), rows)
    assert place(fusion, 600) == 21.0


def test_what_lies_where_it_is_expected_changes_no_estimate() -> None:
    """Inside the gate everything is as without one, to the last bit."""
    rows = [at(50 * k, 0.01 * (k % 3)) for k in range(20)]
    with_gate, without = fed(surroundings(gate=GATE), rows), fed(surroundings(), rows)
    assert with_gate.rear_window(1) == without.rear_window(1)


def test_a_fix_far_off_is_no_place_of_ours_but_speeds_are_taken() -> None:
    fusion = own_vehicle(gate=GATE)
    for moment in range(0, 1000, 100):
        run(
            fusion,
            gps=[fix(moment * MS, moment / 50, 0.0, 90.0)],
            speed=[(moment * MS, 20.0, 0.01)],
        )
    before = fusion.estimate("", 1000 * MS)
    assert before is not None
    run(fusion, gps=[fix(1000 * MS, 400.0, 0.0, 90.0)], speed=[(1000 * MS, 20.0, 0.01)])
    after = fusion.estimate("", 1000 * MS)
    assert after is not None
    assert after.x == pytest.approx(before.x, abs=0.2)
    assert after.vx == pytest.approx(20.0, abs=0.5)


# -------------------------------------------------------------------- what is refused


class Silent(SensorFusion[float]):
    """Does not say how far a measurement is from an estimate."""

    def read(self, port: str, row: Row) -> float | None:
        return 1.0

    def first(self, object: Key, measurement: Measurement[float]) -> FilterState:
        return start(measurement.timestamp, (0.0, 0.0), (1.0, 1.0), (0.0, 0.0), (1.0, 1.0))

    def predict(self, state: FilterState, to: int) -> FilterState:
        return state

    def update(self, state: FilterState, measurement: Measurement[float]) -> FilterState:
        return state

    def emit(self, at: int, measured: Sequence[Key]) -> Iterable[Row]:
        return ()


def test_a_class_without_a_distance_takes_no_gate() -> None:
    given = context({"board": SEEN}, AROUND, object_key="id", gate=GATE)
    with pytest.raises(QueryError, match="Silent cannot have a gate"):
        Silent().open(given)
    Silent().open(context({"board": SEEN}, AROUND, object_key="id"))


def test_the_own_vehicle_takes_no_correlated_reports() -> None:
    with pytest.raises(QueryError, match="OwnVehicleFusion takes no reports whose errors are corr"):
        own_vehicle(correlated=True)


QUERY = """
query: q
schemas: {{Seen: {{id: bigint, x: double, y: double, var_pos: double}}}}
sources: {{board: {{schema: Seen, rate: 1 per 100 ms}}}}
operators:
  around:
    fusion: "headway.fusion.surroundings:SurroundingsFusion"
    inputs: {{board: board}}
    schema: {{id: bigint, x: double}}
    object: id
    front: 1 s
    rear: 1 s
    parameters: {{own_id: 1}}
    gate: {gate}
outputs: {{out: {{from: around, deadline: 1 s}}}}
"""


@pytest.mark.parametrize(
    ("gate", "told"),
    [
        ("{accept: 1.5}", "around.gate.accept"),
        ("{accept: 0.9, confirm: 0}", "around.gate.confirm"),
        ("{confirm: 2}", "around.gate"),
        ("0.9", "around.gate"),
    ],
)
def test_a_gate_that_cannot_be_is_told_with_its_place(gate: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_query(QUERY.format(gate=gate))
    assert told in str(caught.value)


def test_a_query_declares_it() -> None:
    (step,) = parse_query(QUERY.format(gate="{accept: 0.99}")).query.steps
    assert getattr(step, "gate", None) == AssociationGate(0.99, 3)


def test_windows_tell_of_a_gate_only_if_there_is_one() -> None:
    """So contexts of queries that declare none are as they were."""
    (step,) = parse_query(QUERY.replace("    gate: {gate}\n", "").format()).query.steps
    assert isinstance(step, Fusion)
    assert set(step.windows) == {"front", "rear", "object_key", "sensor_key"}
