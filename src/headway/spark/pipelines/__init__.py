"""Queries as projects of Spark Declarative Pipelines: datasets, files, and what runs in them."""
