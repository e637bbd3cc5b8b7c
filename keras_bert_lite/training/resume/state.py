"""The full state of a training run, saved so that it can resume exactly."""

import contextlib
import functools
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import keras
import numpy as np

from keras_bert_lite._files import remove_left_over, to_json, write_text
from keras_bert_lite._finite import is_finite
from keras_bert_lite._private import sublayers
from keras_bert_lite.checks import check_positive
from keras_bert_lite.layers import Teacher
from keras_bert_lite.training import hosts
from keras_bert_lite.training.divergence import Diverged, StopAtDivergence
from keras_bert_lite.training.optimizers import build_optimizer
from keras_bert_lite.training.resume.files import (
    NotWhole,
    Values,
    read_state,
    state_path,
    state_paths,
    step_of,
    write_state,
)
from keras_bert_lite.training.resume.log import (
    Journal,
    RunLog,
    Work,
    devices,
    versions,
)
from keras_bert_lite.training.resume.settings import nameless

SETTINGS = "run.json"  # pretraining data in the same directory has its own file
WEIGHTS = "model/"  # what the names of the model's values in a state begin with
KEPT = 2  # states that are kept: a failing disk may corrupt the last one
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
    work: Work | None = None,
    temporary: bool = False,
    **options: Any,
) -> keras.callbacks.History:
    """Trains for a number of steps, resuming from the last save if there is one.

    Args:
        model: A compiled model.
        batches: Takes a step and returns the batches from that step on.
        directory: Where the run is saved. No other run may use it meanwhile.
        settings: See `TrainingState`. `steps`, `save_every`, the options of the
            optimizer and layers, and digests of teachers' weights are added.
        steps: Total number of steps.
        save_every: Steps between saves; this is one epoch of `fit`.
        callbacks, **options: See `keras.Model.fit`.
        work: What a step does, to log its speed; see `RunLog`.
        temporary: Whether the directory is deleted when the process ends, so that no
            run can go on from it.

    Returns:
        The history of `fit`.

    Raises:
        ValueError: If `steps` is not a multiple of `save_every`, another run uses
            `directory`, processes differ in versions or settings, or as
            `TrainingState.restore`.
        Diverged: If the loss or a weight is not finite. No such state is saved.
    """
    save_every = check_steps(steps, save_every)
    settings = {**settings, "steps": steps, "save_every": save_every}
    settings["optimizer"] = nameless(keras.optimizers.serialize(model.optimizer))
    settings |= _layer_options(model)
    if teachers := _teachers(model):
        settings["teacher_weights"] = [weights_digest(x) for x in teachers]
    hosts.all_equal("versions", versions())
    hosts.all_equal("settings", settings)
    with contextlib.ExitStack() as stack:
        write = _journal(Path(directory), model, stack)
        stop = stack.enter_context(hosts.StopRequest())
        state = TrainingState(
            Path(directory), settings, save_every, stop, write, temporary
        )
        stack.enter_context(hosts.Watch(stop, state.finish))
        stack.callback(state.close)
        done = state.restore(model)
        if work is not None:
            log = RunLog(work, save_every, write, lambda: state.blocked)
            callbacks, batches = [log, *callbacks], log.timed(batches)
        callbacks = [StopAtDivergence(), *callbacks, state]
        given = {**options, "shuffle": False, "callbacks": callbacks}
        return _fit(model, batches, done, steps, save_every, given)


def _journal(
    directory: Path, model: keras.Model, stack: contextlib.ExitStack
) -> Callable[..., None]:
    """Opens the journal, which the first process has; returns what writes to it."""
    journals = []

    def begin() -> None:
        device, count = devices(model)
        facts = {"versions": versions(), "device": device, "devices": count}
        journals.append(Journal(directory, processes=hosts.process_count(), **facts))
        stack.callback(journals[0].close)

    hosts.on_first(begin)
    return journals[0].write if journals else lambda *_, **__: None


def _fit(
    model: keras.Model,
    batches: Callable[[int], Any],
    done: int,
    steps: int,
    save_every: int,
    options: dict[str, Any],
) -> keras.callbacks.History:
    """Trains from a step on; an epoch begun before has a `fit` of its own."""
    fit = functools.partial(model.fit, **options)
    epoch, behind = divmod(done, save_every)
    if not behind:
        ends = {"initial_epoch": epoch, "epochs": steps // save_every}
        return fit(batches(done), steps_per_epoch=save_every, **ends)
    ends = {"initial_epoch": epoch, "epochs": epoch + 1}
    first = fit(batches(done), steps_per_epoch=save_every - behind, **ends)
    done += save_every - behind
    if model.stop_training or done == steps:
        return first
    rest = _fit(model, batches, done, steps, save_every, options)
    rest.epoch = first.epoch + rest.epoch
    rest.history = {k: first.history.get(k, []) + x for k, x in rest.history.items()}
    return rest


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

    Training goes on while a thread writes them, from memory that is taken when
    training begins and kept. Frozen teachers (`layers.Teacher`) are not saved. On
    SIGTERM it saves at the end of the step and ends the run as Ctrl-C does.

    A run may be killed at any moment. Resumed from its last state, it ends with
    the same weights as an uninterrupted run, provided that the data resume at
    the same step and operations are deterministic
    (`tf.config.experimental.enable_op_determinism`).

    With several processes only the first one reads and writes files. Values are saved
    whole, so that a run may resume on other devices.

    Args:
        directory: Where the states are saved.
        settings: The settings of the run, as JSON values; other values are
            converted to strings. States with other settings are refused.
        save_every: Steps of each epoch.
        stop: Tells when to end.
        write: Writes an event of the journal.
        temporary: Whether `directory` is deleted when the process ends.
    """

    def __init__(
        self,
        directory: Path,
        settings: dict,
        save_every: int,
        stop: hosts.StopRequest,
        write: Callable[..., None],
        temporary: bool = False,
    ) -> None:
        super().__init__()
        self._temporary = temporary
        self.directory, self.save_every = directory, save_every
        self.settings = json.loads(json.dumps(settings, default=str))
        self.blocked = 0.0  # seconds, by the last save
        self._stop, self._journal = stop, write
        self._writer = ThreadPoolExecutor(1)
        self._writing: Future | None = None
        self._room: Values = {}
        self._begin = 0

    def restore(self, model: keras.Model) -> int:
        """Restores the last state into a compiled model; returns its step.

        A corrupt state is deleted and the one before it is used.

        Raises:
            ValueError: If there are states, but all of them are corrupt, or of
                other settings or of another model.
            OSError: If a state cannot be read.
        """
        variables, values = _variables(model), {}

        def read() -> int:
            self._check_settings()
            remove_left_over(self.directory)
            step, found = self._last_whole(variables)
            values.update(found)
            return step

        self._begin = step = hosts.on_first(read)
        if step:
            for name, variable in variables.items():
                variable.assign(hosts.from_first(values.pop(name, None), variable))
        return step

    def finish(self) -> None:
        """Waits until the last state is written; raises what made that fail."""
        writing, self._writing = self._writing, None
        if writing is not None:
            writing.result()

    def close(self) -> None:
        """Ends the thread, as `finish`."""
        self._writer.shutdown()
        self.finish()

    def on_train_begin(self, logs=None):
        if hosts.process_index() == 0 and not self._room:
            self._writing = self._writer.submit(self._make_room)

    def _make_room(self) -> None:
        """Takes the memory that values are copied into.

        The first time that memory is touched takes longer than the copy.
        """
        for name, variable in _variables(self.model).items():
            self._room[name] = np.empty(tuple(variable.shape), variable.dtype)
            self._room[name].fill(0)

    def on_epoch_begin(self, epoch, logs=None):
        self._begin = max(self._begin, epoch * self.save_every)

    def on_train_batch_end(self, batch, logs=None):
        if self._writing is not None and self._writing.done():
            self.finish()
        step = self._begin + batch + 1
        # The last step of an epoch is saved behind its validation.
        if self._stop.reached(step) and step % self.save_every:
            if keras.backend.backend() == "jax":
                self.model.jax_state_sync()
            self._end_at(step)

    def on_epoch_end(self, epoch, logs=None):
        step = (epoch + 1) * self.save_every
        self._save(step)
        if self._stop.received:
            self._end_at(step, saved=True)

    def _end_at(self, step: int, saved: bool = False) -> None:
        if not saved:
            self._save(step)
        self.finish()
        self._journal("interrupted", step=step)
        saved_in = (
            f"saved after step {step} in {str(self.directory)!r}. Begun again, the run "
            "goes on from there."
        )
        lost = f"ended after step {step}. No `directory` was given, so nothing is kept."
        print(f"\nSIGTERM: {lost if self._temporary else saved_in}", flush=True)
        raise KeyboardInterrupt

    def _save(self, step: int) -> None:
        begin = time.perf_counter()
        self.finish()
        first = hosts.process_index() == 0
        values = {}
        for name, variable in _variables(self.model).items():
            value = hosts.on_host(variable, self._room.get(name))
            if first:
                values[name] = value
        if first:
            self._writing = self._writer.submit(self._write, step, values)
        self.blocked = time.perf_counter() - begin

    def _write(self, step: int, values: Values) -> None:
        begin = time.perf_counter()
        for name, value in values.items():
            if name.startswith(WEIGHTS) and not is_finite(value):
                found = f"NaN or infinity in a weight after step {step}"
                raise Diverged(found, self.model.optimizer)
        write_state(state_path(self.directory, step), values)
        for old in state_paths(self.directory)[:-KEPT]:
            old.unlink()
        self._journal("saved", step=step, write_seconds=time.perf_counter() - begin)

    def _last_whole(self, variables: dict[str, keras.Variable]) -> tuple[int, Values]:
        """Returns the last state that is whole, and its step; 0 without states."""
        broken = {}
        for path in reversed(state_paths(self.directory)):
            try:
                values = read_state(path)
            except NotWhole as error:
                broken[path] = str(error)
                continue
            _check_fits(variables, values, path)
            for other, reason in broken.items():
                print(f"{other}: is corrupt and is skipped: {reason}")
                other.unlink()  # or it would be taken for the latest
            return step_of(path), values
        if broken:
            raise ValueError(
                "`directory` must hold an intact state; to start over, delete it. "
                f"Received: {[f'{x}: {reason}' for x, reason in broken.items()]}"
            )
        return 0, {}

    def _check_settings(self) -> None:
        path = self.directory / SETTINGS
        if not state_paths(self.directory):  # nothing would be lost
            write_text(path, to_json(self.settings, indent=1))
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
    build_optimizer(model)
    others = [*model.metrics, *_teachers(model)]
    passing = {id(x) for part in others for x in part.variables}
    kept = [x for x in model.variables if id(x) not in passing]
    parts = {WEIGHTS: kept, "optimizer/": model.optimizer.variables}
    return {
        f"{part}{i:05}": variable
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


def weights_digest(layer: keras.layers.Layer) -> str:
    """Returns a digest of a layer's weights."""
    digest = hashlib.sha256()
    for weight in layer.weights:
        digest.update(hosts.on_host(weight).tobytes())
    return digest.hexdigest()


def _check_fits(
    variables: dict[str, keras.Variable], values: Values, path: Path
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
