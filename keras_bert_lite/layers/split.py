"""How a batch and the columns of a weight are split over devices."""

from typing import Any, NamedTuple

import keras


class Split(NamedTuple):
    """The axes of JAX's `mesh` that split rows and columns, or `None`."""

    mesh: Any
    rows: str | None
    columns: str | None


def split_of(weight: keras.Variable, batch: int, columns: int) -> Split | None:
    """Returns the split of Keras's distribution, or `None` if there is none.

    What an axis does not divide is not split: each of its devices computes all.

    Args:
        weight: Its last axis is the columns.
        batch: The number of rows.
        columns: Into how many parts columns may be cut.
    """
    distribution = keras.distribution.distribution()
    if distribution is None:
        return None
    mesh = distribution.device_mesh.backend_mesh
    axes = distribution.get_variable_layout(weight).axes

    def divides(axis: str | None, count: int) -> bool:
        return axis is not None and count % mesh.shape[axis] == 0

    rows, last = distribution.batch_dim_name, axes[-1]
    return Split(
        mesh,
        rows if divides(rows, batch) else None,
        last if divides(last, columns) else None,
    )
