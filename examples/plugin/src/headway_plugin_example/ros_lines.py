"""Messages of ROS as JSON lines: ``SOURCE.roslines``, one message a line.

    {"topic": "/car/speed", "stamp": {"sec": 1, "nanosec": 5000000}, "msg": {"v": 31.5}}

``stamp`` is when the message was received, the tuple's ``arrived_at``. A message that has a header
with a stamp of its own was sensed then; others when they were received. Fields of messages inside a
message are joined with ``_``: ``twist.linear.x`` is the column ``twist_linear_x``. A schema with a
field ``topic`` gets the topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headway.sources.jsonl_file import JsonLinesFormat


class RosLines(JsonLinesFormat):
    """Reading lines, checking columns and naming the line of an error is Headway's own reader."""

    name = "roslines"
    summary = "messages of ROS as JSON lines"

    def cells(self, line: dict[str, Any]) -> dict[str, Any]:
        message = line.get("msg")
        if not isinstance(message, dict):
            raise ValueError("msg must be an object")
        received = microseconds(line.get("stamp"), "stamp")
        header = message.get("header")
        sensed = received
        if isinstance(header, dict) and "stamp" in header:
            sensed = microseconds(header["stamp"], "msg.header.stamp")
        return {
            "topic": line.get("topic"),
            **dict(fields_of(message)),
            "timestamp": sensed,
            "arrived_at": received,
        }


def microseconds(stamp: object, where: str) -> int:
    """Of a stamp of ROS; what is finer is cut off."""
    if not isinstance(stamp, dict):
        raise ValueError(f"{where} must have sec and nanosec")
    sec, nanosec = stamp.get("sec"), stamp.get("nanosec")
    if type(sec) is not int or type(nanosec) is not int:
        raise ValueError(f"{where} must have whole numbers sec and nanosec")
    return sec * 1_000_000 + nanosec // 1_000


def fields_of(message: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The fields of a message and of those inside it, by their joined names."""
    for name, value in message.items():
        if isinstance(value, dict):
            yield from fields_of(value, f"{before}{name}_")
        else:
            yield before + name, value
