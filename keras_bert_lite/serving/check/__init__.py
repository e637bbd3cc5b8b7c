"""Whether a SavedModel can be served: its operations, signatures and batches."""
