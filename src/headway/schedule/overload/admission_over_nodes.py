"""ROP-EDF over several nodes: the version the paper leaves open.

A path runs in stages, one node after another, with communication between them. Each stage has a
window: it opens a fixed time after the job's release, when its input is there at the latest, and
closes before the next message must leave::

    opens(k) = release + Σ_{j<k} (D_j + L_j)        closes(k) = opens(k) + D_k

with D_j the window and L_j the longest communication latency behind stage j. A job is admitted at
its release on *all* its nodes for exactly these windows, or on none: first every node is asked, and
only then is anything reserved. A stage whose input comes early waits for its window (a release
guard), so that on each node the stages are ordinary jobs with release, deadline and utilisation
U = C/D, and theorem 1 holds there: hard stages within 1 − α are safe. A path all of whose stages
are in time is in time.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass

from headway.errors import TaskSetError
from headway.model.taskset import FULL, TaskKind, percent


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A path's part on one node: at most ``peak`` (millionths) of it during ``window`` (ns)."""

    node: str
    window: int
    peak: int
    latency: int = 0
    """longest time of the message to the next stage (ns)"""


@dataclass(frozen=True, kw_only=True)
class NodePath:
    """An operator path over nodes; releases are at least ``gap`` apart."""

    name: str
    kind: TaskKind
    gap: int
    stages: tuple[Stage, ...]

    @property
    def hard(self) -> bool:
        return self.kind is TaskKind.HARD

    @property
    def deadline(self) -> int:
        """End to end: all windows and the messages between them."""
        return sum(stage.window + stage.latency for stage in self.stages)

    def windows(self, release: int) -> list[tuple[Stage, int, int]]:
        """(stage, opens, closes) of a job."""
        found, opens = [], release
        for stage in self.stages:
            found.append((stage, opens, opens + stage.window))
            opens += stage.window + stage.latency
        return found


def check_paths(paths: Sequence[NodePath], overhead: int = 0) -> dict[str, int]:
    """What each node has left for soft stages; TaskSetError where hard ones need more than 1 − α.

    The stages of one path never overlap on a node if every window is within the gap."""
    needed: dict[str, dict[str, int]] = {}
    for path in paths:
        for stage in path.stages:
            here = needed.setdefault(stage.node, {})
            if path.hard:
                if stage.window > path.gap:
                    what = "a hard path's window is longer than its gap"
                    raise TaskSetError(what, at=f"paths.{path.name}.{stage.node}")
                here[path.name] = here.get(path.name, 0) + stage.peak
    for node, paths_here in needed.items():
        if sum(paths_here.values()) > FULL - overhead:
            raise TaskSetError(
                f"hard paths need {percent(sum(paths_here.values()))} of {node!r}",
                at=f"nodes.{node}",
                got=", ".join(f"{name} {percent(peak)}" for name, peak in paths_here.items()),
                want=f"at most {percent(FULL - overhead)} (1 − α)",
            )
    return {node: FULL - overhead - sum(here.values()) for node, here in needed.items()}


class NodeBooks:
    """Reservations of soft stages on one node, in windows that may lie ahead."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._windows: list[tuple[int, int, int]] = []
        """(closes, opens, utilisation), by when they close"""

    def most(self, opens: int, closes: int) -> int:
        """The most that is reserved at any instant of a window."""
        changes: list[tuple[int, int]] = []
        for end, begin, held in self._windows[
            bisect_right(self._windows, (opens, FULL << 40, 0)) :
        ]:
            if begin < closes:
                changes += [(max(begin, opens), held), (end, -held)]
        level = most = 0
        for _, change in sorted(changes):
            level += change
            most = max(most, level)
        return most

    def fits(self, opens: int, closes: int, use: int) -> bool:
        return self.most(opens, closes) + use <= self.capacity

    def reserve(self, opens: int, closes: int, use: int) -> None:
        insort(self._windows, (closes, opens, use))

    def return_until(self, now: int) -> None:
        """A reservation ends with its window."""
        del self._windows[: bisect_right(self._windows, (now, FULL << 40, 0))]

    @property
    def reserved(self) -> list[tuple[int, int, int]]:
        """(opens, closes, utilisation)"""
        return [(begin, end, held) for end, begin, held in self._windows]


class Admission:
    """Admits soft jobs of paths, all stages or none; hard jobs have their capacity already."""

    def __init__(self, paths: Sequence[NodePath], overhead: int = 0) -> None:
        self.books = {n: NodeBooks(left) for n, left in check_paths(paths, overhead).items()}

    def admit(self, path: NodePath, release: int, uses: Sequence[int]) -> bool:
        """``uses`` are the job's utilisations, stage by stage."""
        for books in self.books.values():
            books.return_until(release)
        if path.hard:
            return all(use <= one.peak for use, one in zip(uses, path.stages, strict=True))
        # A path may come back to a node; its windows follow each other and never overlap.
        asked = self._asked(path, release, uses)
        if not all(books.fits(opens, closes, use) for books, opens, closes, use in asked):
            return False
        for books, opens, closes, use in asked:
            books.reserve(opens, closes, use)
        return True

    def _asked(
        self, path: NodePath, release: int, uses: Sequence[int]
    ) -> list[tuple[NodeBooks, int, int, int]]:
        windows = zip(path.windows(release), uses, strict=True)
        return [(self.books[s.node], opens, closes, use) for (s, opens, closes), use in windows]
