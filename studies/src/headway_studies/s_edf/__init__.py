"""Studies of the S-EDF paper."""
