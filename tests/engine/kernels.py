"""The kernel behind a result, for tests that look inside."""

from __future__ import annotations

from headway.engine.kernel import Kernel
from headway.engine.results import RunResult


def kernel_of(result: RunResult) -> Kernel:
    """That of the Python engine, which can be asked for more than counts."""
    assert isinstance(result.kernel, Kernel)
    return result.kernel
