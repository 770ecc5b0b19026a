"""The command of the studies is found through an entry point."""

from __future__ import annotations

from importlib.metadata import entry_points

from headway.cli.registry import COMMANDS
from headway_studies.reproduce_command import reproduce


def test_the_command_is_an_entry_point() -> None:
    (entry,) = entry_points(group="headway.commands", name="reproduce")
    assert entry.load() is reproduce
    assert "reproduce" not in {command.name for command in COMMANDS}
