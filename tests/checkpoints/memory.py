"""Memory that loading takes."""

import resource


def peak():
    """MiB of memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
