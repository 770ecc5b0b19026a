"""Task sets under overload: a fast job-level kernel in virtual time, and what comes with it."""
