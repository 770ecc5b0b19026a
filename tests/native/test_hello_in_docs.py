"""The generated code of ``hello``, in full, as the documentation shows it: a change in the
generator shows up as a difference there.

After a change that is meant, renew the page and read the difference before it is committed:

    HEADWAY_RENEW_SNAPSHOTS=1 python -m pytest tests/native/test_hello_in_docs.py
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from headway.compiler import compile_query
from headway.files import load_query, load_vehicle
from headway.native.source_tree import node_sources

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "native.md"
HELLO = ROOT / "examples" / "hello"
RENEW = "HEADWAY_RENEW_SNAPSHOTS"
SHOWN = re.compile(r"^`([\w.]+)`:\n\n```cpp\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def generated() -> dict[str, str]:
    """What is written of the plan, without the runtime library."""
    plan = compile_query(
        load_query(HELLO / "query.yaml").query, load_vehicle(HELLO / "vehicle.yaml").vehicle
    )
    files = node_sources(plan, "ecu").files
    return {name: text for name, text in files.items() if not name.startswith("headway/")}


def test_the_code_of_hello_is_that_of_the_page() -> None:
    files = generated()
    page = PAGE.read_text(encoding="utf-8")
    if os.environ.get(RENEW):
        page = SHOWN.sub(lambda found: f"`{found[1]}`:\n\n```cpp\n{files[found[1]]}```", page)
        PAGE.write_text(page, encoding="utf-8")
    shown = dict(SHOWN.findall(page))
    assert shown.keys() == files.keys()
    for name, text in files.items():
        assert shown[name] == text, name


def test_the_query_of_the_page_is_the_example() -> None:
    page = PAGE.read_text(encoding="utf-8")
    query = (HELLO / "query.yaml").read_text(encoding="utf-8")
    assert query[query.index("query:") :] in page
