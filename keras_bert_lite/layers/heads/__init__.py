"""Heads: from an encoder's vectors to logits, and from logits to tags."""
