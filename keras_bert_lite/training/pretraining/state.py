"""The full state of a training run, saved so that it can resume exactly."""

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_bert_lite._files import remove_left_over, replaced_file, write_text
from keras_bert_lite._private import sublayers
from keras_bert_lite.checks import check_positive
from keras_bert_lite.layers import Teacher
from keras_bert_lite.training.pretraining.data.recipe import nameless

SETTINGS = "run.json"  # pretraining data in the same directory has its own file
KEPT = 2  # states that are kept: a failing disk may corrupt the last one
SUFFIX = ".safetensors"
CHECKSUM = "crc32"  # metadata key; the checksum covers all values
# Layer options that change only memory use and speed.
FREE = ("gradient_checkpointing", "unpadding")


def fit_from_state(
    model: keras.Model,
    batches: Callable[[int], Any],
    directory: str | os.PathLike,
    settings: dict[str, Any],
    steps: int,
    save_every: int,
    callbacks: list[keras.callbacks.Callback],
    **options: Any,
) -> keras.callbacks.History:
    """Trains for a number of steps, resuming from the last save if there is one.

    Args:
        model: A compiled model.
        batches: Takes a step and returns the batches from that step on.
        directory: Where the run is saved.
        settings: See `TrainingState`. `steps`, `save_every`, the options of the
            optimizer and layers, and digests of teachers' weights are added.
        steps: Total number of steps.
        save_every: Steps between saves; this is one epoch of `fit`.
        callbacks, **options: See `keras.Model.fit`.

    Returns:
        The history of `fit`.

    Raises:
        ValueError: If `steps` is not a multiple of `save_every`, or as
            `TrainingState`.
    """
    save_every = check_steps(steps, save_every)
    settings = {**settings, "steps": steps, "save_every": save_every}
    settings["optimizer"] = nameless(keras.optimizers.serialize(model.optimizer))
    settings |= _layer_options(model)
    if teachers := _teachers(model):
        settings["teacher_weights"] = [_digest(x) for x in teachers]
    state = TrainingState(Path(directory), settings)
    done = state.restore(model)
    return model.fit(
        batches(done * save_every),
        epochs=steps // save_every,
        initial_epoch=done,
        steps_per_epoch=save_every,
        shuffle=False,
        callbacks=[*callbacks, state],
        **options,
    )


def check_steps(steps: int, save_every: int) -> int:
    """Returns the number of steps between saves, at most `steps`.

    Raises:
        ValueError: If they are not positive, or `steps` is not a multiple.
    """
    check_positive("steps", steps)
    check_positive("save_every", save_every)
    save_every = min(save_every, steps)
    if steps % save_every:
        raise ValueError(
            f"`steps` must be a multiple of `save_every`. Received: {steps} and "
            f"{save_every}"
        )
    return save_every


class TrainingState(keras.callbacks.Callback):
    """Saves weights, optimizer and random generator states after each epoch.

    Frozen teachers (`layers.Teacher`) are not saved.

    A run may be killed at any moment. Resumed from its last state, it ends with
    the same weights as an uninterrupted run, provided that the data resume at
    the same step and operations are deterministic
    (`tf.config.experimental.enable_op_determinism`).

    Args:
        directory: Where the states are saved.
        settings: The settings of the run, as JSON values; other values are
            converted to strings. States with other settings are refused.

    Raises:
        ValueError: If `directory` holds states of other settings or of another
            model.
    """

    def __init__(self, directory: Path, settings: dict) -> None:
        super().__init__()
        self.directory = directory
        self.settings = json.loads(json.dumps(settings, default=str))

    def restore(self, model: keras.Model) -> int:
        """Restores the last state into a compiled model; returns its epoch count.

        A corrupt state is deleted and the one before it is used.

        Raises:
            ValueError: If there are states, but all of them are corrupt.
            OSError: If a state cannot be read.
        """
        self._check_settings()
        remove_left_over(self.directory)
        variables, broken = _variables(model), {}
        for path in reversed(self._states()):
            try:
                values = _read(path)
            except NotWhole as error:
                broken[path] = str(error)
                continue
            _assign(variables, values, path)
            for other, reason in broken.items():
                print(f"{other}: is corrupt and is skipped: {reason}")
                other.unlink()  # or it would be taken for the latest
            return int(path.stem)
        if broken:
            raise ValueError(
                "`directory` must hold an intact state; to start over, delete it. "
                f"Received: {[f'{x}: {reason}' for x, reason in broken.items()]}"
            )
        return 0

    def on_epoch_end(self, epoch, logs=None):
        path = self.directory / f"{epoch + 1:06}{SUFFIX}"
        values = {
            name: keras.ops.convert_to_numpy(variable)
            for name, variable in _variables(self.model).items()
        }
        with replaced_file(path, tidy=False) as beside:
            from safetensors.numpy import save_file  # imported only when needed

            save_file(values, beside, {CHECKSUM: _checksum(values)})
            beside.chmod(0o644)  # safetensors makes it readable only by its owner
        for old in self._states()[:-KEPT]:
            old.unlink()

    def _states(self) -> list[Path]:
        return sorted(self.directory.glob(f"[0-9]*{SUFFIX}"))

    def _check_settings(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / SETTINGS
        if not self._states():  # nothing would be lost
            write_text(path, json.dumps(self.settings, indent=1))
            return
        if not path.is_file():
            raise ValueError(
                "`directory` must be empty, or hold a run. "
                f"Received: {str(self.directory)!r}, with states and no {SETTINGS}"
            )
        try:
            begun = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(
                f"{path}: is damaged, so the settings of the saved states are "
                f"unknown; to start over, delete them. Received: {error}"
            ) from error
        if other := _differences(begun, self.settings):
            raise ValueError(
                "`directory` must be empty, or hold a run of the same settings. "
                f"Received: {str(self.directory)!r}, begun with other (then, now): "
                f"{other}"
            )


def _differences(begun: Any, now: Any, name: str = "") -> dict[str, tuple[Any, Any]]:
    """Returns the values that differ, (then, now), by the path of their keys."""
    if begun == now:
        return {}
    if not (isinstance(begun, dict) and isinstance(now, dict)):
        return {name: (begun, now)}
    found: dict[str, tuple[Any, Any]] = {}
    for key in sorted(begun.keys() | now.keys()):
        path = f"{name}: {key}" if name else key
        found |= _differences(begun.get(key), now.get(key), path)
    return found


def _variables(model: keras.Model) -> dict[str, keras.Variable]:
    """Returns the variables to save, by number, as names may change between runs.

    `model.variables` includes the states of random number generators, which
    `model.weights` and weights files omit. The variables of metrics are left out,
    since every epoch resets them.
    """
    if not model.optimizer.built:  # `LossScaleOptimizer` adds variables each time
        model.optimizer.build(model.trainable_variables)
    others = [*model.metrics, *_teachers(model)]
    passing = {id(x) for part in others for x in part.variables}
    kept = [x for x in model.variables if id(x) not in passing]
    parts = {"model": kept, "optimizer": model.optimizer.variables}
    return {
        f"{part}/{i:05}": variable
        for part, variables in parts.items()
        for i, variable in enumerate(variables)
    }


def _layer_options(model: keras.Model) -> dict[str, Any]:
    """Returns the layers' options, such as dropout rates, by number and class.

    Names are left out, as they depend on how many layers were created before.
    """
    left_out = ("name", *FREE)
    return {
        f"layer {i}, {type(layer).__name__}": {
            k: v for k, v in layer.get_config().items() if k not in left_out
        }
        for i, layer in enumerate(_layers(model))
    }


def _layers(model: keras.Model) -> Iterator[keras.layers.Layer]:
    """Yields the layers of a model and of the models nested in it."""
    for layer in model.layers:
        inside = layer.model if isinstance(layer, Teacher) else layer
        if isinstance(inside, keras.Model):
            yield from _layers(inside)
        else:
            yield layer


def _teachers(model: keras.Model) -> list[Teacher]:
    return [x for x in sublayers(model) if isinstance(x, Teacher)]


def _digest(layer: keras.layers.Layer) -> str:
    """Returns a digest of a layer's weights."""
    digest = hashlib.sha256()
    for value in layer.get_weights():
        digest.update(value.tobytes())
    return digest.hexdigest()


class NotWhole(Exception):
    """A state that is corrupt: its values are not those that were saved."""


def _read(path: Path) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError, safe_open  # imported only when needed

    try:
        with safe_open(path, "numpy") as file:
            stated = (file.metadata() or {}).get(CHECKSUM)
            values = {x: file.get_tensor(x) for x in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise NotWhole(str(error)) from error
    if stated != _checksum(values):
        raise NotWhole(f"its {CHECKSUM} is {_checksum(values)}, not {stated}")
    return values


def _checksum(values: dict[str, np.ndarray]) -> str:
    """Returns a checksum of all values and their names."""
    result = 0
    for name, value in sorted(values.items()):
        result = zlib.crc32(f"{name} {value.dtype} {value.shape}".encode(), result)
        flat = np.ascontiguousarray(value).reshape(-1)
        result = zlib.crc32(flat.view(np.uint8).data, result)
    return f"{result:08x}"


def _assign(
    variables: dict[str, keras.Variable], values: dict[str, np.ndarray], path: Path
) -> None:
    if variables.keys() != values.keys():
        raise ValueError(
            f"{path}: must be a state of this model, of {len(variables)} tensors. "
            f"Received: {len(values)}"
        )
    for name, variable in variables.items():
        if tuple(variable.shape) != values[name].shape:
            raise ValueError(
                f"{path}: {name!r} must have the shape {tuple(variable.shape)}. "
                f"Received: {values[name].shape}"
            )
    for name, variable in variables.items():
        variable.assign(values[name])
