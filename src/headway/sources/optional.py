"""Packages that only some files need."""

from __future__ import annotations

import importlib
from typing import Any

from headway.errors import EnvironmentMissing


def needed(module: str, package: str, *, extra: str, reading: str) -> Any:
    """An optional package, or EnvironmentMissing saying which extra brings it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise EnvironmentMissing(
            f"Reading {reading} needs {package}. Install it with: pip install 'headway[{extra}]'"
        ) from None
