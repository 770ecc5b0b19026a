"""How long work stays among places that it can come back to.

Where bounds of single jobs push each other up round after round (gathering behind gathering on one
node, streams that cross nodes to and fro), all of a way is looked at at once. A *loop* is a set of
nodes, buses and links that streams can pass in a circle; a node by itself is one, too. A unit of
work is what one arrival or one timer causes. From when it first enters a loop until its job there
is done, some place of the loop is at work, except while the unit is held by intent: for a timeout,
in a gateway, until a window may close. Its holds add up to ``held`` at most.

Let a job be done at f, and t0 be the last instant without any work in the loop up to when its unit
entered. All units that are in the loop at t0 are held. If one of them entered more than x before
t0, go on from the last instant without work up to when *that* one entered; and so on, to t. The
loop is without work between t and f for ``held``, and once more the longest hold of any unit for
every step back, each of which is longer than x. And all that is done in between entered after
t - x. So the time W = f - t is at most the least solution of

    W = held + longest hold * floor(W / x) + sum of cost * curve(W + x + entry)

where ``entry`` is the longest from an arrival until it enters the loop. That holds for every x, so
the least W of several is taken. A class whose jobs are released at most ``release`` after their
arrival counts with that in place of ``x + entry`` where it is less; without an x all classes do.
With the work of a whole loop as if it had one processor this is loose, but it has an end wherever
the shares of all places of a loop are less than 1 in all, whatever the order in which they work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headway.compiler.latency.blocking import Sections
from headway.compiler.latency.demand import Demand, busy_period, least, most, plus, utilisation
from headway.compiler.latency.tuple_ages import source_lag
from headway.model.plan import HopKind, Task
from headway.model.quantities import ArrivalCurve, Rate

STEP_BACK = 3.0
"""x, in the longest hold over the share that is left"""


@dataclass(frozen=True, slots=True)
class Asked:
    """Work that can be asked of a place: how often by what is released, and the longest from an
    arrival until it enters the loop; None where either has no bound."""

    curve: ArrivalCurve
    cost: int
    release: int | None
    entry: int | None


@dataclass(frozen=True, slots=True)
class Loop:
    """Nodes and media, the tasks there, and the longest that work is held there by intent."""

    places: tuple[str, ...]
    tasks: tuple[Task, ...]
    longest: int


@dataclass(slots=True)
class Sojourns(Sections):
    """Bounds by all the time that work stays in a loop. What they take from other bounds is that of
    the round before."""

    _loop_of: dict[str, int] = field(default_factory=dict)
    """node or medium -> its loop"""
    _loops: list[Loop] = field(default_factory=list)
    """those that can make a difference"""
    _held: dict[str, int] = field(default_factory=dict)
    """stream -> how long its tuples have been held in the loop they are made in"""
    _closing: dict[str, int] = field(default_factory=dict)
    """operator with windows whose tuples come from its own loop only -> how long one is held until
    its window may close, all that is under way in the loop left out"""
    _asked: dict[str, list[Asked]] = field(default_factory=dict)
    """node -> all that can be asked of it, if that is known"""
    _first_ages: dict[str, int | None] = field(default_factory=dict)
    """stream -> the oldest its tuples can be when their cause first enters its loop"""
    _first_entries: dict[str, dict[str, int | None]] = field(default_factory=dict)
    """stream -> source -> the longest from an arrival until then"""
    _limits: dict[str, int | None] = field(default_factory=dict)
    """task -> the longest from its job's timestamp to its end, by this"""
    _accepted_limits: dict[str, int | None] = field(default_factory=dict)
    """the same for jobs that a tuple releases"""
    _known: dict[tuple[str, int], dict[int, int]] = field(default_factory=dict)
    """(a loop's first place, hold) -> x -> the stay of the round before, to begin with"""
    _medium_limits: dict[str, int | None] = field(default_factory=dict)
    """medium -> the longest from offering a tuple to the end of its last frame"""

    # ------------------------------------------------------------ what does not change

    def _find_loops(self) -> None:
        """The loops, and how long what is in them is held."""
        self._loop_of = _circles(self._steps())
        graph = self.compilation.graph
        lags = {name: source_lag(source) for name, source in graph.sources.items()}
        inside: dict[str, set[int]] = {}  # stream -> loops that all before it is in
        tasks_with: dict[str, list[Task]] = {}
        for task in self.compilation.tasks:
            for name in task.operators:
                tasks_with.setdefault(name, []).append(task)
        for stream in graph.order:
            operator = graph.operators[stream]
            lags[stream] = plus(most([lags[one] for one in operator.streams]), operator.looks_back)
            tasks = tasks_with.get(stream, [])
            loops = {self._loop_of[task.node] for task in tasks}
            alone = len(loops) == 1 and operator.clock is None
            for task in tasks:
                for one in operator.streams:
                    before = one not in graph.sources or self._goes_on(one, task)
                    alone = alone and before and loops <= inside.get(one, loops)
            inside[stream] = loops if alone else set()
            lag = lags[stream]
            if operator.traits.emits_on_time and alone and lag is not None:
                self._closing[stream] = lag
            self._held[stream] = max((self.held_in(t) for t in self.producers(stream)), default=0)
        places: dict[int, list[str]] = {}
        for place, loop in self._loop_of.items():
            places.setdefault(loop, []).append(place)
        for among in places.values():
            tasks_in = [task for name in among for task in self._tasks_on.get(name, [])]
            longest = max((self.held_in(task) for task in tasks_in), default=0)
            if tasks_in and (len(among) > 1 or longest):  # else a way through it is one job
                self._loops.append(Loop(tuple(among), tuple(tasks_in), longest))

    def _steps(self) -> dict[str, set[str]]:
        """Where work can go from each node and medium."""
        found: dict[str, set[str]] = {name: set() for name in (*self._nodes, *self._messages)}
        for task in self.compilation.tasks:
            for entry in task.entries:
                crossing = self.crossing(entry, task.node)
                ends = {maker.node for maker in self.producers(entry)}
                if not ends and crossing is not None:
                    ends = {crossing.sender} & found.keys()
                for hop in crossing.hops if crossing else ():
                    if hop.kind is not HopKind.GATEWAY:
                        for end in ends:
                            found[end].add(hop.name)
                        ends = {hop.name}
                for end in ends:
                    found[end].add(task.node)
        return found

    def _goes_on(self, stream: str, task: Task) -> bool:
        """Whether what comes by this stream has been in the task's loop since it was made there,
        or sensed."""
        loop = self._loop_of[task.node]
        crossing = self.crossing(stream, task.node)
        hops = crossing.hops if crossing else ()
        places = [hop.name for hop in hops if hop.kind is not HopKind.GATEWAY]
        places += [maker.node for maker in self.producers(stream)]
        return all(self._loop_of[place] == loop for place in places)

    def held_in(self, task: Task, *, accepted: bool = False) -> int:
        """How long what causes a job of the task has been held in its loop, at its head too unless
        the job only takes a tuple in."""
        if self._begins_anew(task):
            return 0
        head = self._head(task)
        found = 0
        for stream in task.entries:
            if self._goes_on(stream, task):
                crossing = self.crossing(stream, task.node)
                hops = crossing.hops if crossing else ()
                passing = sum(hop.delay for hop in hops if hop.kind is HopKind.GATEWAY)
                found = max(found, self._held.get(stream, 0) + passing)
        if accepted:
            return found
        return found + self._closing.get(head.name, 0) + (head.timeout or 0)

    def _begins_anew(self, task: Task) -> bool:
        """Whether its jobs count from their own release: at a clock's instants, and where a window
        waits for what is not in its loop."""
        head = self._head(task)
        if head.clock is not None:
            return True
        return head.traits.emits_on_time and head.name not in self._closing

    # ------------------------------------------------------------ on entering a loop

    def _find_firsts(self) -> None:
        if not self._loops:
            return
        graph = self.compilation.graph
        self._first_ages = {name: source.age for name, source in graph.sources.items()}
        self._first_entries = {name: {name: 0} for name in graph.sources}
        for stream in graph.order:
            self._first_ages[stream] = most(
                [plus(self.first_age(task), self.shift(task)) for task in self.producers(stream)]
            )
            found: dict[str, int | None] = {}
            for task in self.producers(stream):
                if (head := self._head(task)).clock is not None:
                    found[head.name] = most([found.get(head.name, 0), 0])
                    continue
                for entry in task.entries:
                    for source in self.flows[entry]:
                        after = self.first_after(task, entry, source)
                        found[source] = most([found.get(source, 0), after])
            self._first_entries[stream] = found

    def first_age(self, task: Task) -> int | None:
        """The oldest a job's tuple can be when what caused it first enters the loop."""
        if self._begins_anew(task):
            return self.release_age(task)
        return most(
            [
                self._first_ages[stream]
                if self._goes_on(stream, task)
                else self.age_at(stream, task.node)
                for stream in task.entries
            ]
        )

    def first_after(self, task: Task, stream: str, source: str) -> int | None:
        """The longest from an arrival until what makes a result of it first enters the loop: its
        own tuple, or the partner that completes a pair charged to it. Asked for only where there
        are loops."""
        if not self._loops:
            return None
        if self._begins_anew(task):
            found = self.release_age(task)
        elif self._goes_on(stream, task):
            found = self._first_entries[stream].get(source)
        else:
            found = self.at_after(stream, source, task.node)
        sharing = [other for join in self._limited(task) for other in self._tasks_with[join.name]]
        shift = self.shift(task)
        return most([found, *(plus(self.first_age(other), shift) for other in sharing)])

    # ------------------------------------------------------------ how long it stays

    def _find_sojourns(self) -> None:
        found: dict[str, int | None] = {}
        for loop in self._loops:
            asked = self._asked_of(loop.places)
            stays: dict[int, int | None] = {}
            for task in loop.tasks:
                for held in (self.held_in(task), self.held_in(task, accepted=True)):
                    if held not in stays and asked is not None:
                        known = self._known.setdefault((loop.places[0], held), {})
                        stays[held] = longest_stay(asked, loop.longest, held, known)
                    stays.setdefault(held, None)
            for task in loop.tasks:
                first, stay = self.first_age(task), stays[self.held_in(task)]
                self._limits[task.name] = plus(first, stay)
                if not self._begins_anew(task):
                    taken = stays[self.held_in(task, accepted=True)]
                    self._accepted_limits[task.name] = plus(first, taken)
                found[task.name] = stay
            for name in loop.places:
                if name in self._messages:
                    self._medium_limits[name] = most(list(stays.values()))
        for stream, entries in self._first_entries.items() if self._loops else ():
            made = [found.get(task.name) for task in self.producers(stream)]
            self._sent_limits[stream] = {
                source: plus(entry, most(made)) for source, entry in entries.items() if made
            }

    def _asked_of(self, places: Sequence[str]) -> list[Asked] | None:
        """All work of a loop; None where it is not known."""
        found: list[Asked] = []
        for name in places:
            if name in self._messages:
                found += self._asked_of_medium(name)
            elif name in self._asked:
                found += self._asked[name]
            elif self._tasks_on.get(name):
                return None
        return found

    def _asked_of_medium(self, medium: str) -> list[Asked]:
        found: list[Asked] = []
        for message in self._messages[medium]:
            work = sum(message.frames) * message.entries
            goes_on = all(
                self._loop_of[place] == self._loop_of[medium]
                for place in (maker.node for maker in self.producers(message.stream))
            )
            for source, flow in self.flows[message.stream].items():
                after = self.sent_after(message.stream, source)
                for hop, delay in message.before:
                    after = plus(after, self.responses.get((message.stream, hop), delay))
                entry = self._first_entries[message.stream].get(source) if goes_on else after
                found.append(Asked(self.curves[source], flow.count * work, after, entry))
        return found


def longest_stay(
    asked: Sequence[Asked], longest: int, held: int, known: dict[int, int] | None = None
) -> int | None:
    """The longest that a unit stays which is held for ``held`` in all, others for ``longest``;
    None if endless. ``known``: by x, what to begin with; takes what is found."""
    known = {} if known is None else known
    share = utilisation([Demand(one.curve, one.cost, 0) for one in asked])
    if share >= 1.0 - 1e-9:
        return None
    found: int | None = None
    for step in (0, max(1, round(longest * STEP_BACK / (1.0 - share)))):  # 0: no x
        demands = [Demand(ArrivalCurve((Rate(1, step),)), longest, -step)] if step else []
        for one in asked:
            reach = one.release
            if step and one.entry is not None:
                reach = least(reach, one.entry + step)
            if reach is None:
                break
            demands.append(Demand(one.curve, one.cost, reach))
        else:
            stay = busy_period(demands, held, known.get(step, 0))
            if stay is not None:
                known[step] = stay
            found = least(found, stay)
    return found


def _circles(steps: Mapping[str, set[str]]) -> dict[str, int]:
    """The circle that each place is in, by number; one that is in none has a number of its own."""
    reached = {name: _reached(name, steps) for name in steps}
    found: dict[str, int] = {}
    for number, name in enumerate(steps):
        for other in (name, *(one for one in reached[name] if name in reached[one])):
            found.setdefault(other, number)
    return found


def _reached(begin: str, steps: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [begin]
    while waiting:
        new = steps[waiting.pop()] - found
        found |= new
        waiting += new
    return found
