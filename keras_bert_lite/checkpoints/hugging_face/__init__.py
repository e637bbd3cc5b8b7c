"""Loading and saving directories in Hugging Face layout."""
