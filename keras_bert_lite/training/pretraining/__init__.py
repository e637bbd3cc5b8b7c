"""Pretraining: from text files to data, from data to an encoder."""
