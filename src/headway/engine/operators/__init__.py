"""The operators on the vehicle: rows in, rows out."""
