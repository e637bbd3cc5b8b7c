"""Fine-tuning in one call."""

import dataclasses
import functools
import math
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import keras

from keras_bert_lite._finite import check_finite_weights
from keras_bert_lite._private import without_traced_gradients
from keras_bert_lite.checkpoints.load import load_encoder, load_preprocessor
from keras_bert_lite.checkpoints.sources import Source, resolve
from keras_bert_lite.checks import (
    check_above_zero,
    check_choice,
    check_positive,
    check_seed,
)
from keras_bert_lite.distribution.strategies import check_strategy
from keras_bert_lite.finetuning.course.plan import (
    Plan,
    batch_size_for,
    epochs_for,
    rate_for,
)
from keras_bert_lite.finetuning.course.run import Run, check_run_directory, folder_of
from keras_bert_lite.finetuning.course.trainer import Trainer
from keras_bert_lite.finetuning.kinds import KINDS, Kind
from keras_bert_lite.finetuning.kinds.base import Labels, Rows
from keras_bert_lite.finetuning.lengths import (
    Lengths,
    count_tokens,
    lengths_of,
    limit_for,
    shorten,
)
from keras_bert_lite.finetuning.report import beaten_by, save_run
from keras_bert_lite.finetuning.rows import (
    Split,
    check_labels,
    read_rows,
    sample,
    split,
)
from keras_bert_lite.layers.heads.dense_heads import check_labels as check_names
from keras_bert_lite.models.encoder_model import config_of, encoder_of
from keras_bert_lite.tasks.registry import TASKS
from keras_bert_lite.tasks.text_model import TextModel
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.text_layer import require_tensorflow
from keras_bert_lite.training.data.readers.read import Reading, check_reading
from keras_bert_lite.training.data.truncation import unwarned
from keras_bert_lite.training.linear_model import FOLDS, JUDGED
from keras_bert_lite.training.precision import warn_of_slow_float16

ENCODER = "bert_mini_books"
PAIRS = ("auto", "together", "apart")
DEEP = 12  # blocks from which on lower ones learn more slowly
LAYER_DECAY = 0.9


@dataclasses.dataclass(frozen=True)
class FineTuned:
    """What `finetune` returns.

    Args:
        model: The model on token ids, made by the task's builder.
        text_model: The model that takes strings, with the chosen thresholds.
        preprocessor: Makes the ids.
        report: What is in `report.json`: data, recipe, scores and so on.
    """

    model: keras.Model
    text_model: TextModel
    preprocessor: Preprocessor
    report: dict[str, Any]


def finetune(
    task: str,
    train: Any,
    validation: Any = None,
    encoder: str | os.PathLike = ENCODER,
    directory: str | os.PathLike | None = None,
    *,
    minutes: float | None = None,
    epochs: float | None = None,
    learning_rate: float | None = None,
    batch_size: int | None = None,
    sequence_length: int | None = None,
    labels: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    pairs: str = "auto",
    metric: str | None = None,
    class_weight: str | Mapping[str, float] | None = None,
    baseline: bool = True,
    columns: Mapping[str, str | None] | None = None,
    seed: int = 0,
    verbose: str | int = "auto",
    **reading: Unpack[Reading],
) -> FineTuned:
    """Fine-tunes an encoder for a task, and says how good it is.

    Some rows are held out, unless `validation` is given; numbers of rows below are of
    the others.

    1. The head starts from a linear model of the encoder's vectors
       (`tuning.warm_start`), and of their cosine, if texts are compared; if not, it is
       made less sure of a text's labels.
    2. All weights are trained with Keras's `fit`. If some questions have no answer, the
       first half of training reads the others only.
    3. The last weights are kept whose score on the held-out rows is within a standard
       error of the best, or those of the linear model, if they are surely better. With
       fewer than 100 pairs, or fewer than 1,000 rows with a label or choices that are
       compared, the linear model is kept unless training made it surely better.
    4. Probabilities of labels are calibrated by a temperature, from 50 held-out rows
       on, and thresholds chosen. Tags are the best that their scheme allows
       (`EntityAnswer`'s `decoding`).
    5. Below 1,000 rows, the model is trained again on all of them and on those held
       out, with the whole schedule, unless `validation` is given.

    With up to 64 rows a label, a classifier of texts first learns from pairs of them
    whether their labels are the same, if the held-out rows are then answered better.
    With up to 16, and 128 rows in all, it does so unless the held-out rows are then
    answered surely worse, and step 2 is left out, unless `epochs` is given.

    The report compares the score with that of simple models, such as logistic
    regression on TF-IDF.

    Args:
        task: `"text_classification"`, `"multi_label_classification"`,
            `"regression"`, `"token_classification"`, `"intent_and_slots"`,
            `"question_answering"` or `"multiple_choice"`.
        train: Rows: a file, a DataFrame, a list of dictionaries; see `data.read`.
            They are held in memory.
        validation: Held-out rows; `None`: a tenth of `train`, at least 200 of them
            or a quarter, at most 2,000.
        encoder: A checkpoint; see `load_encoder`.
        directory: Where the run is saved: the model as `model.keras` and as a
            SavedModel, `report.json` and a model card. What was interrupted goes on
            if it is called again with the same arguments. `None`: nothing is saved.
        minutes: How long it may take, from the first training step, which is
            traced, to the end; if the least that is possible is more, a warning says so
            once that step is timed. The linear model then reads as many rows as take a
            quarter of it, if there are more. `None`: as long as the recipe takes. More
            time than that is not used.
        epochs: Passes over the rows; `None`: 10 for up to 100 rows, falling to 1
            above 10,000; twice as many for tags and several labels.
        learning_rate: The peak rate; `None`: 1e-4 at width 384, less for wider
            encoders; twice as much for tags, several labels and answers to questions.
        batch_size: Rows of a step, at most all of them; `None`: 16 below 500 rows,
            else 32; 8 for answers to questions.
        sequence_length: The most tokens that the model reads of a row; `None`: the
            shortest length from 128 to 512 that holds 99 % of the rows, or twice the
            longest of fewer than 200, if the encoder reads as many.
        labels: The names of the labels in their order; for intents and slots a
            dictionary of `intents` and `slots`. `None`: those in the rows, sorted.
        pairs: How the two texts of a pair, or a text and each choice, are read:
            `"together"`, in one row, or `"apart"`, each by itself, so that their
            vectors are compared (see `compare` of `text_classifier`). `"auto"`: apart,
            unless linear models of the vectors of up to 4,000 rows (1,000 if `minutes`
            is given) have a surely smaller loss together, in cross-validation; choices
            of 300 rows or more are read together.
        metric: The score on the held-out rows that decides which weights are kept,
            one of those that `evaluate` gives. `None`: accuracy; micro F1 for several
            labels; Spearman's correlation; F1 of entities (accuracy of other tags);
            texts whose intent and slots are all right; F1 of answers.
        class_weight: Weights of the labels in training, for text classification:
            a dictionary by label, where others count 1, or `"balanced"`: in inverse
            proportion to how many rows have them. `None`: each row counts the same.
        baseline: Whether simple models are fitted, for comparison.
        columns: The names of the columns that are not called `text`, `text_pair` (if
            the rows have it; `{"text_pair": None}` leaves it out) and `label` (texts);
            `words`, `tags` and `intent`; `question`, `context` and `answers`; or
            `text`, `choices` and `label`: `{"text": "sentence"}`.
        seed: Of the held-out rows, their order and dropout; from 0 to 2**32 - 1.
        verbose: As in `keras.Model.fit`, whose epochs are the steps between two
            evaluations here.
        **reading: Options of `data.read`, for `train` and `validation`, if they are
            files.

    Returns:
        A `FineTuned`: the models and the report.

    Warns:
        UserWarning: If training diverges (its loss, a weight or a score is NaN or
            infinite): it ends there, the best weights before are kept, and the message,
            which the report has as `diverged`, names the learning rate.

    Raises:
        ValueError: If an argument or a row is invalid, a weight of the encoder is not
            finite, `directory` holds another run that was interrupted, or training
            diverges before it has better weights than random ones.
        FileExistsError: If `directory` holds a finished run, or files of others.
        NotImplementedError: If the backend is not TensorFlow, or under a strategy of
            `tf.distribute` that Keras 3 does not support.

    Example:

    >>> rows = [{"text": f"{x} day", "label": y} for x, y in
    ...         [("lovely", "good"), ("awful", "bad")] * 8]
    >>> tuned = kbl.finetune("text_classification", rows, rows, epochs=1, verbose=0)
    >>> sorted(tuned.text_model.predict(["a lovely day"], verbose=0))
    ['label', 'scores']

    Reference: [Kumar et al., 2022](https://arxiv.org/abs/2202.10054), linear probing,
    then fine-tuning; [Tunstall et al., 2022](https://arxiv.org/abs/2209.11055), pairs;
    [Guo et al., 2017](https://arxiv.org/abs/1706.04599), temperature.
    """
    _check_arguments(task, pairs, batch_size, seed, directory)
    _check_given(minutes=minutes, epochs=epochs, learning_rate=learning_rate)
    check_reading(reading)
    began = time.monotonic()
    source = resolve(encoder, "encoder")
    kind = KINDS[task](**(columns or {}))
    if metric is not None:
        check_choice("metric", metric, kind.metrics)
        kind.metric = metric
    rows = read_rows(train, kind, "train", **reading)
    held_out = None
    if validation is not None:
        held_out = read_rows(validation, kind, "validation", **reading)
    keras.utils.set_random_seed(seed)
    names = _labels(kind, labels, [*rows, *(held_out or [])])
    if labels is not None:
        check_labels(rows, kind, names, "train")
        check_labels(held_out or [], kind, names, "validation")
    parts = split(rows, held_out, seed)
    kind.apart = _asked_apart(kind, pairs)
    preprocessor, lengths = _preprocessor(kind, source, rows, sequence_length)
    make = functools.partial(_trainer, kind, source, names, preprocessor)
    undecided = pairs == "auto" and len(rows) > 1 and kind.undecided(parts.train)
    if undecided:
        judges = FOLDS * JUDGED if minutes is None else JUDGED
        trainer = _better(make, kind, sample(rows, judges, seed))
    else:
        trainer = make()
    if class_weight is not None:
        trainer.class_weight = kind.class_weights(class_weight, parts.train, names)
    if undecided and kind.apart:  # they were counted as read together
        lengths = lengths_of(count_tokens(rows, kind, preprocessor), lengths.limit)
    plan = _plan(trainer, len(parts.train), epochs, learning_rate, batch_size, seed)
    report: dict[str, Any] = {
        "task": task,
        "encoder": str(encoder),
        "columns": kind.column,
        "labels": names,
        "rows": {"train": len(parts.train), "validation": len(parts.validation)},
        "lengths": lengths._asdict(),
        "metric": kind.metric,
        "class_weight": trainer.class_weight,
        "apart": kind.apart,
    }
    if lengths.cut:
        most = config_of(encoder_of(trainer.model)).max_sequence_length
        _warn_of_cut_rows(lengths, len(rows), TASKS[task].windowed, most)
    with unwarned(), without_traced_gradients(), folder_of(directory) as folder:
        shortened = Split(
            shorten(parts.train, kind, preprocessor),
            shorten(parts.validation, kind, preprocessor),
            parts.given,
        )
        run = Run(trainer, shortened, folder, minutes, directory is not None, verbose)
        whole = parts if baseline else None
        report |= run.train(plan, whole, pairs_alone=epochs is None)
        report["minutes"] = round((time.monotonic() - began) / 60, 2)
        if simple := beaten_by(report):
            _warn_of_simple_models(report, simple)
        text_model = kind.served_model(
            trainer.model, trainer.preprocessor, **report["options"]
        )
        if directory is not None:
            save_run(text_model, report, folder)
            run.tidy()
    return FineTuned(trainer.model, text_model, trainer.preprocessor, report)


def _check_arguments(
    task: str,
    pairs: str,
    batch_size: int | None,
    seed: int,
    directory: str | os.PathLike | None,
) -> None:
    """Refuses arguments that need no data to be seen as invalid."""
    require_tensorflow("`finetune`")
    check_strategy()
    if keras.config.dtype_policy().compute_dtype == "float16":
        warn_of_slow_float16()
    check_choice("task", task, tuple(KINDS))
    check_choice("pairs", pairs, PAIRS)
    if batch_size is not None:
        check_positive("batch_size", batch_size)
    check_seed(seed)
    if directory is not None:
        check_run_directory(directory)


def _check_given(**numbers: float | None) -> None:
    """Refuses numbers that are not above zero, by the names of their arguments."""
    for name, number in numbers.items():
        if number is not None:
            check_above_zero(name, number)


def _asked_apart(kind: Kind, pairs: str) -> bool:
    """Whether texts are to be read apart; refuses that of rows with one text."""
    if pairs == "apart" and not kind.pairs:
        raise ValueError(
            "`pairs` may be 'apart' for rows of two texts (`text` and `text_pair`) or "
            f"of choices. Received: 'apart' for {kind.name!r} with the columns "
            f"{kind.text_columns}"
        )
    return pairs == "apart"


def _labels(
    kind: Kind,
    given: Sequence[str] | Mapping[str, Sequence[str]] | None,
    rows: Rows,
) -> Labels:
    """Returns the labels by the builder's argument."""
    found = kind.find_labels(rows)
    if given is None:
        return found
    named = given if isinstance(given, Mapping) else {"labels": given}
    if named.keys() != found.keys() or any(isinstance(x, str) for x in named.values()):
        raise ValueError(f"`labels` must be {_form(found)}. Received: {given!r}")
    # Numbers are names, as in the rows.
    names = {x: [*map(str, y)] for x, y in named.items()}
    for argument, labels in names.items():
        check_names(labels, at_least=1, argument=argument)
    return kind.prepared_labels(names)


def _form(labels: Labels) -> str:
    """Says in which form a task takes labels, given those in its rows."""
    if not labels:
        return "`None` for a task without labels"
    if list(labels) == ["labels"]:
        return "a list of names"
    return f"a dictionary of the lists {list(labels)}"


def _preprocessor(
    kind: Kind, source: Source, rows: Rows, sequence_length: int | None
) -> tuple[Preprocessor, Lengths]:
    """Loads the preprocessor and chooses the length of rows."""
    preprocessor = load_preprocessor(source)
    counts = count_tokens(rows, kind, preprocessor)
    if sequence_length is None:
        sequence_length = limit_for(counts, preprocessor.sequence_length)
    config = {**preprocessor.get_config(), "sequence_length": sequence_length}
    return Preprocessor.from_config(config), lengths_of(counts, sequence_length)


def _trainer(
    kind: Kind, source: Source, labels: Labels, preprocessor: Preprocessor
) -> Trainer:
    """Loads the encoder and builds the model."""
    encoder = load_encoder(source, pooling=None)
    check_finite_weights(encoder, "encoder")
    most, asked = config_of(encoder).max_sequence_length, preprocessor.sequence_length
    if most is not None and asked is not None and asked > most:
        raise ValueError(
            f"`sequence_length` must be up to {most} for this encoder. "
            f"Received: {asked}"
        )
    return Trainer(kind, kind.build(encoder, labels), preprocessor, labels)


@unwarned()
@without_traced_gradients()
def _better(make: Callable[[], Trainer], kind: Kind, rows: Rows) -> Trainer:
    """Reads pairs apart, unless linear models predict rows surely better together.

    That is by a standard error of their losses in cross-validation, which say more
    than the score of the held-out rows.
    """
    trainers, losses = {}, {}
    for apart in (True, False):
        kind.apart = apart  # which models and data sets it makes from now on
        trainers[apart] = make()
        losses[apart] = trainers[apart].expected_losses(rows)
    gains = losses[True] - losses[False]
    kind.apart = bool(gains.mean() <= gains.std(ddof=1) / math.sqrt(len(gains)))
    return trainers[kind.apart]


def _plan(
    trainer: Trainer,
    rows: int,
    epochs: float | None,
    learning_rate: float | None,
    batch_size: int | None,
    seed: int,
) -> Plan:
    kind, config = trainer.kind, config_of(encoder_of(trainer.model))
    return Plan(
        epochs=epochs or epochs_for(rows, kind.epochs),
        # More would repeat rows within a batch.
        batch_size=min(rows, batch_size or kind.batch_size or batch_size_for(rows)),
        learning_rate=learning_rate or rate_for(config.hidden_dim, kind.rate),
        layer_decay=LAYER_DECAY if config.num_layers >= DEEP else None,
        seed=seed,
    )


def _warn_of_cut_rows(
    lengths: Lengths, rows: int, windowed: bool, most: int | None
) -> None:
    limit = lengths.limit
    read = "them in several windows" if windowed else f"only the first {limit} of them"
    longer = limit is not None and (most is None or limit < most)
    more = "`sequence_length` can be larger" if longer else "The encoder reads no more"
    warnings.warn(
        f"{lengths.cut} of {rows} rows are longer than {limit} tokens (the longest has "
        f"{lengths.highest}): the model reads {read}. {more}.",
        stacklevel=3,
    )


def _warn_of_simple_models(report: dict[str, Any], simple: dict[str, float]) -> None:
    metric = report["metric"]
    others = ", ".join(f"{name}: {value:.3f}" for name, value in simple.items())
    warnings.warn(
        f"Simple models score better on the held-out rows, in {metric}: {others}; this "
        f"model: {report['scores'][metric]:.3f}. More minutes, or a larger encoder, "
        "may help.",
        stacklevel=3,
    )
