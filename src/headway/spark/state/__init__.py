"""What a stream on Spark keeps between two micro-batches, and what a task does with it."""
