"""In place of the generator: a program of two files that says who it is, for tests of what is done
with the source of a node."""

from __future__ import annotations

from collections.abc import Collection

from headway.model.plan import Plan
from headway.native.cpp_process import Carrier
from headway.native.source_tree import NodeSources

MAIN = """\
#include <cstdio>

#include "headway/greeting.hpp"
{declared}
int main() {{
  std::printf("%s %s {policy}", headway::GREETING, "{node}");
{called}  std::puts("");
  return 0;
}}
"""


def small_source(
    plan: Plan,
    node: str,
    policy: str = "s-edf",
    *,
    app: tuple[str, ...] = (),
    carriers: Collection[Carrier] = (),
) -> NodeSources:
    assert node in [query.node for query in plan.node_queries]
    main = MAIN.format(
        node=node,
        policy=policy,
        declared="\nint application(int given);\n" if app else "",
        called='  std::printf(" application %d", application(20));\n' if app else "",
    )
    header = '#pragma once\nnamespace headway {\ninline constexpr char GREETING[] = "node";\n}\n'
    return NodeSources(files={"main.cpp": main, "headway/greeting.hpp": header}, main="main.cpp")
