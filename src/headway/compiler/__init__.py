"""Query and vehicle to plan: a list of passes. See :mod:`headway.compiler.passes`."""

from __future__ import annotations

from headway.compiler.passes import PASSES, check_query, compile_query

__all__ = ["PASSES", "check_query", "compile_query"]
