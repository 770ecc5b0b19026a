"""A plan's program as C++17: ``streams.hpp`` with the rows, ``operators.hpp`` with what is done to
them, ``program.hpp`` with the tables that a kernel follows.

Everything stands in a namespace called like the query, and is named as there. Above each operator
stands how the query has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headway.engine.program import Unit
from headway.errors import QueryError
from headway.files.step_forms import step_plain
from headway.files.write_yaml import to_yaml
from headway.model.graph import Graph
from headway.model.operator_kinds import NATIVE, implementation
from headway.model.operators import Operator
from headway.model.schema import Schema
from headway.native.buffer_sizes import Sizes, sizes_of
from headway.native.cpp_names import Names, comment_lines, identifier
from headway.native.cpp_operators import shed_value_lines
from headway.native.cpp_streams import Streams, streams_of
from headway.native.cpp_tables import NOTHING, CppTables, shedding_lines
from headway.native.cpp_text import COLUMNS
from headway.native.cpp_trains import train_lines, whole_trains
from headway.native.native_gaps import native_problems
from headway.native.operator_code import OperatorCode, WriteContext, WriteOperator
from headway.native.program_layout import ProgramForm, ProgramLayout
from headway.native.reservation_tables import NAME as RESERVATIONS
from headway.native.reservation_tables import reservation_lines, reserves

STREAMS, OPERATORS, PROGRAM = "streams.hpp", "operators.hpp", "program.hpp"
SPEC_TYPES = ("In", "Out", "Left", "Right", "Key", "State", "ObjectKey", "SensorKey")
"""what the Specs of the runtime's templates call their types: no stream may"""
PARAMETERS = (
    "row", "out", "state", "key", "left", "right", "port", "writer", "reader", "value", "hash",
    "other", "start", "end", "window_start", "window_end", "reading", "object", "sensor",
)  # fmt: skip
"""what parameters in generated functions are called: no operator may"""
_C_FUNCTIONS = """
    abort abs accept access acos acosh alarm asin asinh atan atanh atexit atof atoi bind brk
    calloc cbrt ceil chdir chmod chown clock clone close connect cos cosh creat ctime daemon
    difftime div dup environ erf erfc exit exp expm1 fabs fcntl fdim floor fma fmax fmin fmod fork
    fputs fread free frexp fstat fsync ftruncate fwrite gamma getchar getenv getopt getpid
    getrandom gettid hypot ilogb index ioctl isatty j0 j1 jn kill labs ldexp ldiv lgamma link
    listen lldiv lockf log logb lrint lround lseek malloc memcpy memset mktime mmap modf mprotect
    munmap nan nanosleep nearbyint nice open optarg optind pause perror pipe poll pow ppoll prctl
    pread printf putchar puts pwrite qsort raise rand random read readlink realloc recv remainder
    remove rename rewind rindex rint rmdir round scalb scalbn sched_yield select send sendfile
    setenv shutdown sigaction signal significand sin sinh sleep snprintf socket splice sprintf
    sqrt srand srandom stat statfs strcmp strlen swab symlink sync syscall system tan tanh tee
    tempnam tgamma time timezone tmpfile tmpnam trunc truncate umask unlink usleep utime vfork
    wait write y0 y1 yn
    """
C_FUNCTIONS = frozenset(_C_FUNCTIONS.split())
"""functions that system headers declare in the outermost namespace: no query's can be called so"""
_NUMBERED = re.compile(r"[a-z_]+[0-9]+")
VALUE, ROW_FUNCTIONS = "headway/value.hpp", "headway/row_functions.hpp"


@dataclass(frozen=True)
class CppProgram:
    """A program in C++. ``files`` are its headers by name; ``namespace`` is where all of it
    stands."""

    layout: ProgramLayout
    streams: Streams
    code: Mapping[str, OperatorCode]
    sizes: Sizes
    namespace: str
    files: Mapping[str, str]


def write_program(layout: ProgramLayout, sizes: Sizes | None = None) -> CppProgram:
    """The C++ of a program; UnsupportedError or QueryError, before anything is written, where it
    cannot be. ``sizes`` are those of :func:`~headway.native.buffer_sizes.sizes_of` if not given.
    """
    if problems := list(native_problems(layout)):
        raise QueryError(problems)
    sizes = sizes or sizes_of(layout)
    namespace, streams = streams_of_program(
        layout.plan.query.name, layout.graph, layout.schemas.items()
    )
    names = Names([*streams.names, namespace, *PARAMETERS])
    code = {
        name: _operator_code(layout.graph.operators[name], streams, sizes, names)
        for name in layout.graph.order
    }
    writer = _ProgramWriter(layout, streams, code, sizes, namespace, names)
    return CppProgram(layout, streams, code, sizes, namespace, writer.files())


def streams_of_program(
    query: str, graph: Graph, schemas: Iterable[tuple[str, Schema]]
) -> tuple[str, Streams]:
    """The namespace of a query's program, and its structs."""
    namespace = identifier(f"{query}_query" if query in C_FUNCTIONS else query)
    return namespace, streams_of(graph, dict(schemas), taken=[namespace, *SPEC_TYPES])


def _operator_code(
    operator: Operator, streams: Streams, sizes: Sizes, names: Names
) -> OperatorCode:
    write: WriteOperator = implementation(operator, NATIVE)
    context = WriteContext(
        streams=streams,
        inputs=streams.ports(operator),
        output=streams.rows[operator.name],
        schema=streams.schemas[operator.name],
        sizes=sizes.of(operator.name),
        names=names,
        function=names.take(_object_name(operator)),
        type_name=streams.struct(operator.name),
    )
    return write(operator, context)


def _object_name(operator: Operator) -> str:
    """Values inside of expressions are called ``sum1`` and the like: an object must not hide
    them."""
    name = operator.name
    return f"{name}_" if operator.traits.keeps_state and _NUMBERED.fullmatch(name) else name


@dataclass
class _ProgramWriter:
    layout: ProgramLayout
    streams: Streams
    code: Mapping[str, OperatorCode]
    sizes: Sizes
    namespace: str
    names: Names

    def files(self) -> dict[str, str]:
        found = {STREAMS: self._streams(), OPERATORS: self._operators(), PROGRAM: self._program()}
        for code in self.code.values():
            found |= code.files
        return found

    def _file(self, title: str, headers: Iterable[str], lines: Iterable[str]) -> str:
        return program_file(self.namespace, title, headers, lines)

    def _streams(self) -> str:
        states = any(code.object for code in self.code.values())
        return self._file(
            f"The streams of the query '{self.layout.plan.query.name}': a row is a plain struct.\n"
            "Written by Headway from the query's plan.",
            ["<cstdint>", VALUE],
            self.streams.lines(states=states),
        )

    # ---------------------------------------------------------------- operators

    def _operators(self) -> str:
        headers = {STREAMS, "headway/tables.hpp"}
        lines: list[str] = []
        for name in self.layout.graph.order:
            code = self.code[name]
            headers |= code.headers
            lines += comment_lines(operator_text(self.layout.graph.operators[name]))
            lines += [*code.text, ""] if code.text else ["// (its rows go on as they are)", ""]
        for source in self.layout.graph.sources.values():
            if source.shedder is not None:
                text, needed = shed_value_lines(
                    source, self.streams.rows[source.name], self._shed_function(source.name)
                )
                headers |= needed
                lines += [f"// What a tuple of '{source.name}' is worth to its load shedder."]
                lines += [*text, ""]
        for unit in whole_trains(self.layout, self.code):
            lines += [*train_lines(unit, self.streams, self.code, self._train(unit)), ""]
        return self._file(
            f"The operators of the query '{self.layout.plan.query.name}'.\n"
            "Written by Headway from the query's plan.",
            headers,
            lines,
        )

    def _train(self, unit: Unit) -> str:
        return f"run_train_{identifier(unit.name).rstrip('_')}"

    def _shed_function(self, source: str) -> str:
        return f"shed_value_of_{identifier(source)}"

    # ---------------------------------------------------------------- tables

    def _program(self) -> str:
        lines: list[str] = []
        shedding = {}
        for source in self.layout.graph.sources.values():
            if source.shedder is None:
                continue
            function = self._shed_function(source.name)
            row = self.streams.struct(source.name)
            name = f"SHEDDING_OF_{identifier(source.name).upper()}"
            lines += shedding_lines(source, f"headway::shed_value<{row}, {function}>", name)
            shedding[source.name] = f"&{name}"
        trains = {}
        for unit in whole_trains(self.layout, self.code):
            entered = self.streams.struct(unit.task.entries[0])
            left = self.streams.struct(unit.stream)
            trains[unit.index] = f"headway::run_train<{entered}, {left}, {self._train(unit)}>"
        reservations = NOTHING
        if reserves(self.layout):
            lines += reservation_lines(self.layout)
            reservations = f"&{RESERVATIONS}"
        writer = CppTables(
            self.layout, self.streams, self.code, trains, self.sizes, shedding, reservations
        )
        lines += writer.write()
        arenas = [code.arena for code in self.code.values() if code.arena]
        lines += ["", "/// Bytes that the operators lay out at start."]
        lines += _sum("constexpr std::size_t OPERATOR_BYTES = ", arenas)
        return self._file(
            f"The program of the query '{self.layout.plan.query.name}' as tables: "
            f"{_FORMS[self.layout.form]}.\nWritten by Headway from the query's plan.",
            ["<cstddef>", OPERATORS, ROW_FUNCTIONS, "headway/tables.hpp"],
            lines,
        )


_FORMS = {
    ProgramForm.VEHICLE: "all nodes, in virtual time",
    ProgramForm.MEANING: "its meaning, where nothing takes time",
    ProgramForm.NODE: "the part of one node",
}


def _sum(start: str, terms: list[str]) -> list[str]:
    whole = start + (" + ".join(terms) or "0") + ";"
    if len(whole) <= COLUMNS:
        return [whole]
    first, *rest = terms
    lines = [start.rstrip(), f"    {first}", *(f"    + {term}" for term in rest)]
    return [*lines[:-1], f"{lines[-1]};"]


def program_file(namespace: str, title: str, headers: Iterable[str], lines: Iterable[str]) -> str:
    """A header of a program, all of it in the program's namespace."""
    whole = [
        *comment_lines(title),
        "#pragma once",
        "",
        *include_lines(headers),
        "",
        f"namespace {namespace} {{",
        "",
        *lines,
    ]
    while whole[-1] == "":
        whole.pop()
    return "\n".join([*whole, "", f"}}  // namespace {namespace}", ""])


def include_lines(headers: Iterable[str]) -> list[str]:
    """The system's first, then the others, each group in order."""
    names = sorted(set(headers))
    system = [f"#include {name}" for name in names if name.startswith("<")]
    own = [f'#include "{name}"' for name in names if not name.startswith("<")]
    return [*system, *([""] if system and own else []), *own]


def operator_text(operator: Operator) -> str:
    """The operator as the query has it."""
    whole = to_yaml({"operators": {operator.name: step_plain(operator)}})
    lines = whole.splitlines()[1:]
    return "\n".join(line.removeprefix("  ") for line in lines)
