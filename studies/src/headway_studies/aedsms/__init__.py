"""Studies of the AEDSMS paper: the collision warning."""
