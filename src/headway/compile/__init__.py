"""Query and vehicle to plan: a list of passes, one file each. See :mod:`headway.compile.passes`."""

from headway.compile.passes import PASSES, check_query, compile_query

__all__ = ["PASSES", "check_query", "compile_query"]
