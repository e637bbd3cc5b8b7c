"""Training that goes on where it was: the state of a run, its files and its log."""
