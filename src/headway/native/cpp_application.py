"""Applications in C++: the class that one inherits, written for a node.

``application.hpp`` has a class ``Application`` with a function for each output of the node and for
each source that a sensor of the node feeds, all typed by the streams of the query
(``headway/application.hpp`` says how it is used)::

    class BrakeAssistant final : public collision_warning::Application {
      void on_output2(const Output2& row, headway::Nanoseconds completed) override;
    };
"""

from __future__ import annotations

from dataclasses import dataclass

from headway.native.cpp_names import Names
from headway.native.cpp_program import CppProgram, program_file

APPLICATION = "application.hpp"
MAIN_CLASS = "Application"
_OWN_NAMES = ("application", "output", "feeds", "take", "on_start", "on_end", "on_readable")


@dataclass(frozen=True, slots=True)
class _Port:
    """An output or a source: its place in the tables, its type, and how it is called in C++."""

    place: int
    name: str
    row: str
    function: str


def _named(program: CppProgram) -> tuple[list[_Port], list[_Port], list[str]]:
    """Outputs, own sources, and the types that outputs are called by."""
    layout, streams = program.layout, program.streams
    assert layout.part is not None
    types = Names([*streams.names, program.namespace, MAIN_CLASS])
    functions = Names(_OWN_NAMES)
    outputs, aliases = [], []
    for place, output in enumerate(layout.graph.outputs.values()):
        row = streams.struct(output.stream)
        alias = types.take_type(output.name)
        aliases.append(f"using {alias} = {row};")
        outputs.append(_Port(place, output.name, alias, functions.take(f"on_{output.name}")))
    places = list(layout.graph.sources)
    sources = [
        _Port(places.index(name), name, streams.struct(name), functions.take(name))
        for name in layout.part.own_sources
    ]
    return outputs, sources, aliases


def application_text(program: CppProgram) -> str:
    """``application.hpp`` of a node."""
    layout = program.layout
    assert layout.part is not None
    outputs, sources, aliases = _named(program)
    lines = [*aliases, "", f"class {MAIN_CLASS} : public headway::ApplicationBase {{", " public:"]
    for one in outputs:
        lines += [
            f"  /// A tuple of output '{one.name}' was completed at that time of the engine.",
            f"  virtual void {one.function}(const {one.row}& row,",
            f"  {' ' * len('virtual void ' + one.function)} headway::Nanoseconds completed) {{",
            "    (void)row;",
            "    (void)completed;",
            "  }",
        ]
    for one in sources:
        lines += [
            f"  /// A tuple of source '{one.name}', now; false when too many wait. Say in `feeds`",
            "  /// that it is yours, and close it when nothing more comes.",
            f"  bool push_{one.function}(const {one.row}& row) {{",
            f"    return push_row({one.place}, &row, sizeof row);",
            "  }",
            f"  bool close_{one.function}() {{ return push_end({one.place}); }}",
            f"  static constexpr headway::Index SOURCE_{one.function.upper()} = {one.place};",
        ]
    cases = [
        line
        for one in outputs
        for line in (
            f"      case {one.place}:",
            f"        {one.function}(*static_cast<const {one.row}*>(row), completed);",
            "        break;",
        )
    ]
    lines += [
        "",
        "  void output(headway::Index output, const void* row,",
        "              headway::Nanoseconds completed) final {",
        "    switch (output) {",
        *cases,
        "      default:",
        "        (void)row;",
        "        (void)completed;",
        "    }",
        "  }",
        "",
        " protected:",
        f"  ~{MAIN_CLASS}() = default;",
        "};",
        "",
        "/// The application that the node calls; defined by whoever writes one.",
        f"{MAIN_CLASS}& application();",
    ]
    return program_file(
        program.namespace,
        f"What an application of node '{layout.part.node}' inherits: the outputs it gets and the\n"
        "sources it may feed. Written by Headway from the query's plan.",
        ["headway/application.hpp", "streams.hpp"],
        lines,
    )
