"""Refuses an environment in which TensorFlow looks for a Keras 2 that is missing.

TensorFlow Text takes its layers from `tf.keras`, so it could not be imported, and the
error would only say that Keras cannot be imported. transformers 4 sets the variable.
"""

import importlib.util
import os
import sys

if (
    os.environ.get("TF_USE_LEGACY_KERAS") in ("true", "True", "1")
    and "tensorflow_text" not in sys.modules
    and importlib.util.find_spec("tf_keras") is None
):
    raise ImportError(
        "TensorFlow cannot find Keras 2, which the environment variable "
        "TF_USE_LEGACY_KERAS demands: unset the variable before TensorFlow is "
        "imported, or `pip install tf_keras`. "
        f"Received: TF_USE_LEGACY_KERAS={os.environ['TF_USE_LEGACY_KERAS']}"
    )
