"""Studies of questions that no paper answers."""
