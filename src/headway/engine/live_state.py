"""A run as it is now: what ``headway watch`` shows of a run in wall-clock time, of the nodes of a
car, and of a stream on Spark.

A run writes its state into its output folder twice a second (``LIVE``, beside and renamed), so
whoever watches asks the run nothing, may come and go, and may be slow.
"""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from headway.errors import FileError, Place
from headway.model.codec import plan_to_json
from headway.model.plan import Plan
from headway.model.query import Criticality

LIVE = "_live.json.part"
"""a part like others of a run under way: nothing that is a result"""
PLAN = "_live_plan.json.part"
EVERY_S = 0.5
RECENT = 1000
"""latencies that percentiles are of"""
MOST_EVENTS = 200
FORM = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOutput:
    """Times in nanoseconds; percentiles are of the last ``RECENT`` tuples, None before the
    first. ``bound`` is what the plan promises, where it does."""

    output: str
    hard: bool
    deadline: int
    bound: int | None
    tuples: int
    missed: int
    latency_median: int | None = None
    latency_99: int | None = None
    latency_max: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveOperator:
    """A source or an operator; ``waiting`` are jobs in the queue that begin with it."""

    operator: str
    node: str
    taken: int
    given: int
    late: int = 0
    shed: int = 0
    failed: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveNode:
    """``load`` is the share of the node that the tuples of the last moments need at declared costs,
    None where nobody counts them; ``peers`` are nodes and how they are heard of."""

    node: str
    state: str
    load: float | None = None
    waiting: int | None = None
    peers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveMedium:
    """A bus, link or gateway; ``load`` as for nodes."""

    medium: str
    load: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveEvent:
    """``at`` is nanoseconds since the run began."""

    at: int
    where: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveState:
    """``passed`` is how long the run has gone on (ns); ``counts`` are its other numbers by name."""

    query: str
    vehicle: str
    engine: str
    running: bool
    passed: int
    outputs: tuple[LiveOutput, ...]
    operators: tuple[LiveOperator, ...] = ()
    nodes: tuple[LiveNode, ...] = ()
    media: tuple[LiveMedium, ...] = ()
    events: tuple[LiveEvent, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        return {"written_by": "headway", "form": FORM, **asdict(self)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> LiveState:
        """KeyError or TypeError for data of another form."""
        return cls(
            query=data["query"],
            vehicle=data["vehicle"],
            engine=data["engine"],
            running=data["running"],
            passed=data["passed"],
            outputs=tuple(LiveOutput(**one) for one in data["outputs"]),
            operators=tuple(LiveOperator(**one) for one in data["operators"]),
            nodes=tuple(
                LiveNode(**{**one, "peers": tuple((a, b) for a, b in one["peers"])})
                for one in data["nodes"]
            ),
            media=tuple(LiveMedium(**one) for one in data["media"]),
            events=tuple(LiveEvent(**one) for one in data["events"]),
            counts=dict(data["counts"]),
        )


# ---------------------------------------------------------------- the file


def write_live(folder: Path, state: LiveState) -> None:
    """Beside and renamed. A full disk is no reason to stop a run: then nothing new is shown."""
    text = json.dumps(state.data(), ensure_ascii=False, separators=(",", ":"))
    beside = folder / f"_new{LIVE}"
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(folder / LIVE)
    except OSError:
        return


def read_live(folder: Path) -> LiveState:
    """FileError where there is none, or one of another form."""
    path = folder / LIVE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["written_by"] != "headway" or data["form"] != FORM:
            raise ValueError("not of this form")
        return LiveState.from_data(data)
    except OSError as error:
        raise FileError(
            "no run can be watched here",
            place=Place(str(path)),
            got=error.strerror or str(error),
            want="name the output folder of a run by the wall clock, of a launched car or a stream",
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        want = "watch with the Headway that runs it"
        raise FileError(
            "not the state of a run", place=Place(str(path)), got=str(error), want=want
        ) from None


class LiveWriter(ABC):
    """A run that writes how it stands into its output folder, again and again, by a thread of its
    own. Use it as a context: outside it the folder has no trace of it."""

    def __init__(self, plan: Plan, folder: Path, every: float = EVERY_S) -> None:
        self.plan, self.folder = plan, folder
        self._every = every
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="live state", daemon=True)

    @abstractmethod
    def state(self) -> LiveState:
        """As it is now; asked by that thread."""

    def _follow(self) -> None:
        while not self._over.wait(self._every):
            write_live(self.folder, self.state())

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / PLAN).write_text(plan_to_json(self.plan), encoding="utf-8")
        write_live(self.folder, self.state())
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()
        for name in (LIVE, PLAN):
            (self.folder / name).unlink(missing_ok=True)


# ---------------------------------------------------------------- what producers share


class RecentLatencies:
    """The latencies of an output's last tuples, and how many came in all."""

    def __init__(self) -> None:
        self.tuples = self.missed = 0
        self._recent: deque[int] = deque(maxlen=RECENT)

    def note(self, latency: int, *, missed: bool) -> None:
        self.tuples += 1
        self.missed += missed
        self._recent.append(latency)

    def times(self) -> dict[str, int]:
        """As :class:`LiveOutput` calls them."""
        recent = list(self._recent)
        if not recent:
            return {}
        median, high = np.percentile(recent, [50, 99])
        return {
            "latency_median": int(median),
            "latency_99": int(high),
            "latency_max": max(recent),
        }


def live_outputs(plan: Plan, seen: Mapping[str, RecentLatencies]) -> tuple[LiveOutput, ...]:
    """The outputs of a plan that are counted here."""
    bounds = {} if plan.verdict is None else {p.output: p.bound for p in plan.verdict.promises}
    return tuple(
        LiveOutput(
            output=output.name,
            hard=output.criticality is Criticality.HARD,
            deadline=output.deadline or 0,
            bound=bounds.get(output.name),
            tuples=seen[output.name].tuples,
            missed=seen[output.name].missed,
            **seen[output.name].times(),
        )
        for output in plan.query.outputs
        if output.name in seen
    )


class RecentEvents:
    """The last events of a run."""

    def __init__(self) -> None:
        self._events: deque[LiveEvent] = deque(maxlen=MOST_EVENTS)

    def add(self, at: int, where: str, what: str) -> None:
        self._events.append(LiveEvent(at=at, where=where, what=what))

    def all(self) -> tuple[LiveEvent, ...]:
        return tuple(self._events)


def waiting_by_operator(heads: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for head in heads:
        found[head] = found.get(head, 0) + 1
    return found
