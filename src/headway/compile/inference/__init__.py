"""What schema an operator's output has, given its inputs': one function an operator.

A function raises :class:`headway.errors.InputError` whose problems are told from the operator's own
place (``where``, ``columns.ttc``); the pass ``infer`` adds where the operator stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headway.compile.inference.aggregate import infer_aggregate
from headway.compile.inference.custom import infer_custom
from headway.compile.inference.join import infer_join
from headway.compile.inference.rows import infer_filter, infer_map, infer_union
from headway.model.schema import Schema

Infer = Callable[[Any, Mapping[str, Schema]], Schema]
"""(operator, schemas of its inputs by port) -> schema of its output"""

INFER: dict[str, Infer] = {
    "filter": infer_filter,
    "map": infer_map,
    "union": infer_union,
    "join": infer_join,
    "aggregate": infer_aggregate,
    "udo": infer_custom,
    "fusion": infer_custom,
}
