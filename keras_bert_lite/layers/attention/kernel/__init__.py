"""Attention as one kernel for TPUs, with dropout inside (JAX).

`attention.py` is the function that a layer calls, `tpu.py` the kernel, `plain.py` the
same for other devices, and `masks.py` draws the dropout masks of both.
"""
