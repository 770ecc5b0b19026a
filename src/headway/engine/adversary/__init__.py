"""The adversary: looks for the run of a plan in which an output comes as late as it can."""
