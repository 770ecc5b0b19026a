"""The key of a build: random bytes that every node of it has and nobody else. Nodes prove to each
other that they have it before anything is sent or believed.

It lies beside the executables, not inside: they may be read and compared by anyone (the same plan
gives the same bytes), the key by its owner only. Every build makes a new one.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from headway.errors import FileError, Problem

KEY_FILE = "nodes.key"
KEY_BYTES = 32
_OTHERS = 0o077


def new_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def write_key(folder: Path, key: bytes, name: str = KEY_FILE) -> Path:
    """Puts the key into the folder, in place of an older one; never readable by others, not even
    while it is written."""
    path = folder / name
    beside = folder / f".{name}.{secrets.token_hex(4)}"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    return path


def read_key(path: Path) -> bytes:
    """FileError when there is none, when it is damaged or when others can read it."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            key = file.read(KEY_BYTES + 1)
    except OSError as error:
        raise FileError(
            Problem(
                f"cannot read the key of the nodes: {error.strerror or error}",
                at=str(path),
                want=f"take {KEY_FILE} from the folder of the build, or build again",
            )
        ) from None
    if os.name == "posix" and mode & _OTHERS:
        raise FileError(
            Problem(
                "others can read the key of the nodes",
                at=str(path),
                got=f"mode {mode & 0o777:04o}",
                want="build again, or if nobody has read it: chmod 600",
            )
        )
    if len(key) != KEY_BYTES:
        length = f"{len(key)}" if len(key) < KEY_BYTES else f"more than {KEY_BYTES}"
        raise FileError(
            Problem(
                f"not a key of {KEY_BYTES} bytes",
                at=str(path),
                got=f"{length} bytes",
                want="build again",
            )
        )
    return key
