"""Attention, and the ways in which it knows positions."""
