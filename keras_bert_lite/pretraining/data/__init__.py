"""Writing pretraining data from text files, and reading it for `model.fit`."""
