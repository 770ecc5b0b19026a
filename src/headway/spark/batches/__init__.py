"""A query over a whole recording."""
