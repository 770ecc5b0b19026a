"""What one node needs to know of a plan: its operators, tasks, streams and peers, as JSON."""

from __future__ import annotations

import importlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from headway.engine.nodes.wire_format import WireStream, stream_of
from headway.engine.program import StaticOrder
from headway.engine.waiting_room import WaitingRoom, WhenFull, Worth
from headway.errors import FileError, Problem
from headway.model.codec import plan_from_json, plan_to_json
from headway.model.plan import Plan
from headway.schedule.online.policy import Policy

if TYPE_CHECKING:  # for nodes that reserve processor time; the others carry none of it
    from headway.engine.reserved_paths import ReservedPaths

DEPLOYMENT = "deployment.json"
"""beside the executables: where the nodes are found, and in which order to start them"""
WHOLE_PLAN = "whole_plan.json"
"""beside it: the plan of all nodes, for who watches them; no node reads it"""
SLICE = "slice.json"
"""a node's part, in its executable or in the folder of its program"""
OUTPUT = "output:"
"""before an output's name, where its tuples go to a subscriber"""


@dataclass(frozen=True, kw_only=True)
class NodeSlice:
    """``plan`` is cut down to the node: streams of other nodes stand in it as sources.

    ``policy`` is ``module:Class``; ``streams`` numbers all streams of the whole plan; ``sends``
    and ``receives`` are (stream, other node); ``fingerprint`` is that of the whole plan;
    ``room`` tells how many jobs may wait, and what the outputs of all nodes make them worth;
    ``reserved`` what is reserved on the node, under a policy that does.
    """

    node: str
    fingerprint: str
    policy: str
    plan: Plan
    order: StaticOrder
    streams: tuple[tuple[str, int], ...]
    sends: tuple[tuple[str, str], ...]
    receives: tuple[tuple[str, str], ...]
    room: WaitingRoom
    reserved: ReservedPaths | None = None

    @property
    def own_sources(self) -> tuple[str, ...]:
        remote = {stream for stream, _ in self.receives}
        return tuple(s.name for s in self.plan.query.sources if s.name not in remote)

    def make_policy(self) -> Policy:
        module, _, name = self.policy.partition(":")
        made = getattr(importlib.import_module(module), name)()
        assert isinstance(made, Policy)
        return made

    def wire_streams(self) -> list[WireStream]:
        """The streams that this node may send or get, ready to be written and read."""
        schemas = dict(self.plan.schemas)
        for output in self.plan.query.outputs:
            schemas[OUTPUT + output.name] = schemas[output.stream]
        return [stream_of(n, name, schemas[name]) for name, n in self.streams if name in schemas]


def slice_to_json(part: NodeSlice) -> str:
    content: dict[str, Any] = {
        "node": part.node,
        "fingerprint": part.fingerprint,
        "policy": part.policy,
        "plan": json.loads(plan_to_json(part.plan)),
        "order": asdict(part.order),
        "streams": part.streams,
        "sends": part.sends,
        "receives": part.receives,
        "room": asdict(part.room),
    }
    if part.reserved is not None:
        from headway.engine.reserved_paths import paths_data

        content["reserved"] = paths_data(part.reserved)
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def slice_from_json(text: str, name: str = "slice.json") -> NodeSlice:
    """Reads what :func:`slice_to_json` wrote; FileError when it is something else."""
    try:
        content = json.loads(text)
        return NodeSlice(
            node=str(content["node"]),
            fingerprint=str(content["fingerprint"]),
            policy=str(content["policy"]),
            plan=plan_from_json(json.dumps(content["plan"]), name),
            order=StaticOrder(**content["order"]),
            streams=_pairs(content["streams"]),
            sends=_pairs(content["sends"]),
            receives=_pairs(content["receives"]),
            room=_room(content["room"]),
            reserved=_reserved(content.get("reserved")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(
            Problem(f"not a node's part of a plan: {error!r}", at=name, want="build it again")
        ) from None


def _room(data: dict[str, Any]) -> WaitingRoom:
    worths = {name: Worth(**worth) for name, worth in data["worths"].items()}
    return WaitingRoom(most=data["most"], worths=worths, when_full=WhenFull(data["when_full"]))


def _reserved(data: dict[str, Any] | None) -> ReservedPaths | None:
    if data is None:
        return None
    from headway.engine.reserved_paths import paths_from_data

    return paths_from_data(data)


def _pairs(listed: list[list[Any]]) -> tuple[tuple[str, Any], ...]:
    return tuple((str(first), second) for first, second in listed)
