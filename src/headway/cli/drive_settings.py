"""What ``headway drive`` is told about our car: policies, radio, load shedder."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from headway.drive.collision_warning import Keep, Setting
from headway.errors import InputError, Problem

SHED_FORM = "such as 400, or s-edf=400,fifo+=20"


class Radio(StrEnum):
    """With V2V, without, or each trial once with and once without."""

    ON = "on"
    OFF = "off"
    BOTH = "both"


def settings_of(policy: str, radio: Radio, shed: str | None, keep: Keep) -> list[Setting]:
    """One for each policy with V2V, then one for each without; InputError for what is no
    setting."""
    policies = list(dict.fromkeys(name.strip() for name in policy.split(",")))
    rates = shed_rates(shed, policies)
    if shed is not None and radio is Radio.OFF:
        raise InputError(
            Problem("--shed is about V2V tuples, and --v2v is off", want="leave out one of them")
        )
    settings = []
    if radio is not Radio.OFF:
        settings += [Setting(policy=name, shed=rates.get(name), keep=keep) for name in policies]
    if radio is not Radio.ON:
        settings += [Setting(policy=name, v2v=False, keep=keep) for name in policies]
    return settings


def shed_rates(text: str | None, policies: Sequence[str]) -> dict[str, int]:
    """Tuples per second that each policy's load shedder lets in; what is not named stays as the
    query says."""
    if text is None:
        return {}
    rates: dict[str, int] = {}
    for part in text.split(","):
        name, equals, number = part.strip().rpartition("=")
        if not (number.isascii() and number.isdigit()):
            raise InputError(Problem("not a number of tuples/s", got=repr(part), want=SHED_FORM))
        if equals and name not in policies:
            known = ", ".join(policies)
            raise InputError(
                Problem("a limit for a policy that is not run", got=repr(name), want=known)
            )
        for policy in [name] if equals else policies:
            rates[policy] = int(number)
    return rates
