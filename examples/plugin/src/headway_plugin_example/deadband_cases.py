"""What the contract suite tries of ``deadband``, on the suite's own sources."""

from __future__ import annotations

from headway.model.operators import Input

from headway_plugin_example.deadband import Deadband

CASES = {
    "moved at all": (Deadband(name="x", inputs=(Input("input", "s0"),), width=0.0, of="v"),),
    "moved far, by key": (
        Deadband(name="x", inputs=(Input("input", "s1"),), width=20.0, of="v", by=("k",)),
    ),
}
