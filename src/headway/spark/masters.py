"""Spark masters: known by their form, and reachable, before a session is asked for.

Spark itself tries an absent standalone master for a minute and then fails with a stack trace.
"""

from __future__ import annotations

import re
import socket

from headway.errors import EnvironmentMissing, InputError, Problem

_LOCAL = re.compile(r"local(\[(\*|[1-9]\d{0,3})(\s*,\s*\d{1,4})?\])?")
_CLUSTER = re.compile(r"local-cluster\[.+\]|yarn|k8s://.+")
_STANDALONE = re.compile(r"spark://(?P<nodes>[^/]+)")
_FORMS = "local[*], local[N], spark://HOST:PORT, yarn or k8s://HOST:PORT"
PATIENCE_S = 5.0


def check_master(master: str) -> None:
    """InputError if it is none; EnvironmentMissing if nobody listens at a standalone one."""
    if _LOCAL.fullmatch(master) or _CLUSTER.fullmatch(master):
        return
    standalone = _STANDALONE.fullmatch(master)
    addresses = [_address(node) for node in standalone["nodes"].split(",")] if standalone else []
    if not addresses or None in addresses:
        raise InputError(
            Problem("this is no Spark master", at="--master", got=master, want=f"write {_FORMS}")
        )
    refusals = [refusal for address in addresses if address and (refusal := refusal_of(*address))]
    if len(refusals) == len(addresses):
        raise EnvironmentMissing(
            f"No Spark master answers at {master}: {'; '.join(refusals)}. Start one, or use "
            "--master local[*]."
        )


def is_local(master: str) -> bool:
    return _LOCAL.fullmatch(master) is not None


def _address(node: str) -> tuple[str, int] | None:
    host, _, port = node.rpartition(":")
    return (host, int(port)) if host and port.isdecimal() and int(port) < 65536 else None


def refusal_of(host: str, port: int) -> str:
    """Why nobody answers there; nothing if somebody does."""
    try:
        with socket.create_connection((host.strip("[]"), port), timeout=PATIENCE_S):
            return ""
    except OSError as error:
        return f"{host}:{port}: {error.strerror or error}"
