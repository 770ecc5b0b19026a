"""The command and studies of other packages are found through entry points."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import pytest

from headway.cli.registry import COMMANDS
from headway.errors import InputError
from headway_studies import registry
from headway_studies.registry import OURS, brought_studies
from headway_studies.reproduce_command import reproduce

ANOTHER = replace(OURS["basic"], name="another")
SAME_NAME = replace(OURS["basic"], title="not ours")
NO_STUDY = "no study"


def named(attribute: str, name: str = "other") -> EntryPoint:
    return EntryPoint(name=name, value=f"{__name__}:{attribute}", group="any")


def brought(monkeypatch: pytest.MonkeyPatch, module: Any, *found: EntryPoint) -> None:
    monkeypatch.setattr(EntryPoint, "load", lambda one: globals()[one.value.split(":")[1]])
    monkeypatch.setattr(module, "entry_points", lambda group: found)


def test_the_command_is_an_entry_point() -> None:
    (entry,) = entry_points(group="headway.commands", name="reproduce")
    assert entry.load() is reproduce
    assert "reproduce" not in {command.name for command in COMMANDS}


def test_a_study_of_another_package(monkeypatch: pytest.MonkeyPatch) -> None:
    brought(monkeypatch, registry, named("ANOTHER"))
    assert brought_studies() == {"another": ANOTHER}


@pytest.mark.parametrize(
    ("attribute", "told"),
    [
        ("SAME_NAME", "there are two studies `basic`"),
        ("NO_STUDY", "the entry point `other` of the group headway.studies is no study"),
    ],
)
def test_what_cannot_be_taken_is_named(
    attribute: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought(monkeypatch, registry, named(attribute))
    with pytest.raises(InputError, match=told):
        brought_studies()
