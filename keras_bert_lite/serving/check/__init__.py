"""Checks that a SavedModel can be served: operations, signatures and batching."""
