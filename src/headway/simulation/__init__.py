"""The nodes of a car in one process, in a world that one seed decides."""
