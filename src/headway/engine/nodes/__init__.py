"""A plan as separate processes, one a node, in wall-clock time: see docs/engine-distributed.md."""
