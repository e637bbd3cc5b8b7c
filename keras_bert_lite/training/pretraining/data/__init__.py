"""From text files to pretraining data, and from there to `model.fit`."""
