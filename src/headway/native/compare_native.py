"""The vehicle engine and its compiled twin over one recording: do they give the same tuples, how
many? (:mod:`headway.engine.engine_answers`)"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from headway.compiler.node_queries import on_one_node
from headway.engine.engine import replay
from headway.engine.engine_answers import answers_of, vehicle_answers
from headway.model.plan import Plan
from headway.native.native_engine import NativeEngine
from headway.sources.recordings import scan_recording


@dataclass(frozen=True)
class NativeAgreement:
    """Tuples of one output: given by both engines, and by one of them only."""

    output: str
    equal: int
    vehicle_only: int
    native_only: int

    @property
    def other_only(self) -> int:
        return self.native_only

    @property
    def holds(self) -> bool:
        return not self.vehicle_only and not self.native_only


def native_agreements(plan: Plan, recording: Path) -> list[NativeAgreement]:
    """One for each output."""
    whole = on_one_node(plan)
    contents = scan_recording(recording, whole.query.sources)
    engine = NativeEngine(plan=whole, charged=False, keep_trace=False)
    compiled = answers_of(whole, replay(whole, recording, contents, lambda: engine))
    meant = vehicle_answers(plan, recording)
    return [
        NativeAgreement(
            name,
            equal=(meant[name] & compiled[name]).total(),
            vehicle_only=(meant[name] - compiled[name]).total(),
            native_only=(compiled[name] - meant[name]).total(),
        )
        for name in meant
    ]
