"""A CAN bus, live, through python-can: ``can://INTERFACE/CHANNEL?file=speed.can``.

The interface is one of python-can's (``socketcan``, ``udp_multicast``, ``virtual``, …). The file
is that of a source in a CAN log (:mod:`headway.sources.can_log`); its ``log`` is not read here. An
output becomes frames of one message of the DBC, whose signals are its columns by that same file.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from headway.errors import DataError, EnvironmentMissing, InputError, Place
from headway.gateway.addresses import Address
from headway.gateway.gateway_base import Listener, MessageGateway, Speaker
from headway.gateway.inlet import Inlet
from headway.model.schema import Schema
from headway.sources.can_log import CanDecoder, CanMapping, frame_of, load_database, mapping_of
from headway.sources.pointer_file import load_pointer
from headway.sources.source_records import needed

POLL_S = 0.1


class CanGateway(MessageGateway):
    name = "can"
    summary = "frames on a CAN bus"
    takes: ClassVar[Mapping[str, str]] = {
        "file": "the .can file with the DBC, the messages and the columns",
        "bitrate": "bits a second, where the interface sets it",
        "port": "of udp_multicast",
    }

    def listen(self, address: Address, inlet: Inlet) -> Listener:
        decoder = CanDecoder(mapping_at(address), inlet.source.schema)
        return _CanListener(address, decoder, inlet)

    def speak(self, address: Address, output: str, schema: Schema) -> Speaker:
        return _CanSpeaker(address, mapping_at(address), schema)


def mapping_at(address: Address) -> CanMapping:
    """What the address's file says; InputError if it names none."""
    name = address.options.get("file")
    if name is None:
        want = "name the .can file: ?file=PATH"
        raise InputError("frames need a mapping", at=address.text, want=want)
    return mapping_of(load_pointer(Path(name)))


def open_bus(address: Address) -> Any:
    can = needed("can", "python-can", extra="can", reading="CAN")
    settings: dict[str, Any] = {}
    for option, most in (("bitrate", 10_000_000), ("port", 65_535)):
        if option in address.options:
            settings[option] = address.whole(option, 0, 1, most)
    try:
        return can.Bus(interface=address.host, channel=address.place, **settings)
    # Every interface of python-can has errors of its own.
    except Exception as error:
        raise EnvironmentMissing(
            f"No CAN bus can be opened at {address.text}: {error}. "
            "Interfaces are those of python-can: socketcan, udp_multicast, virtual, …"
        ) from error


class _CanListener(Listener):
    def __init__(self, address: Address, decoder: CanDecoder, inlet: Inlet) -> None:
        self._bus, self._decoder, self._inlet = open_bus(address), decoder, inlet
        self._where, self._over = address.text, threading.Event()
        self._thread = threading.Thread(
            target=self._listen, name=f"can {inlet.source.name}", daemon=True
        )
        self._thread.start()

    def _listen(self) -> None:
        can, number = needed("can", "python-can", extra="can", reading="CAN"), 0
        before: dict[object, int] = {}
        while not self._over.is_set():
            try:
                message = self._bus.recv(POLL_S)
            except can.CanError as error:
                self._inlet.event(f"{self._where}: {error}")
                self._over.wait(POLL_S)
                continue
            if message is None:
                continue
            number += 1
            row = self._decoder.decode(frame_of(number, message))
            if row is not None:
                self._inlet.row(row)
                continue
            for refused, count in self._decoder.counts.undecodable.items():
                if count != before.get(refused, 0):
                    before[refused] = count
                    self._inlet.refuse(refused.reason, bytes(message.data or b""), self._where)

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        self._bus.shutdown()


class _CanSpeaker(Speaker):
    def __init__(self, address: Address, mapping: CanMapping, schema: Schema) -> None:
        super().__init__()
        self._can = needed("can", "python-can", extra="can", reading="CAN")
        database = load_database(mapping.dbc)
        where = Place(str(mapping.dbc))
        names = [one.name for one in database.messages if one.name in mapping.messages]
        if len(names) != 1:
            what = "an output becomes frames of one message"
            got = ", ".join(names) or f"messages: {', '.join(mapping.messages)}"
            raise DataError(what, place=where, got=got, want="name one in messages:")
        self._message = database.get_message_by_name(names[0])
        columns = {signal: column for column, signal in mapping.columns}
        missing = [one.name for one in self._message.signals if one.name not in columns]
        unknown = [one for one in columns.values() if schema.find(one) is None]
        if missing or unknown:
            what = f"the message {names[0]} and the output do not go together"
            got = f"no column for the signals {', '.join(missing)}" if missing else (
                f"no column {', '.join(unknown)} in the output")  # fmt: skip
            raise DataError(what, place=where, got=got, want="a column for each signal")
        self._columns = columns
        self._bus = open_bus(address)

    def say(self, values: Mapping[str, object]) -> None:
        signals = {signal: values[column] for signal, column in self._columns.items()}
        try:
            frame = self._can.Message(
                arbitration_id=self._message.frame_id,
                is_extended_id=self._message.is_extended_frame,
                data=self._message.encode(signals),
            )
            self._bus.send(frame)
        except Exception as error:  # noqa: BLE001 - a value beyond its signal, NULL, a full bus
            self.spoken.refuse(str(error) or type(error).__name__)
        else:
            self.spoken.given += 1
            self.spoken.acknowledged += 1

    def close(self, patience: float) -> None:
        self._bus.shutdown()
