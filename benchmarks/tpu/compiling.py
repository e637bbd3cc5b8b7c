"""Compiles the training step of a Keras model for a TPU that is not there."""

import re
from collections.abc import Mapping
from typing import Any

import jax
import keras
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec

# At the default effort a compilation takes minutes and estimates negative times.
OPTIONS = {"exec_time_optimization_effort": -1.0}
Layout = Mapping[str, tuple[str | None, ...]]
# How weights lie on an axis "model", by their whole paths.
MODEL_PARALLEL: Layout = {
    r".*attention/(query|key|value)/kernel": (None, "model"),
    r".*attention/(query|key|value)/bias": ("model",),
    r".*attention/output_dense/kernel": ("model", None),
    r".*intermediate_dense/kernel": (None, "model"),
    r".*intermediate_dense/bias": ("model",),
    r".*block_\d+/feed_forward/output_dense/kernel": ("model", None),
}


def mesh_of(topology: str, data: int = 1, model: int = 1) -> Mesh:
    """Returns the first devices of a topology, such as `"v5e:2x2"`, as a mesh."""
    found = topologies.get_topology_desc(platform="tpu", topology_name=topology)
    devices = np.array(found.devices[: data * model], dtype=object)
    return Mesh(devices.reshape(data, model), ("data", "model"))


def compile_step(
    model: keras.Model, batch: Any, mesh: Mesh, layout: Layout | None = None
) -> Any:
    """Compiles the step that `fit` runs.

    Args:
        model: A compiled Keras model, under JAX.
        batch: What `fit` is given in a step: nested arrays, whose first axis is split
            over the axis `"data"`.
        mesh: Where it is to run.
        layout: The axes of weights by a pattern of their whole paths; others are
            copied to every device.

    Returns:
        JAX's compiled function.
    """
    # Private, as Keras has no public way to make what the first step of `fit` makes.
    model._symbolic_build(data_batch=batch)
    shape = jax.ShapeDtypeStruct
    state = [
        [
            shape(x.shape, x.dtype, sharding=_sharding(x.path, model, mesh, layout))
            for x in part
        ]
        for part in (
            model.trainable_variables,
            model.non_trainable_variables,
            model.optimizer.variables,
            model.metrics_variables,
        )
    ]
    shardings = jax.tree.map(lambda x: x.sharding, state)
    rows = NamedSharding(mesh, PartitionSpec("data"))
    data = jax.tree.map(lambda x: shape(x.shape, x.dtype, sharding=rows), batch)
    # As `make_train_function` of Keras's JAX trainer has it.
    step = jax.jit(
        model.train_step, donate_argnums=0, out_shardings=(None, tuple(shardings))
    )
    # Layers with a kernel of their own ask Keras how rows and heads are split.
    with _distribution(mesh, layout).scope():
        traced = step.trace(tuple(state), data)
    lowered = traced.lower(lowering_platforms=("tpu",))
    return lowered.compile(compiler_options=OPTIONS)


def _distribution(
    mesh: Mesh, layout: Layout | None
) -> keras.distribution.ModelParallel:
    shape, devices = mesh.devices.shape, mesh.devices.ravel()
    layouts = keras.distribution.LayoutMap(
        keras.distribution.DeviceMesh(shape, mesh.axis_names, devices)
    )
    for pattern, axes in (layout or {}).items():
        layouts[pattern] = axes
    return keras.distribution.ModelParallel(layout_map=layouts, batch_dim_name="data")


def _sharding(
    path: str, model: keras.Model, mesh: Mesh, layout: Layout | None
) -> NamedSharding:
    """Returns where a variable lies; one of the optimizer lies as its weight does."""
    owners = {x.path.replace("/", "_"): x.path for x in model.trainable_variables}
    own = re.sub(r"^[^/]*/|_(momentum|velocity)$", "", path)
    path = owners.get(own, path)
    for pattern, axes in (layout or {}).items():
        if re.fullmatch(pattern, path):
            return NamedSharding(mesh, PartitionSpec(*axes))
    return NamedSharding(mesh, PartitionSpec())


def measures(compiled: Any) -> dict[str, float]:
    """Returns what the compiler says of a step, on one device.

    `"milliseconds"`: its estimate; `"gib"`: the memory that the step needs at once;
    `"gb_moved"`: bytes to and from memory.
    """
    cost, memory = compiled.cost_analysis(), compiled.memory_analysis()
    held = memory.argument_size_in_bytes + memory.temp_size_in_bytes
    held += memory.output_size_in_bytes - memory.alias_size_in_bytes
    return {
        "milliseconds": cost["optimal_seconds"] * 1e3,
        "gib": held / 2**30,
        "gb_moved": cost["bytes accessed"] / 1e9,
    }


def filled(model: keras.Model, rows: int, length: int, words: int) -> dict[str, Any]:
    """Returns arrays for the inputs of a model on ids, by their names."""
    widths = {"masked_positions": words, "mask_positions": words}
    return {
        name: np.zeros((rows, widths.get(name, length)), x.dtype)
        for name, x in model.input.items()
    }
