"""The studies of the collision warning on a short drive: a second of computing instead of ten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.drive.short_drives import SHORT

from headway_studies.aedsms import collision_drives


@contextmanager
def studies_on_short_drives() -> Iterator[None]:
    """Cells of the collision studies drive the short way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collision_drives, "SCENARIO", SHORT)
        forget_drives()
        yield
    forget_drives()


def forget_drives() -> None:
    """What cells computed so far is not used again."""
    collision_drives.drive.cache_clear()
    collision_drives.driven.cache_clear()
