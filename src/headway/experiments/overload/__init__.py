"""Task sets in overload: the studies of ROP-EDF."""
