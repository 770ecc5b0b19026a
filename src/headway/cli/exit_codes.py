"""What the exit code of a command means."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    FINE = 0
    NOT_PROMISED = 1
    """A deadline cannot be promised, or a hard one was missed in a run."""
    BAD_INPUT = 2
    """Something in a file or on the command line is wrong, or the machine lacks something."""
    BUG = 70
    """An error in Headway itself (EX_SOFTWARE of sysexits.h); no input may lead here."""
    INTERRUPTED = 130
    """Ctrl-C, as shells count it."""
    NO_READER = 141
    """Whoever read the output has gone, as shells count it (``headway … | head``)."""
