"""A recorded drive with other values in a few columns: what if a sensor had erred otherwise?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from headway.experiments.collision.positions import Metres, Times
from headway.world.drive_recording import DriveRecording


def sensed_at(recording: DriveRecording, stream: str) -> Times:
    """When each tuple of a stream was sensed, microseconds from the begin."""
    times: Times = recording.streams[stream].column("timestamp").cast(pa.int64()).to_numpy()
    return times - recording.begin


def changed(
    recording: DriveRecording, stream: str, columns: Mapping[str, Metres]
) -> DriveRecording:
    """The same drive with these columns instead, each of the type it had."""
    table = recording.streams[stream]
    for name, values in columns.items():
        field = table.schema.field(name)
        column = pa.array(values).cast(field.type, safe=False)
        table = table.set_column(table.schema.get_field_index(name), field, column)
    return replace(recording, streams={**recording.streams, stream: table})
