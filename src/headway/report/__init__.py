"""Results to pictures, tables and pages. Pure functions of finished values; nothing is simulated."""
