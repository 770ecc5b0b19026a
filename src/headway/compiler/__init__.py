"""Query and vehicle to plan: a list of passes. See :mod:`headway.compiler.passes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.lazily import fetching

if TYPE_CHECKING:
    from headway.compiler.passes import PASSES, compile_query

__all__ = ["PASSES", "compile_query"]

# Checking a query alone (:mod:`headway.compiler.front_end`) needs no numerics.
if not TYPE_CHECKING:  # a type checker would take every name for known
    __getattr__ = fetching(__name__, {"headway.compiler.passes": __all__})
