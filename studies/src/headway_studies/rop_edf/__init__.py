"""Studies of the ROP-EDF paper: overload."""
