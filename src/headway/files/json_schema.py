"""JSON Schemas of the file forms, for editors that complete, check and explain while one types."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from headway.files.fault_form import FaultsForm
from headway.files.forms import Form
from headway.files.graph_forms import GraphForm, NetworkForm
from headway.files.query_form import LibraryForm, QueryForm
from headway.files.taskset_file import TaskSetForm
from headway.files.vehicle_form import VehicleForm

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _Generator(GenerateJsonSchema):
    """Without null: a key that is not wanted is left out, never empty."""

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """Keys that are no names are refused, not merely left unchecked."""
        result = super().dict_schema(schema)
        if "patternProperties" in result:
            result["additionalProperties"] = False
        return result

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        result = super().default_schema(schema)
        if result.get("default", ...) is None:
            del result["default"]
        if result.get("default") == 0 and result.get("type") == "string":
            result["default"] = "0 ms"
        return result


def _schema(form: type[Form], title: str) -> dict[str, Any]:
    schema = form.model_json_schema(by_alias=True, schema_generator=_Generator)
    return {"$schema": DIALECT, **schema, "title": title}


def query_json_schema() -> dict[str, Any]:
    """The form of a query file."""
    return _schema(QueryForm, "Headway query")


def library_json_schema() -> dict[str, Any]:
    """The form of a library of schemas and components."""
    return _schema(LibraryForm, "Headway library")


def vehicle_json_schema() -> dict[str, Any]:
    """The form of a vehicle file."""
    return _schema(VehicleForm, "Headway vehicle")


def graph_json_schema() -> dict[str, Any]:
    """The form of a task graph file."""
    return _schema(GraphForm, "Headway task graph")


def network_json_schema() -> dict[str, Any]:
    """The form of a network file."""
    return _schema(NetworkForm, "Headway network")


def taskset_json_schema() -> dict[str, Any]:
    """The form of a task set file."""
    return _schema(TaskSetForm, "Headway task set")


def faults_json_schema() -> dict[str, Any]:
    """The form of a fault file."""
    return _schema(FaultsForm, "Headway faults")
