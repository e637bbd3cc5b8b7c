"""Files of tokenizers."""
