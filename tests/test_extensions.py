"""Extension points: what packages declare is found, checked, and harms nobody who leaves it."""

from __future__ import annotations

import importlib
import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from headway.errors import InputError
from headway.extensions import ExtensionClasses, ExtensionObjects


class Greeting(ABC):
    """The base class of these tests."""

    name: ClassVar[str]

    @abstractmethod
    def say(self) -> str: ...


class Hello(Greeting):
    name = "hello"

    def say(self) -> str:
        return "hello"


GROUP = "headway.test_greetings"
OWN = {"hello": f"{__name__}:Hello"}


def point() -> ExtensionClasses[Greeting]:
    return ExtensionClasses(GROUP, base=f"{__name__}:Greeting", own=OWN, what="greeting")


def objects() -> ExtensionObjects[Greeting]:
    return ExtensionObjects(GROUP, base=f"{__name__}:Greeting", own=OWN, what="greeting")


class Packages:
    """A folder on the path where packages are installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules: list[str] = []

    def install(self, package: str, entries: dict[str, str], source: str = "") -> None:
        module = package.replace("-", "_")
        self.modules.append(module)
        header = f"from {__name__} import Greeting, Hello\n"
        (self.folder / f"{module}.py").write_text(header + textwrap.dedent(source))
        info = self.folder / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {module}:{value}" for name, value in entries.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines]) + "\n")
        importlib.invalidate_caches()


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packages]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made = Packages(tmp_path)
    yield made
    for module in made.modules:
        sys.modules.pop(module, None)


GOOD = """
    class Moin(Greeting):
        name = "moin"

        def say(self):
            return "moin"
"""


def test_an_installed_class_is_found_beside_the_own_ones(packages: Packages) -> None:
    packages.install("north", {"moin": "Moin"}, GOOD)
    found = point()
    assert list(found) == ["hello", "moin"]
    assert found["moin"]().say() == "moin"
    assert found["hello"] is Hello
    assert found.refused() == {}
    with pytest.raises(KeyError):
        found["servus"]


def test_objects_are_made_once_and_shared(packages: Packages) -> None:
    packages.install("north", {"moin": "Moin", "tach": "TACH"}, GOOD + "    TACH = Moin()\n")
    found = objects()
    assert found["moin"].say() == "moin"
    assert found["moin"] is found["moin"]
    with pytest.raises(InputError, match="calls itself by another name; got 'moin'"):
        found["tach"]


def test_nothing_is_imported_before_it_is_asked_for(packages: Packages) -> None:
    packages.install("loud", {"loud": "Loud"}, "raise SystemError('I am imported')")
    found = point()
    assert found.names == ("hello", "loud")
    assert found["hello"] is Hello
    assert "loud" not in sys.modules


def test_own_names_are_found_without_reading_entry_points(
    packages: Packages, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(**_: str) -> None:
        raise AssertionError("entry points were read")

    monkeypatch.setattr("importlib.metadata.entry_points", nobody)
    assert point()["hello"] is Hello


def test_entry_points_are_read_once(packages: Packages) -> None:
    found = point()
    assert list(found) == ["hello"]
    packages.install("north", {"moin": "Moin"}, GOOD)
    assert list(found) == ["hello"]
    assert list(point()) == ["hello", "moin"]


BROKEN = {
    "missing = import": ("import no_such_module", "Missing", "ModuleNotFoundError"),
    "absent": ("", "Absent", "AttributeError"),
    "raising": ("1 / 0", "Raising", "ZeroDivisionError: division by zero"),
    "stranger": (
        "class Stranger:\n    name = 'bad'",
        "Stranger",
        f"does not derive from {__name__}.Greeting",
    ),
    "number": ("NUMBER = 7", "NUMBER", "does not derive from"),
    "open": (
        "class Open(Greeting):\n    name = 'bad'",
        "Open",
        "leaves methods of Greeting open; got say",
    ),
    "other name": ("", "Hello", "calls itself by another name; got 'hello'"),
}


@pytest.mark.parametrize(("source", "value", "told"), BROKEN.values(), ids=BROKEN)
def test_a_broken_entry_is_named_when_it_is_used(
    packages: Packages, source: str, value: str, told: str
) -> None:
    packages.install("bad-package", {"bad": value}, source)
    packages.install("north", {"moin": "Moin"}, GOOD)
    found = point()
    with pytest.raises(InputError) as caught:
        found["bad"]
    text = str(caught.value)
    assert text.startswith(f"bad_package:{value}: the greeting 'bad' of the package bad-package ")
    assert told in text
    assert text.endswith("correct or uninstall bad-package, or choose another greeting")
    assert list(found) == ["hello", "moin"], "all others are as before"
    assert list(found.refused()) == ["bad"]
    with pytest.raises(InputError, match="bad-package"):
        "bad" in found.where(lambda _: True)  # noqa: B015


def test_an_object_that_cannot_be_made(packages: Packages) -> None:
    source = "class Picky(Hello):\n    name = 'picky'\n    def __init__(self, how): ..."
    packages.install("picky-package", {"picky": "Picky"}, source)
    with pytest.raises(InputError, match="cannot be made without arguments: TypeError"):
        objects()["picky"]


def test_an_own_name_stays_what_it_is(packages: Packages) -> None:
    packages.install("thief", {"hello": "Hello"})
    found = point()
    assert found["hello"] is Hello
    assert list(found) == ["hello"]
    assert str(found.refused()["hello"]) == (
        "thief:Hello: the greeting 'hello' is Headway's own; the entry of the package thief is "
        "not used; have thief choose another name"
    )


def test_a_name_of_two_packages_is_nobodys(packages: Packages) -> None:
    packages.install("north", {"moin": "Moin"}, GOOD)
    packages.install("far-north", {"moin": "Moin"}, GOOD)
    found = point()
    with pytest.raises(InputError) as caught:
        found["moin"]
    assert str(caught.value) == (
        "several packages declare the greeting 'moin'; got far-north (far_north:Moin), "
        "north (north:Moin); uninstall all but one of them"
    )
    assert list(found) == ["hello"]


def test_a_selection_is_what_passes_its_test(packages: Packages) -> None:
    packages.install("north", {"moin": "Moin"}, GOOD)
    chosen = point().where(lambda one: one.name != "hello")
    assert list(chosen) == ["moin"]
    assert len(chosen) == 1
    assert "hello" not in chosen
    assert "nothing" not in chosen
