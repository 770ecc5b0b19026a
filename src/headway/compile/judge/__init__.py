"""Pass: the verdict on every output's deadline. See :mod:`headway.compile.judge.verdict`."""
