"""Addresses: ``SCHEME://[USER@]HOST[:PORT]/PLACE[?OPTION=VALUE&…]``, by which a source or an output
finds its messages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from headway.errors import InputError


@dataclass(frozen=True)
class Address:
    """``place`` is a topic, a key or a channel. ``user`` may be empty; a password never stands in
    an address, because addresses are shown: ``password_env`` names the variable that has it."""

    text: str
    scheme: str
    host: str
    port: int | None
    place: str
    user: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    def whole(self, option: str, default: int, least: int, most: int) -> int:
        """An option that is a whole number."""
        text = self.options.get(option)
        if text is None:
            return default
        if not text.isascii() or not text.isdecimal() or not least <= int(text[:12]) <= most:
            raise self.wrong(option, f"a whole number from {least} to {most}")
        return int(text)

    def one_of(self, option: str, *known: str) -> str:
        """An option with certain values, the first of which is the default."""
        found = self.options.get(option, known[0])
        if found not in known:
            raise self.wrong(option, f"one of {', '.join(known)}")
        return found

    @property
    def password(self) -> str | None:
        """From the environment variable that the address names; InputError if it is not set."""
        name = self.options.get("password_env")
        if name is None:
            return None
        if name not in os.environ:
            raise self.wrong("password_env", "the name of an environment variable that is set")
        return os.environ[name]

    def wrong(self, option: str, want: str) -> InputError:
        got = f"{option}={self.options.get(option, '')}"
        return InputError("not right", at=self.text, got=got, want=f"want {want}")


def parse_address(text: str, known: Mapping[str, Mapping[str, str]]) -> Address:
    """``known`` are the options of each scheme, by name, with what each is for; InputError for what
    is no address of one of them."""
    form = "SCHEME://HOST[:PORT]/PLACE[?OPTION=VALUE&…]"
    want = f"write {form}, SCHEME one of {', '.join(known)}"
    try:
        parts = urlsplit(text)
        port = parts.port
        options = parse_qsl(
            parts.query, keep_blank_values=True, strict_parsing=bool(parts.query), max_num_fields=50
        )
    except ValueError as error:
        raise InputError(f"no address: {error}", got=f"{text:.200}", want=want) from None
    if parts.scheme not in known or not parts.netloc or parts.fragment or "\0" in unquote(text):
        raise InputError("no address", got=f"{text:.200}", want=want)
    if parts.password is not None:
        raise InputError(
            "a password does not stand in an address, because addresses are shown",
            at=f"{parts.scheme}://{parts.hostname}",
            want="name the environment variable that has it: ?password_env=NAME",
        )
    place = unquote(parts.path).removeprefix("/")
    if not place:
        raise InputError("an address without a place", got=f"{text:.200}", want=f"write {form}")
    takes = known[parts.scheme]
    found: dict[str, str] = {}
    for name, value in options:
        if name not in takes or name in found:
            listed = ", ".join(f"{one} ({what})" for one, what in takes.items())
            what = "an option twice" if name in found else "no such option"
            raise InputError(what, at=f"{text:.200}", got=name, want=f"there are {listed}")
        found[name] = value
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    return Address(
        f"{text:.200}", parts.scheme, host, port, place, unquote(parts.username or ""), found
    )
