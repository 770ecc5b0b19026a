"""What every protocol gives a query: someone who listens for a source, someone who speaks for an
output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from headway.extensions import ExtensionObjects
from headway.gateway.addresses import Address, parse_address
from headway.gateway.payloads import Payload, payload_named
from headway.model.schema import Schema

if TYPE_CHECKING:
    from headway.gateway.inlet import Inlet

PAYLOAD = {"payload": "json (default), cbor or protobuf"}
STAMP = {"stamp": "sent (default): the message has its sensing time; arrival: it is stamped here"}
COLUMNS = {
    "columns": "what messages call the columns, where it is not their names: v:Vehicle.Speed,…",
    "vss": "a VSS catalogue, by which the types and units of those signals are checked",
}
ONCE = {"once": "overlook a message with the bytes of one of the last N (default 0: none)"}
LOGIN = {"password_env": "the environment variable that has the user's password"}


class Listener(ABC):
    """Somebody who listens."""

    @abstractmethod
    def close(self) -> None:
        """Nothing is delivered any more when this returns."""


@dataclass(slots=True)
class Spoken:
    """Messages of an output: ``given`` to the protocol, ``acknowledged`` by the broker (where there
    is one that does), ``refused`` because too many waited or it said no."""

    given: int = 0
    acknowledged: int = 0
    refused: int = 0
    why: str = ""
    """the last refusal, in words"""

    def refuse(self, why: str) -> None:
        self.refused += 1
        self.why = why


class Speaker(ABC):
    """Somebody who sends the tuples of an output, in order; one thread calls it."""

    def __init__(self) -> None:
        self.spoken = Spoken()

    @abstractmethod
    def say(self, values: Mapping[str, object]) -> None:
        """A tuple, by name; does not wait for the network."""

    @abstractmethod
    def close(self, patience: float) -> None:
        """Waits so many seconds at most for what is not acknowledged yet."""


class MessageGateway(ABC):
    """A protocol. Subclass it in a file of its own and declare it in ``GATEWAYS`` or, from another
    package, as an entry point of the group ``headway.gateways``, named like its scheme."""

    name: ClassVar[str]
    """the scheme of its addresses"""
    summary: ClassVar[str]
    takes: ClassVar[Mapping[str, str]]
    """the options of its addresses, and what each is for"""

    @abstractmethod
    def listen(self, address: Address, inlet: Inlet) -> Listener:
        """Delivers to the inlet from a thread of its own, until it is closed, over any loss of the
        connection. EnvironmentMissing if nobody answers now."""

    @abstractmethod
    def speak(self, address: Address, output: str, schema: Schema) -> Speaker:
        """For the tuples of an output, whose columns are the schema's."""


GATEWAYS: ExtensionObjects[MessageGateway] = ExtensionObjects(
    "headway.gateways",
    what="gateway",
    base=f"{__name__}:MessageGateway",
    own={
        "mqtt": "headway.gateway.mqtt_gateway:MqttGateway",
        "mqtts": "headway.gateway.mqtt_gateway:MqttOverTls",
        "zenoh": "headway.gateway.zenoh_gateway:ZenohGateway",
        "kafka": "headway.gateway.kafka_gateway:KafkaGateway",
        "can": "headway.gateway.can_gateway:CanGateway",
    },
)


def address_of(text: str) -> tuple[MessageGateway, Address]:
    """InputError for what is no address of a gateway."""
    address = parse_address(text, {name: one.takes for name, one in GATEWAYS.items()})
    return GATEWAYS[address.scheme], address


def payload_of(address: Address, schema: Schema) -> Payload:
    """The form of the messages at an address."""
    return payload_named(address.options.get("payload", "json"), schema.columns, address.text)
