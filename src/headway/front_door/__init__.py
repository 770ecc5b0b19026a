"""The front door: compile a query, run it, look at what it gives. ``import headway as hw``."""
