"""Primitive S-EDF: every operator by itself (S-EDF section 5.3)."""

from __future__ import annotations

from headway.schedule.online.s_edf import StreamEdf


class PrimitiveStreamEdf(StreamEdf):
    """Always runs the (tuple, operator) with the earliest absolute deadline."""

    name = "s-edf-primitive"
    summary = "earliest deadline first over single operators"
    paper = "S-EDF, section 5.3"
    fuse = False
    preemptive = False
