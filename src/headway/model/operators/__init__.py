"""The operators of a query, one file each.

A new operator is a file here and an entry in ``Operator`` and ``OPERATORS``; then the compiler's
``infer``, the file format and each engine get a small file of their own.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Discriminator

from headway.model.operators.aggregate import Aggregate
from headway.model.operators.base import Gather, Input, OperatorBase
from headway.model.operators.filter import Filter
from headway.model.operators.fusion import Fusion
from headway.model.operators.join import Join
from headway.model.operators.map import Map
from headway.model.operators.udo import Parameter, UserDefined
from headway.model.operators.union import Union

Operator = Annotated[
    Filter | Map | Union | Join | Aggregate | UserDefined | Fusion, Discriminator("kind")
]
OPERATORS: dict[str, type[OperatorBase]] = {
    "filter": Filter,
    "map": Map,
    "union": Union,
    "join": Join,
    "aggregate": Aggregate,
    "udo": UserDefined,
    "fusion": Fusion,
}

__all__ = [
    "OPERATORS",
    "Aggregate",
    "Filter",
    "Fusion",
    "Gather",
    "Input",
    "Join",
    "Map",
    "Operator",
    "OperatorBase",
    "Parameter",
    "Union",
    "UserDefined",
]
