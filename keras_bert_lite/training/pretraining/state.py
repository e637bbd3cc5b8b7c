"""The whole state of a training run, saved so that it goes on exactly."""

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

SETTINGS = "run.json"  # not that of pretraining data, which may lie beside
KEPT = 2  # states that stay; the last one may be broken by a failing disk
SUFFIX = ".safetensors"
CHECKSUM = "crc32"  # in a state's metadata, of all its values
# Options that change what a layer takes of memory and time, and nothing else.
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
    """Trains for a number of steps, from the last save on if there is one.

    Args:
        model: A compiled model.
        batches: Returns the batches from a step on.
        directory: Where the run is saved.
        settings: See `TrainingState`; `steps`, `save_every`, the optimizer's and the
            layers' options and digests of teachers' weights are added.
        steps: In all.
        save_every: Steps between saves, an epoch of `fit`.
        callbacks, **options: See `keras.Model.fit`.

    Returns:
        The history of `fit`.

    Raises:
        ValueError: If `steps` and `save_every` do not fit; as `TrainingState`.
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
    """Returns the steps between saves, no more than `steps`.

    Raises:
        ValueError: If they are not positive, or do not fit.
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
    """Saves a run at the end of each epoch: weights, optimizer, random numbers.

    Frozen teachers (`layers.Teacher`) are not saved.

    A run that is killed at any moment and goes on from its last state ends with
    the same weights as one that was not, if its data go on where they were and
    its operations are deterministic
    (`tf.config.experimental.enable_op_determinism`).

    Args:
        directory: Where the states go.
        settings: What the run was begun with, of JSON's values, others as strings;
            a state of other settings is refused.

    Raises:
        ValueError: If `directory` holds states of other settings, or of another
            model.
    """

    def __init__(self, directory: Path, settings: dict) -> None:
        super().__init__()
        self.directory = directory
        self.settings = json.loads(json.dumps(settings, default=str))

    def restore(self, model: keras.Model) -> int:
        """Puts the last state into a compiled model; returns how many epochs it has.

        A state that is not whole is passed over for the one before, and goes.

        Raises:
            ValueError: If there are states, and none of them is whole.
            OSError: If one cannot be read.
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
                print(f"{other}: is not whole and is passed over: {reason}")
                other.unlink()  # or it would count as the latest
            return int(path.stem)
        if broken:
            raise ValueError(
                "`directory` must hold a state that is whole; to begin anew, delete "
                f"it. Received: {[f'{x}: {reason}' for x, reason in broken.items()]}"
            )
        return 0

    def on_epoch_end(self, epoch, logs=None):
        path = self.directory / f"{epoch + 1:06}{SUFFIX}"
        values = {
            name: keras.ops.convert_to_numpy(variable)
            for name, variable in _variables(self.model).items()
        }
        with replaced_file(path, tidy=False) as beside:
            from safetensors.numpy import save_file  # it is imported late

            save_file(values, beside, {CHECKSUM: _checksum(values)})
            beside.chmod(0o644)  # safetensors lets none but the writer read it
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
                f"{path}: is damaged, so nothing says what the states beside it were "
                f"begun with; to begin anew, delete them. Received: {error}"
            ) from error
        if other := _differences(begun, self.settings):
            raise ValueError(
                "`directory` must be empty, or hold a run of the same settings. "
                f"Received: {str(self.directory)!r}, begun with other (then, now): "
                f"{other}"
            )


def _differences(begun: Any, now: Any, name: str = "") -> dict[str, tuple[Any, Any]]:
    """The values that differ, then and now, by the path of their keys."""
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
    """All that goes on from epoch to epoch, by number: names may be others each time.

    `model.variables` has the states of random number generators, which
    `model.weights` and weights files leave out, and those of metrics, which every
    epoch resets.
    """
    if not model.optimizer.built:  # `LossScaleOptimizer` makes its own each time
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
    """The layers' options, such as rates of dropout and precision, by number and kind.

    Names are left out: they count how many such layers were made before.
    """
    left_out = ("name", *FREE)
    return {
        f"layer {i}, {type(layer).__name__}": {
            k: v for k, v in layer.get_config().items() if k not in left_out
        }
        for i, layer in enumerate(_layers(model))
    }


def _layers(model: keras.Model) -> Iterator[keras.layers.Layer]:
    """The layers of a model, of those in it too."""
    for layer in model.layers:
        inside = layer.model if isinstance(layer, Teacher) else layer
        if isinstance(inside, keras.Model):
            yield from _layers(inside)
        else:
            yield layer


def _teachers(model: keras.Model) -> list[Teacher]:
    return [x for x in sublayers(model) if isinstance(x, Teacher)]


def _digest(layer: keras.layers.Layer) -> str:
    """Tells the weights of one layer from another's."""
    digest = hashlib.sha256()
    for value in layer.get_weights():
        digest.update(value.tobytes())
    return digest.hexdigest()


class NotWhole(Exception):
    """A state whose values are not those that were saved."""


def _read(path: Path) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError, safe_open  # imported late

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
    """Of all values and what they are called."""
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
