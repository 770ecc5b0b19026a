"""Plans as DataFrames: what batch and stream share."""
