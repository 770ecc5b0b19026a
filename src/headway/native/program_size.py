"""The memory that a program takes, read from the sections of its ELF file.

Works for programs of any machine, and needs no ``size`` tool. The layout is that of the System V
ABI, chapter 4: a header, and a table of sections with flags that say what each becomes in memory.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from headway.errors import FileError, Place

_MAGIC = b"\x7fELF"
_WRITE, _ALLOC, _EXECUTE = 1, 2, 4
_NOBITS = 8
_MACHINES = {3: "x86", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv"}


@dataclass(frozen=True, slots=True)
class ProgramSize:
    """All in bytes. ``code`` and ``constants`` can stay in read-only memory; ``data`` stands in the
    file and is copied to memory; ``zeroed`` (.bss) is only memory."""

    machine: str
    file: int
    code: int
    constants: int
    data: int
    zeroed: int

    @property
    def static_data(self) -> int:
        """Memory that is taken from start to end."""
        return self.data + self.zeroed


def program_size(path: Path) -> ProgramSize | None:
    """None where the file is of another form (on systems that do not use ELF); FileError where it
    cannot be read or is damaged."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileError(
            f"cannot be read: {error.strerror or error}", place=Place(str(path))
        ) from None
    if not content.startswith(_MAGIC):
        return None
    try:
        return _measured(content)
    except (struct.error, IndexError):
        raise FileError("not a whole ELF file", place=Place(str(path))) from None


def _measured(content: bytes) -> ProgramSize:
    wide = content[4] == 2
    order = ">" if content[5] == 2 else "<"
    (machine,) = struct.unpack_from(f"{order}H", content, 18)
    # e_shoff; then, behind flags and other sizes, e_shentsize and e_shnum
    (table,) = struct.unpack_from(f"{order}Q" if wide else f"{order}I", content, 40 if wide else 32)
    entry_size, count = struct.unpack_from(f"{order}HH", content, 58 if wide else 46)
    # sh_type, sh_flags, (sh_addr, sh_offset), sh_size
    form = struct.Struct(f"{order}4xIQ16xQ" if wide else f"{order}4xII8xI")
    if table + count * entry_size > len(content):
        raise struct.error("the table of sections is cut short")
    code = constants = data = zeroed = 0
    for place in range(count):
        kind, flags, size = form.unpack_from(content, table + place * entry_size)
        if not flags & _ALLOC:
            continue  # names, notes of the compiler: never loaded
        if flags & _EXECUTE:
            code += size
        elif kind == _NOBITS:
            zeroed += size
        elif flags & _WRITE:
            data += size
        else:
            constants += size
    name = _MACHINES.get(machine, f"machine {machine}")
    return ProgramSize(name, len(content), code, constants, data, zeroed)
