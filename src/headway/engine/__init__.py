"""The vehicle engine: runs a plan tuple by tuple under a real-time policy."""
