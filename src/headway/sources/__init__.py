"""Where tuples come from: recordings and live inputs."""
