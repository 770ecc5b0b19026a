"""Settings: what people type, and what a run asks of its session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headway.errors import InputError, Problem

PARTITIONS = "spark.sql.shuffle.partitions"
CHECKPOINTS = "spark.sql.streaming.checkpointFileManagerClass"
_BY_RENAMING = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)


def run_conf(policy: str, conf: Mapping[str, str]) -> dict[str, str]:
    """``edf`` needs pools, which are Spark's FAIR scheduler; the user's own settings win."""
    return {
        **({"spark.scheduler.mode": "FAIR"} if policy == "edf" else {}),
        # Half the time of a micro-batch goes into its checkpoint files otherwise.
        CHECKPOINTS: _BY_RENAMING,
        "spark.sql.streaming.metricsEnabled": "false",
        **conf,
    }


def parse_options(given: Iterable[str], option: str) -> dict[str, str]:
    """``['a=1']`` -> ``{'a': '1'}``; InputError where there is no ``=``."""
    pairs = [(text, text.partition("=")) for text in given]
    if wrong := [text for text, (key, sign, _) in pairs if not sign or not key.strip()]:
        raise InputError(
            Problem("not a setting", at=option, got=text, want="write KEY=VALUE") for text in wrong
        )
    return {key.strip(): value for _, (key, _, value) in pairs}
