"""Names of a package that are fetched when first used (PEP 562).

A package that shows names of its modules imports all of them at once, whoever needs which: then
``headway --help`` pays for scipy. Written this way it imports none::

    if TYPE_CHECKING:                                   # what people and type checkers read
        from headway.files.load import load_query

    if not TYPE_CHECKING:
        __getattr__ = fetching(__name__, {"headway.files.load_queries": ["load_query"]})
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping


def fetching(package: str, homes: Mapping[str, Iterable[str]]) -> Callable[[str], object]:
    """A package's ``__getattr__``. ``homes``: module -> what is fetched from it; a name whose home
    is the package itself is a module in it."""
    home_of = {name: home for home, names in homes.items() for name in names}

    def fetch(name: str) -> object:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home == package:
            return importlib.import_module(f"{package}.{name}")
        found: object = getattr(importlib.import_module(home), name)
        setattr(sys.modules[package], name, found)
        return found

    return fetch
