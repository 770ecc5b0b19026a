"""An operator of the native engine beside its Python twin: the same commands to both, the same
answers from both.

Commands are collected while the Python operator runs and given to the compiled program in one go;
``operator_driver.hpp`` is its half.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import shutil
import struct
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.native.cpp_compiler import (
    SANITIZED,
    compile_program,
    pack_rows,
    row_layout,
    run_program,
    sanitizers_work,
    unpack_rows,
)

from headway.engine.operators.operator_base import DropKind, StatefulOperator
from headway.engine.operators.user_defined import CustomOperator
from headway.model.schema import Schema
from headway.model.user_operator import Row
from headway.native.cpp_keys import each_lines
from headway.native.cpp_types import RowStruct, row_struct

HERE = Path(__file__).parent
GROWS = ("-DHEADWAY_GROWS",)
NO_TIME = -(1 << 63)
NO_PORT = 255

# -------------------------------------------------------------------- compiling


@cache
def _folder() -> Path:
    """Where this process keeps its programs."""
    folder = tempfile.mkdtemp(prefix="headway-native-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@cache
def built(source: str, flags: tuple[str, ...] = GROWS) -> Path:
    """The program of this text."""
    if set(SANITIZED) <= set(flags) and not sanitizers_work():
        pytest.skip("the C++ compiler has no AddressSanitizer and UndefinedBehaviorSanitizer")
    folder = Path(tempfile.mkdtemp(dir=_folder()))
    return compile_program(source, folder, ["-O0", *flags, f"-I{HERE}"])


# -------------------------------------------------------------------- rows


@cache
def layout_of(schema: Schema) -> RowStruct:
    return row_struct("Row", schema)


def row_bytes(schema: Schema) -> int:
    return ctypes.sizeof(row_layout(layout_of(schema)))


def cpp_row(name: str, schema: Schema) -> str:
    """The struct of a stream's rows, as the generator writes it."""
    row = row_struct(name, schema)
    lines = [f"struct {name} {{", *(f"  {column.cpp} {column.member};" for column in row.columns)]
    return "\n".join([*lines, *each_lines([column.member for column in row.columns]), "};"])


def packed(schema: Schema, row: Row) -> bytes:
    return pack_rows([row], layout_of(schema))


def unpacked(schema: Schema, data: bytes) -> Row:
    (row,) = unpack_rows(data, layout_of(schema))
    return tuple(row)


def exact(row: Row) -> tuple[Any, ...]:
    """A row whose numbers are compared bit by bit; there is only one NaN."""
    return tuple(
        ("nan" if value != value else value.hex()) if isinstance(value, float) else value
        for value in row
    )


# -------------------------------------------------------------------- both at once

REASONS = [
    "marked late at its source",
    "older than the watermark",
    "its windows are closed",
    "quota used",
    "below threshold",
    "less valuable",
    "beyond rate",
    "no time left",
    "no time left (hard)",
    "no room",
    "late",
    "unusable",
    "unstarted",
    "user",
    "malformed",
    "outside",
]
"""of the runtime, by number; those of Python begin so"""
KINDS = [DropKind.LATE, DropKind.FAILED, DropKind.REJECTED, DropKind.SHED]


class Twins:
    """Runs a Python operator, remembers what it did, and holds the compiled one to it."""

    def __init__(
        self, operator: StatefulOperator, inputs: Mapping[str, Schema], output: Schema
    ) -> None:
        self.operator = operator
        self.inputs = inputs
        self.output = output
        self.ports = list(inputs)
        self.commands = bytearray()
        self.expected: list[list[tuple[Any, ...]]] = []
        self.saved: list[bytes] = []

    # ---------------------------------------------------------- commands

    def accept(self, port: str, row: Row, now: int = 0, late: bool = False) -> list[Row]:
        self._command("a", struct.pack("<BBq", self.ports.index(port), late, now))
        self.commands += packed(self.inputs[port], row)
        return self._done(self.operator.accept(port, row, now, late))

    def advance(self, watermark: int) -> list[Row]:
        self._command("w", struct.pack("<q", watermark))
        return self._done(self.operator.advance(watermark))

    def finish(self) -> list[Row]:
        self._command("f")
        return self._done(self.operator.finish())

    def expire(self, token: int, now: int) -> list[Row]:
        self._command("x", struct.pack("<qq", token, now))
        return self._done(self.operator.expire(token, now))

    def output_watermark(self, watermark: int) -> None:
        self._command("o", struct.pack("<q", watermark))
        self._answer(self.operator.output_watermark(watermark))

    def next_due(self) -> None:
        self._command("n")
        due = self.operator.next_due()
        self._answer(NO_TIME if due is None else due)

    def beyond(self) -> None:
        self._command("b")
        self._answer(self.operator.beyond)

    def execute(
        self,
        batch: Mapping[str, Sequence[Row]],
        now: int = 0,
        timed_out: bool = False,
        by_item: bool = False,
    ) -> list[Row]:
        assert isinstance(self.operator, CustomOperator)
        count = sum(map(len, batch.values()))
        self._command("g", struct.pack("<qBBI", now, timed_out, by_item, count))
        for port, rows in batch.items():
            for row in rows:
                self.commands += struct.pack("<BB", self.ports.index(port), 0)
                self.commands += packed(self.inputs[port], row)
        return self._done(self.operator.execute(batch, now, timed_out))

    def save_and_load(self) -> None:
        """Goes on with another compiled operator that takes up the first one's state."""
        self._command("s")
        self.expected.append([("l", True)])
        if isinstance(self.operator, CustomOperator):
            # Objects are kept in another order afterwards.
            self.operator.restore(json.loads(json.dumps(self.operator.snapshot())))

    def load(self, state: bytes) -> None:
        """Gives the compiled operator bytes that may be no state of it."""
        self._command("l", struct.pack("<I", len(state)) + state)
        self.expected.append([])

    def _command(self, letter: str, arguments: bytes = b"") -> None:
        self.commands += letter.encode() + arguments

    def _answer(self, number: int) -> None:
        self.expected.append([("n", number)])

    def _done(self, rows: list[Row]) -> list[Row]:
        answers: list[tuple[Any, ...]] = [("e", exact(row)) for row in rows]
        for dropped in self.operator.take_side():
            if dropped.port is None:  # a result that its stream cannot hold
                answers.append(("d", dropped.kind, "a result", None))
                continue
            answers.append(
                ("d", dropped.kind, dropped.reason, dropped.port, exact(dropped.row)),
            )
        answers += [("t", *timer) for timer in self.operator.take_timers()]
        self.expected.append(answers)
        return rows

    # ---------------------------------------------------------- answers

    def answers(self, program: Path) -> list[list[tuple[Any, ...]]]:
        """What the compiled operator did, command by command."""
        log, place = run_program(program, bytes(self.commands)), 0
        answers: list[list[tuple[Any, ...]]] = []

        def take(count: int) -> bytes:
            nonlocal place
            assert place + count <= len(log)
            place += count
            return log[place - count : place]

        while place < len(log):
            letter = take(1).decode()
            if letter == ".":
                answers.append([])
            elif letter == "e":
                size = row_bytes(self.output)
                answers[-1].append(("e", exact(unpacked(self.output, take(size)))))
            elif letter == "d":
                kind, reason, detail, port = struct.unpack("<BBqB", take(11))
                if port == NO_PORT:
                    take(row_bytes(self.output))
                    answers[-1].append(("d", KINDS[kind], "a result", None))
                    continue
                schema = self.inputs[self.ports[port]]
                row = unpacked(schema, take(row_bytes(schema)))
                said = REASONS[reason] + (f" {detail}" if reason == 1 else "")
                answers[-1].append(("d", KINDS[kind], said, self.ports[port], exact(row)))
            elif letter == "t":
                answers[-1].append(("t", *struct.unpack("<qq", take(16))))
            elif letter == "n":
                answers[-1].append(("n", *struct.unpack("<q", take(8))))
            else:
                assert letter == "l"
                loaded, size = struct.unpack("<BI", take(5))
                self.saved.append(take(size))
                answers[-1].append(("l", bool(loaded)))
        return answers

    def check(self, program: Path) -> None:
        """The compiled operator gave the same rows, drops, timers and numbers, each kind in the
        same order."""
        answers = self.answers(program)
        assert len(answers) == len(self.expected)
        for number, (found, wanted) in enumerate(zip(answers, self.expected, strict=True)):
            ordered = sorted(found, key=lambda answer: "edtnl".index(answer[0]))
            assert ordered == wanted, f"command {number}"
