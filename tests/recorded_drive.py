"""The recorded drive in tests: which one their numbers are of, and what is skipped without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway_studies.beyond.recorded_segment import lacks, recording, segment_directory

DOCUMENTED = "60737c0f3f54e741"
"""the recording whose numbers are in docs/ and in tests, as ``recording()`` tells it"""
FOUND = recording()
SEGMENT = segment_directory() or Path("no recording")
"""only for tests that need a drive"""

needs_a_drive = pytest.mark.skipif(FOUND is None, reason=str(lacks()))
"""for what holds on any segment of such a car"""
needs_the_documented_drive = pytest.mark.skipif(
    FOUND != DOCUMENTED,
    reason=lacks() or f"the numbers are of recording {DOCUMENTED}; {SEGMENT} has recording {FOUND}",
)
