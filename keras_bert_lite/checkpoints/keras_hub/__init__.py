"""The exchange with KerasHub."""
