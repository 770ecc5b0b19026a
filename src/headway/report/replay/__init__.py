"""A drive as a page to play."""
