"""Conversion from and to KerasHub."""
