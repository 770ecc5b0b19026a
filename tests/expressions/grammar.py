"""Random well-typed expressions, as text, and random rows to compute them on."""

from __future__ import annotations

import itertools
import math
import re
import struct
from collections.abc import Callable
from random import Random
from typing import Any

from headway.model.schema import Schema, schema

COLUMNS: Schema = schema(
    d="double",
    e="double",
    f="float",
    g="float",
    i="int",
    j="int",
    l="bigint",
    m="bigint",
    s="string",
    u="string",
    b="boolean",
    c="boolean",
    w="timestamp",
)

# A placeholder is a type: Double Float Int Long String Boolean Time, or a Number of any kind.
LEAVES = {
    "D": "d e 0.5 -2.0 1e10 0.0 -0.0 3. 1e-7",
    "F": "f g CAST(0.1|AS|float)",
    "I": "i j 0 1 -1 7 -2147483648 2147483647",
    "L": "l m 3L 9223372036854775807 -9223372036854775808 2147483648",
    "S": "s u '' 'ab' '-12.9' 'it''s\\|(' '1e3' 'ä' 'Infinity'",
    "B": "b c TRUE FALSE",
    "T": "w timestamp",
}
NODES = {
    "D": """
        ({D} + {N}) | ({F} - {I}) | ({N} * {D}) | ({N} / {N}) | ({N} / 4) | ({D} % {D}) | (- {D})
        abs({D}) | sqrt({N}) | sign({N}) | round({D}) | round({D}, 2)
        radians({D}) | with_unit(degrees({N}), 'rad')
        round({F}, 1) | round({D}, -2)
        least({D}, {N}) | greatest({N}, {D}, {D}) | coalesce({D}, {N}) | nullif({D}, {N})
        CASE WHEN {B} THEN {D} WHEN {B} THEN {N} END | IF({B}, {N}, {D})
        CASE {N} WHEN {N} THEN {D} ELSE {D} END
        CAST({L} AS double) | CAST({S} AS double) | CAST({B} AS double) | CAST({F} AS double)
        IF({B}, NULL, {D})
        """,
    "F": """
        ({F} + {F}) | ({F} - {F}) | ({F} * {F}) | ({F} % {F}) | (- {F}) | abs({F})
        least({F}, {F}) | greatest({F}, {F}) | coalesce({F}, {F})
        CAST({D} AS float) | CAST({L} AS float) | CAST({I} AS float) | CAST({S} AS float)
        CAST({B} AS float)
        """,
    "I": """
        ({I} + {I}) | ({I} - {I}) | ({I} * {I}) | ({I} % {I}) | ({I} % 7) | (- {I}) | abs({I})
        ({I} + {I} * {I} - {I}) | length({S}) | round({I}, -1) | round({I}, 1)
        least({I}, {I}) | greatest({I}, {I}, {I}) | coalesce({I}, {I}) | nullif({I}, {N})
        CASE WHEN {B} THEN {I} ELSE {I} END
        CAST({D} AS int) | CAST({F} AS int) | CAST({L} AS int) | CAST({S} AS int) | CAST({B} AS int)
        """,
    "L": """
        ({L} + {I}) | ({L} - {L}) | ({I} * {L}) | ({L} % {L}) | ({L} % 1000L) | (- {L}) | abs({L})
        ({I} div {I}) | ({L} div {L}) | ({L} div -7) | floor({N}) | ceil({D}) | round({L}, -3)
        least({L}, {I}) | coalesce({L}, {I}) | unix_micros({T})
        CASE WHEN {B} THEN {L} ELSE {I} END
        CAST({D} AS bigint) | CAST({F} AS bigint) | CAST({S} AS bigint) | CAST({I} AS bigint)
        """,
    "S": """
        upper({S}) | lower({S}) | ({S} || {S}) | concat({S}, {S}, 'x') | coalesce({S}, {S})
        substring({S}, {I}) | substring({S}, 2, 3) | substring({S}, -3, {I}) | substring({S}, 0, 2)
        CAST({I} AS string) | CAST({L} AS string) | CAST({B} AS string)
        CASE WHEN {B} THEN {S} ELSE 'no' END | least({S}, {S}) | greatest({S}, 'b')
        """,
    "B": """
        ({N} = {N}) | ({N} <> {N}) | ({N} < {N}) | ({N} <= {N}) | ({N} > {N}) | ({N} >= {N})
        ({N} <=> {N}) | ({D} = {D}) | ({D} < {D}) | ({D} <= {D}) | ({D} <> {D}) | ({D} <=> {D})
        ({D} > 0.5) | ({D} >= 0.5) | ({D} < 0.5) | (0.5 < {D}) | (0.5 >= {D})
        ({S} = {S}) | ({S} < {S}) | ({T} < {T}) | ({B} = {B}) | ({B} <=> {B}) | ({T} <=> {T})
        ({B} AND {B}) | ({B} OR {B}) | (NOT {B}) | ({B} AND NOT ({B} OR {B}))
        ({N} IS NULL) | ({S} IS NOT NULL) | ({B} IS TRUE) | ({B} IS NOT FALSE) | ({B} IS NULL)
        ({I} IN (1, 7, 2.5)) | ({D} IN (0.5, {D}, NULL)) | ({S} NOT IN ('ab', '')) | ({D} IN (0, 1))
        ({D} NOT IN ({D}, {N}))
        ({N} BETWEEN {N} AND {N}) | ({D} NOT BETWEEN 0 AND {D}) | isnan({N})
        coalesce({B}, {B}) | IF({B}, {B}, NULL) | ({D} IS DISTINCT FROM {D})
        CAST({D} AS boolean) | CAST({I} AS boolean) | CAST({S} AS boolean) | CAST({F} AS boolean)
        """,
    "T": "coalesce({T}, {T}) | timestamp_micros({I}) | CASE WHEN {B} THEN {T} ELSE {T} END"
    " | least({T}, {T})",
}
# Libraries of mathematics differ in the last place, so these stand alone and are compared nearly.
NEAR = """
    sin({D}) | cos({D}) | tan({D}) | asin({D}) | acos({D}) | atan({D}) | atan2({D}, {D}) | exp({D})
    ln({N}) | log10({D}) | pow({D}, {N}) | hypot({D}, {F}) | cbrt({D}) | (pi() * {D})
    power({D}, 2) | power(2, {I})
    """


def _alternatives(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"\||\n", text.replace("||", "⧺")) if part.strip()]


_NODES = {
    kind: [part.replace("⧺", "||") for part in _alternatives(text)] for kind, text in NODES.items()
}
_LEAVES = {kind: [leaf.replace("|", " ") for leaf in t.split(" ")] for kind, t in LEAVES.items()}
_NEAR = _alternatives(NEAR)


def expression(rng: Random, kind: str | None = None, depth: int = 3) -> str:
    """A well-typed expression of one kind."""
    if kind is None:
        kind = rng.choice("DFILSBTDBB")
    if kind == "N":
        kind = rng.choice("DFIL")
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(_LEAVES[kind])
    return _filled(rng, rng.choice(_NODES[kind]), depth - 1)


def every_node() -> list[str]:
    """Each form once, on columns: no rule goes unasked, whatever chance brings."""
    forms = [form for forms in _NODES.values() for form in forms]
    names = {"D": "de", "F": "fg", "I": "ij", "L": "lm", "S": "su", "B": "bc", "T": "w", "N": "dl"}
    return [_with_columns(form, names) for form in forms]


def near_expression(rng: Random) -> str:
    return _filled(rng, rng.choice(_NEAR), 1)


def _filled(rng: Random, template: str, depth: int) -> str:
    return re.sub(r"\{(\w)\}", lambda match: expression(rng, match[1], depth), template)


def _with_columns(template: str, names: dict[str, str]) -> str:
    """The columns of a kind in turn."""
    count = itertools.count()
    return re.sub(r"\{(\w)\}", lambda m: names[m[1]][next(count) % len(names[m[1]])], template)


def single(value: float) -> float:
    packed: float = struct.unpack("f", struct.pack("f", value))[0]
    return packed


_EDGE_DOUBLES = [
    *(0.0, -0.0, 0.5, 1.0, -1.0, 2.5, -2.5, 1.005, 90.0, -7.25, 1e-310, 1e300, -1e300),
    *(2147483647.5, -2147483649.0, 9.3e18, -9.3e18, math.inf, -math.inf, math.nan),
]
_EDGE_WHOLES = [0, 1, -1, 2, 7, -7, 10, 1005, 2**31 - 1, -(2**31)]
_EDGE_LONGS = [*_EDGE_WHOLES, 2**31, 2**53 + 1, 9007199791611905, 2**63 - 1, -(2**63)]
_EDGE_STRINGS = [
    *("", "ab", "AB", "ß", "b😀c", "it's", " 12 ", "-7.9", ".", "+", "1e5", "nan", "-inf"),
    *("0x1p4", "3d", "TRUE", "no", "99999999999", "12\x7f"),
]
_EDGE_SINGLES = [single(value) for value in _EDGE_DOUBLES if not 1e38 < abs(value) < math.inf]
_BY_TYPE: dict[str, Callable[[Random], Any]] = {
    "double": lambda rng: rng.choice([rng.choice(_EDGE_DOUBLES), rng.uniform(-1000, 1000)]),
    "float": lambda rng: rng.choice([rng.choice(_EDGE_SINGLES), single(rng.uniform(-1e3, 1e3))]),
    "int": lambda rng: rng.choice([rng.choice(_EDGE_WHOLES), rng.randint(-(2**31), 2**31 - 1)]),
    "bigint": lambda rng: rng.choice([rng.choice(_EDGE_LONGS), rng.randint(-(2**63), 2**63 - 1)]),
    "string": lambda rng: rng.choice(
        [rng.choice(_EDGE_STRINGS), "".join(rng.choices("ab1.-ZÉ ", k=rng.randint(0, 5)))]
    ),
    "boolean": lambda rng: rng.random() < 0.5,
    "timestamp": lambda rng: rng.randint(0, 2 * 10**15),
}


def random_row(rng: Random) -> tuple[Any, ...]:
    """A row laid out as the schema's columns; any but the timestamp may be NULL."""
    values = [
        None if rng.random() < 0.15 else _BY_TYPE[field.type.value](rng) for field in COLUMNS.fields
    ]
    return (_BY_TYPE["timestamp"](rng), *values)
