"""A compiled query as picture, page and tables."""
