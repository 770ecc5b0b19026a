"""Results to pictures, tables and pages: pure functions of finished values, no simulation."""
