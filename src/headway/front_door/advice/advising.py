"""``hw.advise``: what would help where a deadline of a compiled query cannot be promised."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from headway.compiler.compilation import silent
from headway.engine.run_folder import write_whole
from headway.errors import InputError
from headway.front_door.advice.car_files import CarFiles
from headway.front_door.advice.fix_search import FixSearch, FoundFix
from headway.front_door.compiling import CompiledQuery, compile
from headway.model.plan import Plan, PlanFix, Promise, Verdict

_LENGTH = 6


@dataclass(frozen=True, kw_only=True)
class Advice:
    """A compiled query with what would help it; its plan says so too."""

    compiled: CompiledQuery
    found: tuple[FoundFix, ...]
    mark: str
    """of the files that were compiled: other files, another mark"""

    @property
    def fixes(self) -> tuple[PlanFix, ...]:
        """At most three, the cheapest first; each was tried by compiling it."""
        return tuple(one.fix for one in self.found)

    def write(self, number: int, mark: str = "") -> list[Path]:
        """Writes one of the fixes, counted from 1, into the files the query and its vehicle were
        read from, and nothing else in them.

        InputError when there is no such fix, when ``mark`` is that of other files than these, or
        when a file has changed since it was read."""
        if mark and mark != self.mark:
            raise InputError(
                "the files are not those that this advice was given for",
                got=f"mark {mark}, now {self.mark}",
                want="compile again, and choose among the fixes it shows then",
            )
        if not 1 <= number <= len(self.found):
            count = len(self.found)
            known = f"1 to {count}" if count > 1 else "1" if count else "none"
            raise InputError("there is no such fix", got=f"fix {number}", want=f"known: {known}")
        return list(self._written(self.found[number - 1]))

    def _written(self, found: FoundFix) -> Iterator[Path]:
        compiled = self.compiled
        if compiled.loaded_query is None or compiled.loaded_vehicle is None:
            raise InputError(
                "this query or its vehicle was not read from a file",
                want="change the program that makes it as the fix says",
            )
        before = CarFiles(compiled.loaded_query, compiled.loaded_vehicle).texts
        changed = {name: text for name, text in found.files.texts.items() if text != before[name]}
        paths = {name: Path(name) for name in changed}
        contents: dict[str, bytes] = {}
        for name, path in paths.items():
            try:
                data = path.read_bytes()
            except OSError as error:
                raise InputError(f"cannot be read: {error.strerror}", at=name) from None
            # What is written keeps the file's byte order mark; its line ends are in the text.
            start = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
            if data[len(start) :] != before[name].encode():
                raise InputError(
                    "the file has changed since it was compiled",
                    at=name,
                    want="compile again, and choose among the fixes it shows then",
                )
            contents[name] = start + changed[name].encode()
        for name, path in paths.items():
            real = path.resolve()
            mode = real.stat().st_mode
            write_whole(real.parent, {real.name: contents[name]})
            real.chmod(mode)
            yield path


def advise(compiled: CompiledQuery, tell: Callable[[str], None] = silent) -> Advice:
    """Looks for changes with which every deadline can be promised: other pins, even rates, shorter
    times in operators, other buses, faster nodes, fewer tuples, later deadlines.

    Where all promises are kept nothing is looked for. ``tell`` hears what is being tried. The
    result is the same for the same files."""
    plan = compiled.plan
    if plan.verdict is None:
        return Advice(compiled=compiled, found=(), mark="")
    files = CarFiles.of(plan.query, plan.vehicle, compiled.loaded_query, compiled.loaded_vehicle)

    def again(changed: CarFiles) -> Plan:
        return compile(changed.query, changed.vehicle, placement=compiled.way).plan

    found = FixSearch(plan, files, again, tell).run()
    return Advice(
        compiled=replace(compiled, plan=_told(plan, plan.verdict, found)),
        found=found,
        mark=_mark(files, compiled.way),
    )


def _told(plan: Plan, verdict: Verdict, found: tuple[FoundFix, ...]) -> Plan:
    """The plan that says what would help."""
    if not found:
        return plan
    advice = "; ".join(f"{n}. {one.fix.what}" for n, one in enumerate(found, start=1))

    def advised(promise: Promise) -> Promise:
        return promise if promise.kept else replace(promise, advice=advice)

    promises = tuple(advised(promise) for promise in verdict.promises)
    fixes = tuple(one.fix for one in found)
    return replace(plan, verdict=replace(verdict, promises=promises, fixes=fixes))


def _mark(files: CarFiles, way: str) -> str:
    parts = "\0".join((*files.texts.values(), way))
    return hashlib.sha256(parts.encode()).hexdigest()[:_LENGTH]
