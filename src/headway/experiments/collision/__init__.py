"""The collision-warning study: the compiled query in a simulated world, and what came of it."""
