"""Where DataFrames come from besides recordings: CAN logs, Kafka; and what keeps bad files out."""
