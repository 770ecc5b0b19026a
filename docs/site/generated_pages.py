"""Pages of the site that follow from the program: a hook of MkDocs (``mkdocs.yml``).

``commands.md`` is what ``headway COMMAND --help`` prints. Links of the pages to files outside
``docs/`` lead somewhere for readers of the repository; on the site they are plain names.
"""

from __future__ import annotations

import re
from typing import Any

from mkdocs.structure.files import File, Files
from typer.testing import CliRunner

from headway.cli import app
from headway.cli.registry import COMMANDS

OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]+\)")


def help_of(*words: str) -> str:
    return CliRunner().invoke(app, [*words, "--help"], prog_name="headway").output.strip()


def commands_page() -> str:
    parts = [
        "# Commands",
        "What `headway COMMAND --help` prints. Exit codes: 0 all is well, 1 a deadline cannot be "
        "promised or was missed, 2 bad input; `--json` prints the same for scripts.",
        f"```text\n{help_of()}\n```",
    ]
    parts += [f"## {one.name}\n\n```text\n{help_of(one.name)}\n```" for one in COMMANDS]
    return "\n\n".join(parts) + "\n"


def on_files(files: Files, config: Any) -> Files:
    files.append(File.generated(config, "commands.md", content=commands_page()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    return OUTSIDE.sub(r"\1", markdown)
