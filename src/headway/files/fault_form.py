"""The form of fault files: what may befall the nodes of a simulated car, and how often."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from headway.files.forms import Count, Duration, Form, Name, PositiveDuration, refusal

Chance = Annotated[float, Field(ge=0, le=1)]
MOST_FAULTS = 20


class LastingForm(Form):
    """What lasts for some time."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        shortest, longest = getattr(self, "shortest", 0), getattr(self, "longest", 0)
        if longest < shortest:
            raise refusal("it ends before it has lasted its shortest", "longest above shortest")
        return self


class FaultRateForm(LastingForm):
    """How often, and for how long."""

    chance: Chance = Field(description="the share of the runs in which it happens")
    most: Annotated[Count, Field(le=MOST_FAULTS)] = Field(
        default=1, description="so often at most in one run"
    )
    shortest: PositiveDuration = Field(
        default=100_000_000,
        description="how long it lasts at least",
        json_schema_extra={"default": "100 ms"},
    )
    longest: PositiveDuration = Field(
        default=1_000_000_000, description="and at most", json_schema_extra={"default": "1 s"}
    )


class ResetForm(Form):
    """All connections between two nodes break."""

    chance: Chance = Field(description="the share of the runs in which it happens")
    most: Annotated[Count, Field(le=MOST_FAULTS)] = Field(
        default=1, description="so often at most in one run"
    )


class DeathForm(FaultRateForm):
    """A node's process ends. It is away for that long, if it returns."""

    returns: Chance = Field(default=1.0, description="the share in which it is started again")


class SlowForm(FaultRateForm):
    """Operators of a node take longer than they declare."""

    factor: Annotated[float, Field(ge=1, le=1000)] = Field(
        default=10.0, description="so many times as long at most"
    )


class NetworkManners(Form):
    """How all links behave all the time."""

    runs: Chance = Field(
        default=1.0,
        description="the share of the runs with such a network; in the others it is calm",
    )
    jitter: Duration = Field(default=0, description="what a message takes longer at most")
    loss: Annotated[float, Field(ge=0, le=0.5)] = Field(
        default=0.0, description="the share of segments lost; TCP sends them again"
    )
    retransmit: PositiveDuration = Field(
        default=200_000_000,
        description="after so long, doubled each time",
        json_schema_extra={"default": "200 ms"},
    )
    corrupt: Annotated[float, Field(ge=0, le=0.5)] = Field(
        default=0.0, description="the share of segments changed so that TCP does not see it"
    )
    doubled: Chance = Field(
        default=0.0, description="the share of attempts to connect that come twice"
    )
    window: Annotated[Count, Field(ge=1024)] = Field(
        default=65536, description="bytes under way on a connection until a sender has to wait"
    )


class ClocksForm(Form):
    """The clocks of the nodes: each has its own error, drawn up to these."""

    drift: Annotated[float, Field(ge=0, le=100_000)] = Field(
        default=0.0, description="parts per million that it runs fast or slow"
    )
    offset: Duration = Field(default=0, description="how far off it is at the start")


class FaultsForm(Form):
    """Faults for `headway simulate`."""

    faults: Name = Field(description="the file's name for people")
    network: NetworkManners = Field(default=NetworkManners(), description="all links, all the time")
    clocks: ClocksForm = Field(default=ClocksForm(), description="errors of the nodes' clocks")
    within: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.7, description="the share of the recording in which faults begin"
    )
    reset: ResetForm | None = Field(default=None, description="connections of two nodes break")
    partition: FaultRateForm | None = Field(default=None, description="two nodes lose each other")
    isolation: FaultRateForm | None = Field(default=None, description="a node hears nobody")
    crash: DeathForm | None = Field(default=None, description="a process is killed at any call")
    power_cut: DeathForm | None = Field(default=None, description="a node is gone, nobody is told")
    pause: FaultRateForm | None = Field(default=None, description="a process does not run")
    slow: SlowForm | None = Field(default=None, description="operators take longer than declared")
    full_disk: FaultRateForm | None = Field(default=None, description="nothing can be written")
