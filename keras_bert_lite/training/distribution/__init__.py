"""Devices and hosts: what is there, and how a model and its batches lie on them."""
