"""Attention as one kernel for TPUs, with dropout inside (JAX).

`attention.py` registers the implementation `"kernel"` of `compute.attend`; `tpu.py` is
the kernel, `other_devices.py` the same without it, and `masks.py` draws the dropout
masks of both.
"""
