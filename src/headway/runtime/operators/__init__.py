"""The operators on the vehicle: rows in, rows out. :func:`steps_of` makes a train's steps."""

from __future__ import annotations

from headway.runtime.operators.base import (
    DropKind,
    Dropped,
    Row,
    State,
    StatefulOperator,
    Stateless,
    Timer,
)
from headway.runtime.operators.build import build_stateful, steps_of
from headway.runtime.operators.custom import CustomOperator
from headway.runtime.operators.fused import Fused, is_stateless
from headway.runtime.operators.gather import Gathering, Signal

__all__ = [
    "CustomOperator",
    "DropKind",
    "Dropped",
    "Fused",
    "Gathering",
    "Row",
    "Signal",
    "State",
    "StatefulOperator",
    "Stateless",
    "Timer",
    "build_stateful",
    "is_stateless",
    "steps_of",
]
