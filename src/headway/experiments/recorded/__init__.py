"""The recorded drive: where it lies, what is run on it, what it shows."""
