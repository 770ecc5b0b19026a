"""Getting to a Spark that can run: Java, session, workers, slots, packages for a cluster."""
