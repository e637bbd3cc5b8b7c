"""Which precision suits the devices."""

import warnings

import keras


def warn_of_slow_float16() -> None:
    """Warns, before training in float16, if there are only CPUs."""
    if keras.backend.backend() == "torch":  # has no list of devices
        return
    if keras.distribution.list_devices()[0].lower().startswith("cpu"):
        warnings.warn(
            "float16 is several times slower than float32 on CPUs; use "
            '`keras.config.set_dtype_policy("mixed_bfloat16")`, or float32. '
            "Received: the policy `mixed_float16` and no GPU",
            stacklevel=3,
        )
