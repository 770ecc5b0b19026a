"""The command line: thin, and the only place that prints. One file per command in ``commands``."""

from headway.cli.app import app, main

__all__ = ["app", "main"]
