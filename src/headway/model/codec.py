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
        problems = [
            Problem(
                item["msg"],
                at=f"{name}: {'.'.join(str(part) for part in item['loc'])}",
                want="compile the query again",
            )
            for item in error.errors()[:5]
        ]
        raise FileError(problems) from None
    if plan.version != PLAN_VERSION:
        raise FileError(
            Problem(
                "plan of another version",
                at=name,
                got=f"version {plan.version}",
                want=f"compile the query again (this Headway reads version {PLAN_VERSION})",
            )
        )
    return plan
