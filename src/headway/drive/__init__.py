"""A query tried in simulated traffic: drives, what came of them, and fleets that drive."""
