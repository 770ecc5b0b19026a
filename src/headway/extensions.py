"""Extension points: what other packages add to Headway without a fork.

A package declares an entry point in one of the groups of ``docs/extending.md``; its name is the
one that people use, its value leads to what the group is for: a class or an object of the
documented base, or a function::

    [project.entry-points."headway.policies"]
    shortest-first = "my_package.policies:ShortestFirst"

Headway's own entries are declared by the same references beside each extension point, so importing
the point imports none of them; where they are values that cost nothing they stand there themselves.
Entry points are read when a name is asked for that is not Headway's own, or when all are listed,
and once. The rules:

- A name of Headway's own keeps its meaning; an entry point of that name is refused.
- A name that two packages declare is nobody's.
- What is found there must be what the group is for: derive from the base class, leave no abstract
  method open, and call itself what its entry point calls it.
- A broken entry is left out when all are listed, so it harms nobody who does not use it. Whoever
  names it is told what is wrong, in which distribution; :meth:`ExtensionPoint.refused` tells of
  all.
"""

from __future__ import annotations

import importlib
import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headway.errors import InputError, Problem

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

B = TypeVar("B")
V = TypeVar("V")

OWN = "headway"


def resolve(reference: str) -> Any:
    """What ``package.module:name`` leads to; imports the module, and raises what that raises."""
    module, _, path = reference.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split(".") if path else ():
        found = getattr(found, part)
    return found


@dataclass(frozen=True, slots=True)
class Entry:
    """A declared name. ``reference`` is ``module:object``; ``distribution`` declares it."""

    name: str
    reference: str
    distribution: str = OWN

    @property
    def own(self) -> bool:
        return self.distribution == OWN


class ExtensionPoint(Mapping[str, V], Generic[B, V]):
    """What there is of one kind, by name: Headway's own in their order, then those of other
    packages in the order of their names. Listing it gives what works; asking for a name that is
    declared but broken raises InputError, one that is not declared KeyError.

    ``base`` is a reference, so that nothing is imported before it is needed, and ``own`` has
    references or the values themselves. ``what`` is a word for messages.
    """

    def __init__(self, group: str, *, base: str, own: Mapping[str, str | V], what: str) -> None:
        self.group = group
        self.what = what
        self._base_reference = base
        self._own = own
        self._found: dict[str, V] = {}

    # ---------------------------------------------------------------- declared

    @cached_property
    def _base(self) -> type[B]:
        base: type[B] = resolve(self._base_reference)
        return base

    @cached_property
    def _declared(self) -> dict[str, list[Entry]]:
        """The entry points of other packages, by name."""
        from importlib.metadata import entry_points  # slow to import, and mostly not needed

        declared: dict[str, list[Entry]] = {}
        for point in entry_points(group=self.group):
            reference = point.value.partition("[")[0].replace(" ", "")
            entry = Entry(point.name, reference, _distribution(point))
            if not entry.own and entry not in declared.setdefault(entry.name, []):
                declared[entry.name].append(entry)
        return {
            name: sorted(declared[name], key=lambda entry: entry.distribution)
            for name in sorted(declared)
        }

    @property
    def others(self) -> dict[str, list[Entry]]:
        """What other packages declare under names that are not Headway's own, not imported."""
        return {name: found for name, found in self._declared.items() if name not in self._own}

    @property
    def names(self) -> tuple[str, ...]:
        """All that are declared, whether they work or not."""
        return (*self._own, *self.others)

    def refused(self) -> dict[str, InputError]:
        """Entry points that cannot be used, with what is wrong with each."""
        found: dict[str, InputError] = {}
        for name, entries in self._declared.items():
            if name in self._own:
                found[name] = self._taken(entries[0])
                continue
            try:
                self[name]
            except InputError as error:
                found[name] = error
        return found

    # ---------------------------------------------------------------- looked up

    def __getitem__(self, name: str) -> V:
        if name in self._found:
            return self._found[name]
        own = self._own.get(name)
        if own is not None and not isinstance(own, str):
            return own
        entry = self.only(name) if own is None else Entry(name, own)
        found = self._found[name] = self.accept(entry, self._imported(entry))
        return found

    def __iter__(self) -> Iterator[str]:
        for name in self.names:
            if name not in self._own:
                try:
                    self[name]
                except InputError:
                    continue
            yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def where(self, test: Callable[[V], bool]) -> Selection[V]:
        """Those of them that pass a test, looked up when they are asked for."""
        return Selection(self, test)

    def part(self, name: str, reference: str) -> Any:
        """What else the thing of that name refers to, imported; where that fails in another
        package it is told as for the thing itself."""
        if name in self._own:
            return resolve(reference)
        return self._imported(replace(self.only(name), reference=reference))

    def only(self, name: str) -> Entry:
        """The entry of another package that declares the name; InputError if two do."""
        entries = self._declared[name]
        if len(entries) > 1:
            raise InputError(
                Problem(
                    f"several packages declare {self._called(name)}",
                    got=", ".join(f"{one.distribution} ({one.reference})" for one in entries),
                    want="uninstall all but one of them",
                )
            )
        return entries[0]

    def _imported(self, entry: Entry) -> Any:
        if entry.own:
            return resolve(entry.reference)
        try:
            return resolve(entry.reference)
        except Exception as error:
            raise self.broken(
                entry, f"cannot be loaded: {type(error).__name__}: {error}"
            ) from error

    # ---------------------------------------------------------------- accepted

    @abstractmethod
    def accept(self, entry: Entry, found: object) -> V:
        """What was found, checked; InputError if it is not what the point is for."""

    def checked_class(self, entry: Entry, found: object) -> type[B]:
        """A class that derives from the base, is complete, and goes by the entry's name."""
        base = self._base
        if not (isinstance(found, type) and issubclass(found, base)):
            raise self._stranger(entry, found)
        if inspect.isabstract(found):
            missing = ", ".join(sorted(getattr(found, "__abstractmethods__", ())))
            raise self.broken(entry, f"leaves methods of {base.__name__} open", missing)
        self.check_name(entry, found)
        return found

    def check_name(self, entry: Entry, found: object) -> None:
        """What is listed as one name must not call itself another."""
        called = getattr(found, "name", entry.name)
        if called != entry.name:
            raise self.broken(entry, "calls itself by another name", repr(called))

    def _stranger(self, entry: Entry, found: object) -> InputError:
        wanted = f"{self._base.__module__}.{self._base.__qualname__}"
        return self.broken(entry, f"does not derive from {wanted}", f"{found!r:.80}")

    def broken(self, entry: Entry, what: str, got: str = "") -> InputError:
        """What whoever uses the entry is told."""
        return InputError(
            Problem(
                f"{self._called(entry.name)} of the package {entry.distribution} {what}",
                at=entry.reference,
                got=got,
                want=f"correct or uninstall {entry.distribution}, or choose another {self.what}",
            )
        )

    def _taken(self, entry: Entry) -> InputError:
        return InputError(
            Problem(
                f"{self._called(entry.name)} is Headway's own; the entry of the package "
                f"{entry.distribution} is not used",
                at=entry.reference,
                want=f"have {entry.distribution} choose another name",
            )
        )

    def _called(self, name: str) -> str:
        return f"the {self.what} {name!r}"


class ExtensionClasses(ExtensionPoint[B, type[B]]):
    """A point for classes, of which every use makes its own object."""

    def accept(self, entry: Entry, found: object) -> type[B]:
        return self.checked_class(entry, found)


class ExtensionObjects(ExtensionPoint[B, B]):
    """A point for objects that all uses share: an entry leads to one, or to a class that is made
    without arguments."""

    def accept(self, entry: Entry, found: object) -> B:
        if isinstance(found, type):
            return self._made(entry, self.checked_class(entry, found))
        if not isinstance(found, self._base):
            raise self._stranger(entry, found)
        self.check_name(entry, found)
        return found

    def _made(self, entry: Entry, found: type[B]) -> B:
        try:
            return found()
        except Exception as error:
            if entry.own:
                raise
            what = f"cannot be made without arguments: {type(error).__name__}: {error}"
            raise self.broken(entry, what) from error


class ExtensionFunctions(ExtensionPoint[Callable[..., None], Callable[..., None]]):
    """A point for functions, which have no base and no name of their own."""

    def __init__(self, group: str, *, own: Mapping[str, str], what: str) -> None:
        super().__init__(group, base="collections.abc:Callable", own=own, what=what)

    def accept(self, entry: Entry, found: object) -> Callable[..., None]:
        if not callable(found):
            raise self.broken(entry, "is no function", f"{found!r:.80}")
        return found


class Selection(Mapping[str, V]):
    """The part of an extension point that passes a test. A broken name is none of its names, but
    whoever asks for it is told."""

    def __init__(self, point: ExtensionPoint[B, V], test: Callable[[V], bool]) -> None:
        self._point: Mapping[str, V] = point
        self._test = test

    def __getitem__(self, name: str) -> V:
        found = self._point[name]
        if not self._test(found):
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return (name for name, found in self._point.items() if self._test(found))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _distribution(point: EntryPoint) -> str:
    """Whose it is; an entry point that was made by hand belongs to none."""
    return point.dist.name if point.dist is not None else "of no name"
