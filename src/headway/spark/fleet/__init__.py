"""A vehicle engine for each vehicle of a fleet."""
