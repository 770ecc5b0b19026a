"""What the contract suite tries of ``thin``."""

from __future__ import annotations

from tests.outside.thin_kind import Thin

from headway.model.operators import Input

CASES = {
    "every second": (Thin(name="x", inputs=(Input("input", "s0"),), nth=2),),
    "every third of a key": (Thin(name="x", inputs=(Input("input", "s1"),), nth=3, by=("k",)),),
}
