"""Pass: the verdict on every output's deadline. See :mod:`headway.compiler.latency.verdict`."""

from __future__ import annotations
