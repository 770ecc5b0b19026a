"""A query in a car's own networks: tuples come as messages of MQTT, Zenoh, Kafka or CAN, outputs
leave as such."""
