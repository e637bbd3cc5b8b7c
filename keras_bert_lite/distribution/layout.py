"""How the weights of a model are cut over the devices of a mesh."""

import re
from collections.abc import Mapping

import keras

BATCH, MODEL = "batch", "model"  # the axes of a mesh
Axes = tuple[str | None, ...]

COLUMNS, ROWS, BIAS = (None, MODEL), (MODEL, None), (MODEL,)
# Names of a block's sublayers: those whose outputs are cut, and those that add up the
# parts. One sum in attention and one in the feed-forward network is all that a block's
# devices exchange.
CUT = (
    "attention/(query|key|value|position_query|position_key)",
    "feed_forward/(intermediate_dense|gate_dense)",
)
SUMMED = ("attention/output_dense", "feed_forward/output_dense")


def default_layout() -> dict[str, Axes]:
    """Returns the layout of weights that `setup(model=...)` uses.

    It is that of [Megatron-LM](https://arxiv.org/abs/1909.08053): in each block, the
    queries, keys and values and the wide layer of the feed-forward network are cut by
    their outputs, so by attention heads, and the two layers behind them by their
    inputs. The embeddings of tokens are cut by width, not by vocabulary, since few
    vocabularies divide (the 30,522 pieces of BERT do not by 4). All other weights are
    on every device: the other embeddings, norms, pooler and heads.

    Returns:
        Axes of a mesh (`"model"`, or `None`) by the paths of weights, as a
        `keras.distribution.LayoutMap` takes them: a key is a regular expression that
        must match the whole path.

    Example:

    >>> kbl.distribution.default_layout()[".*embeddings/token_embedding/embeddings"]
    (None, 'model')
    """
    layout: dict[str, Axes] = {".*embeddings/token_embedding/embeddings": COLUMNS}
    for name in CUT:
        layout[rf".*block_\d+/{name}/kernel"] = COLUMNS
        layout[rf".*block_\d+/{name}/bias"] = BIAS
    for name in SUMMED:
        layout[rf".*block_\d+/{name}/kernel"] = ROWS
    return layout


def check_axes(path: str, shape: tuple[int, ...], axes: Axes, mesh) -> None:
    """Refuses a layout that does not fit a weight.

    Args:
        path, shape: Of the weight.
        axes: The axis of the mesh by which each of its axes is cut.
        mesh: A `keras.distribution.DeviceMesh`.

    Raises:
        ValueError: If it does not fit.
    """
    if len(axes) != len(shape):
        raise ValueError(
            f"`layout` must name an axis, or None, for each of the {len(shape)} axes "
            f"of {path!r}, of shape {tuple(shape)}. Received: {axes}"
        )
    sizes = dict(zip(mesh.axis_names, mesh.shape, strict=True))
    for size, axis in zip(shape, axes, strict=True):
        if axis is not None and size % sizes[axis]:
            raise ValueError(
                f"`layout` must cut {path!r}, of shape {tuple(shape)}, into equal "
                f"parts, and {size} does not divide by the {sizes[axis]} devices of "
                f"the axis {axis!r}; cut another axis, as `default_layout` cuts "
                f"embeddings by width. Received: {axes}"
            )


def check_keys(layout: Mapping[str, Axes], model: keras.Model) -> None:
    """Refuses a key of a layout that matches no weight of the model.

    Raises:
        ValueError: If there is one.
    """
    paths = [variable.path for variable in model.variables]
    for key in layout:
        if not any(re.fullmatch(key, path) for path in paths):
            raise ValueError(
                "Each key of `layout` must match the whole path of a weight, such as "
                f"{paths[0]!r}. Received: {key!r}, which matches none of the "
                f"{len(paths)} weights of {model.name!r}"
            )
