"""The exit report of a node process: what it did, and what it saw of its peers."""

from __future__ import annotations

import time
from typing import Any

from headway.runtime.distributed.events import EventLog
from headway.runtime.distributed.node_kernel import NodeKernel
from headway.runtime.distributed.node_outputs import NodeOutputs
from headway.runtime.distributed.peers import Peers
from headway.runtime.keeping_up import KeepingUp


def exit_report(
    node: str,
    kernel: NodeKernel,
    peers: Peers,
    outputs: NodeOutputs,
    keeping_up: KeepingUp,
    log: EventLog,
) -> dict[str, Any]:
    """Times in nanoseconds, ``at`` and ``ended_at`` on the machine's monotonic clock."""
    return {
        "node": node,
        "ended_at": time.monotonic_ns(),
        "arrived": kernel.arrived,
        "received": kernel.received,
        "sent": kernel.sent,
        "outputs": {n: {"tuples": t, "missed": m} for n, (t, m) in outputs.counts.items()},
        "decisions": kernel.decisions,
        "preemptions": kernel.preemptions,
        "timeouts": kernel.timeouts,
        "late_arrivals": keeping_up.late_arrivals,
        "worst_lag_ns": keeping_up.worst_lag,
        "worst_backlog": keeping_up.worst_backlog,
        "bad_frames": peers.bad_frames,
        "duplicates": peers.incoming.duplicates,
        "gaps": peers.incoming.gaps,
        "overflowed": peers.overflowed,
        "peers_lost": [*log.named("peer lost"), *log.named("peer given up")],
        "peers_back": log.named("peer back"),
    }
