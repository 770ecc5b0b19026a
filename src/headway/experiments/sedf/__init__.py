"""The worked example and the basic study of S-EDF."""
