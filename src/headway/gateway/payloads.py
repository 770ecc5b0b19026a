"""What stands in a message: a tuple as JSON, CBOR or Protobuf, by its schema.

Every payload maps the names of columns to values; what a value of a column may be is the rule of
the JSON-lines reader, so a tuple means the same in a file and in a message. Times are whole
microseconds since the epoch, or ISO 8601 texts where the payload has texts for them.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, ClassVar

from headway.errors import DataError, InputError
from headway.extensions import ExtensionClasses
from headway.model.schema import DataType, Field
from headway.sources.source_records import microseconds_of, needed


class Payload(ABC):
    """The form of a message's body. Subclass it and declare it in ``PAYLOADS`` or, from another
    package, as an entry point of the group ``headway.payloads``.

    ``fields`` are the columns of the stream, the sensing time first.
    """

    name: ClassVar[str]
    summary: ClassVar[str]

    def __init__(self, fields: tuple[Field, ...]) -> None:
        self.fields = fields

    @abstractmethod
    def decode(self, body: bytes) -> Mapping[str, Any]:
        """The values by name; one that is missing is NULL, further ones are overlooked. DataError
        for a body that is none of its form."""

    @abstractmethod
    def encode(self, values: Mapping[str, Any]) -> bytes:
        """A body with these values; NULL is None. Times are microseconds."""


class JsonPayload(Payload):
    name = "json"
    summary = "a JSON object, UTF-8"

    def decode(self, body: bytes) -> Mapping[str, Any]:
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            raise DataError("not JSON in UTF-8", got=_shown(body)) from None
        return _mapping(found, "JSON object")

    def encode(self, values: Mapping[str, Any]) -> bytes:
        return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()


class CborPayload(Payload):
    """RFC 8949; a time may also be one of its date tags."""

    name = "cbor"
    summary = "a CBOR map (RFC 8949)"

    def __init__(self, fields: tuple[Field, ...]) -> None:
        super().__init__(fields)
        self._cbor = needed("cbor2", "cbor2", extra="cbor", reading="CBOR messages")

    def decode(self, body: bytes) -> Mapping[str, Any]:
        try:
            found = self._cbor.loads(body)
        # Tags of CBOR build dates, numbers and more, each with errors of its own.
        except Exception:  # noqa: BLE001
            raise DataError("not CBOR", got=_shown(body)) from None
        values = _mapping(found, "CBOR map")
        return {
            name: microseconds_of(value) if isinstance(value, datetime) else value
            for name, value in values.items()
        }

    def encode(self, values: Mapping[str, Any]) -> bytes:
        body: bytes = self._cbor.dumps(dict(values))
        return body


PROTOBUF_TYPES = {
    DataType.BOOLEAN: "bool",
    DataType.INT: "sint32",
    DataType.BIGINT: "sint64",
    DataType.FLOAT: "float",
    DataType.DOUBLE: "double",
    DataType.STRING: "string",
    DataType.TIMESTAMP: "sint64",
}
MESSAGE = "Tuple"


class ProtobufPayload(Payload):
    """A message whose fields are the columns, numbered from 1 in their order, all optional, so that
    NULL is a field that is not there. :func:`proto_text` writes it down for others."""

    name = "protobuf"
    summary = "a Protobuf message of the schema's columns, numbered from 1, timestamp first"

    def encode(self, values: Mapping[str, Any]) -> bytes:
        given = {name: value for name, value in values.items() if value is not None}
        body: bytes = self._message(**given).SerializeToString()
        return body

    def decode(self, body: bytes) -> Mapping[str, Any]:
        message = self._message()
        try:
            message.ParseFromString(body)
        except self._error:
            raise DataError("not a Protobuf message", got=_shown(body)) from None
        return {field.name: value for field, value in message.ListFields()}

    @cached_property
    def _error(self) -> Any:
        return _protobuf("message").DecodeError

    @cached_property
    def _message(self) -> Any:
        """The class of the messages, of a pool of its own: several streams share no names."""
        descriptors = _protobuf("descriptor_pb2")
        kinds = descriptors.FieldDescriptorProto
        file = descriptors.FileDescriptorProto(name="tuple.proto", syntax="proto2")
        message = file.message_type.add(name=MESSAGE)
        for number, field in enumerate(self.fields, start=1):
            message.field.add(
                name=field.name,
                number=number,
                label=kinds.LABEL_OPTIONAL,
                type=kinds.Type.Value(f"TYPE_{PROTOBUF_TYPES[field.type].upper()}"),
            )
        pool = _protobuf("descriptor_pool").DescriptorPool()
        pool.Add(file)
        found = pool.FindMessageTypeByName(MESSAGE)
        return _protobuf("message_factory").GetMessageClass(found)


def _protobuf(module: str) -> Any:
    name = f"google.protobuf.{module}"
    return needed(name, "protobuf", extra="protobuf", reading="Protobuf messages")


def proto_text(fields: tuple[Field, ...]) -> str:
    """The ``.proto`` file of a stream's Protobuf payload."""
    lines = ['syntax = "proto2";', "", f"message {MESSAGE} {{"]
    for number, field in enumerate(fields, start=1):
        unit = "microseconds since the epoch" if field.type is DataType.TIMESTAMP else field.unit
        remark = f"  // {unit}" if unit else ""
        lines.append(f"  optional {PROTOBUF_TYPES[field.type]} {field.name} = {number};{remark}")
    return "\n".join([*lines, "}"]) + "\n"


PAYLOADS: ExtensionClasses[Payload] = ExtensionClasses(
    "headway.payloads",
    what="payload",
    base=f"{__name__}:Payload",
    own={
        "json": f"{__name__}:JsonPayload",
        "cbor": f"{__name__}:CborPayload",
        "protobuf": f"{__name__}:ProtobufPayload",
    },
)


def payload_named(name: str, fields: tuple[Field, ...], at: str) -> Payload:
    """InputError, with the address ``at``, for one that there is not; EnvironmentMissing for one
    whose package is not there."""
    if name not in PAYLOADS:
        want = f"one of {', '.join(PAYLOADS)}"
        raise InputError("there is no such payload", at=at, got=f"payload={name}", want=want)
    payload = PAYLOADS[name](fields)
    payload.encode({})  # a package that is loaded only when it is used shows now that it is missing
    return payload


def _mapping(found: object, what: str) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise DataError(f"no {what}", got=f"{found!r:.80}")
    return found


def _shown(body: bytes) -> str:
    return f"{len(body)} bytes: {body[:40]!r}"
