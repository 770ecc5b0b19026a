"""Plans, queries and vehicles as JSON and back, without loss."""

from __future__ import annotations

import json

from pydantic import TypeAdapter, ValidationError

from headway.errors import FileError, Problem
from headway.model.plan import PLAN_VERSION, Plan

_PLAN = TypeAdapter(Plan)


def plan_to_json(plan: Plan) -> str:
    """Readable, stable JSON: the same plan gives the same bytes."""
    return json.dumps(_PLAN.dump_python(plan, mode="json"), indent=1, ensure_ascii=False) + "\n"


def plan_from_json(text: str, name: str = "plan.json") -> Plan:
    """Reads what :func:`plan_to_json` wrote; FileError names what does not fit."""
    try:
        plan = _PLAN.validate_json(text)
    except ValidationError as error:
        _check_version(_version_in(text), name)
        problems = [
            Problem(
                item["msg"],
                at=f"{name}: {'.'.join(str(part) for part in item['loc'])}",
                want="compile the query again",
            )
            for item in error.errors()[:5]
        ]
        raise FileError(problems) from None
    _check_version(plan.version, name)
    return plan


def _version_in(text: str) -> object:
    """The version of a plan that cannot be read, ours if it does not say."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return PLAN_VERSION
    return value.get("version", PLAN_VERSION) if isinstance(value, dict) else PLAN_VERSION


def _check_version(version: object, name: str) -> None:
    if version != PLAN_VERSION:
        raise FileError(
            Problem(
                "plan of another version",
                at=name,
                got=f"version {version!r:.20}",
                want=f"compile the query again (this Headway reads version {PLAN_VERSION})",
            )
        )
