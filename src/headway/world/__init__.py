"""The world around the vehicle: traffic, radio and sensors, simulated, and what a drive records."""
