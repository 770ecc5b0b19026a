"""How the papers and our pictures spell the policies that code names in lower case."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

POLICY_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "s-edf": "S-EDF",
        "s-edf-primitive": "S-EDF primitive",
        "fifo+": "FIFO+",
        "mc+": "MC+",
        "pcs": "PCS",
    }
)
