"""Memory that TensorFlow keeps between training steps."""

import os

VARIABLE = "TF_CPU_ALLOCATOR_USE_BFC"


def keep_memory() -> None:
    """Lets TensorFlow use freed memory again, unless the user has decided.

    Otherwise most arrays of a step get new pages from the system, which clears them:
    up to two fifths of a step on virtual machines. TensorFlow reads the variable when
    it first allocates.
    """
    os.environ.setdefault(VARIABLE, "true")
