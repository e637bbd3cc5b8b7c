"""Directories in Hugging Face layout."""
