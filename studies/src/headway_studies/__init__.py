"""The studies of the four papers and beyond, run with Headway: ``headway reproduce``."""
