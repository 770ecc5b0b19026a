"""Fault files to what they mean."""

from __future__ import annotations

from pathlib import Path

from headway.files.fault_form import DeathForm, FaultRateForm, FaultsForm, ResetForm, SlowForm
from headway.files.source_map import validate
from headway.simulation.fault_plan import FaultKind, FaultRate, FaultSpec
from headway.simulation.simulated_network import LinkManners
from headway.yaml_tree import parse_yaml, read_text

THOUSAND = 1000
"""billionths in a millionth"""


def load_faults(path: Path | str) -> FaultSpec:
    """The faults in a YAML file; FileError with places when it is not of the form."""
    return parse_faults(read_text(Path(path)), str(path))


def parse_faults(text: str, name: str = "faults.yaml") -> FaultSpec:
    """The faults in YAML text; ``name`` stands for the file in messages."""
    form = validate(parse_yaml(text, name), FaultsForm)
    rates = [(kind, getattr(form, kind.value)) for kind in FaultKind]
    network = form.network
    return FaultSpec(
        name=form.faults,
        rates=tuple((kind, _rate(rate)) for kind, rate in rates if rate is not None),
        manners=LinkManners(
            jitter=network.jitter,
            loss=network.loss,
            retransmit=network.retransmit,
            corrupt=network.corrupt,
            doubled=network.doubled,
            window=network.window,
        ),
        rough=network.runs,
        drift=round(form.clocks.drift * THOUSAND),
        offset=form.clocks.offset,
        within=form.within,
    )


def _rate(form: FaultRateForm | ResetForm) -> FaultRate:
    if isinstance(form, ResetForm):
        return FaultRate(chance=form.chance, most=form.most)
    return FaultRate(
        chance=form.chance,
        most=form.most,
        shortest=form.shortest,
        longest=form.longest,
        returns=form.returns if isinstance(form, DeathForm) else 1.0,
        factor=form.factor if isinstance(form, SlowForm) else 1.0,
    )
