"""What `finetune` decides before it trains, from the rows and what was asked for."""

import contextlib
import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence

import keras

from keras_bert_lite._finite import check_finite_weights
from keras_bert_lite._private import without_traced_gradients
from keras_bert_lite.checkpoints.load import (
    load_encoder,
    load_model,
    load_preprocessor,
)
from keras_bert_lite.checkpoints.sources import Source
from keras_bert_lite.checks import check_above_zero
from keras_bert_lite.finetuning.lengths import (
    Lengths,
    count_tokens,
    lengths_of,
    limit_for,
)
from keras_bert_lite.finetuning.plan import (
    Plan,
    batch_size_for,
    epochs_for,
    rate_for,
)
from keras_bert_lite.finetuning.recipe import RECIPE
from keras_bert_lite.finetuning.rows import check_labels, distinct_texts
from keras_bert_lite.finetuning.spec import Spec
from keras_bert_lite.finetuning.trainer import Trainer
from keras_bert_lite.layers.heads.dense_heads import check_labels as check_names
from keras_bert_lite.models.encoder_model import config_of, encoder_of
from keras_bert_lite.tasks.registry import TASKS, task_of
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data.distinct import count_distinct
from keras_bert_lite.training.data.record_values import name_of
from keras_bert_lite.training.data.row_formats import Labels, Rows
from keras_bert_lite.training.data.truncation import unwarned
from keras_bert_lite.training.linear_model import FOLDS, JUDGED

PAIRS = ("auto", "together", "apart")
BALANCED = "balanced"
# Rows by which linear models are compared; if time is limited, those of one fold.
COMPARED, COMPARED_IN_TIME = FOLDS * JUDGED, JUDGED

NamedLabels = Sequence[str] | Mapping[str, Sequence[str]]


def with_labels(
    spec: Spec, given: NamedLabels | None, train: Rows, validation: Rows
) -> Spec:
    """Adds the labels, those given or those of all rows.

    Raises:
        ValueError: If given labels do not fit the task or the rows.
    """
    labels = _labels(spec, given, [*train, *validation])
    if given is not None:
        check_labels(train, spec.format, labels, "train")
        check_labels(validation, spec.format, labels, "validation")
    return dataclasses.replace(spec, labels=labels)


def _labels(spec: Spec, given: NamedLabels | None, rows: Rows) -> Labels:
    labels = spec.format.all_labels(rows)
    if given is None:
        return labels
    named = given if isinstance(given, Mapping) else {"labels": given}
    if named.keys() != labels.keys() or any(isinstance(x, str) for x in named.values()):
        raise ValueError(f"`labels` must be {_form(labels)}. Received: {given!r}")
    # Numbers are names, as in the rows.
    names = {x: [*map(str, y)] for x, y in named.items()}
    for argument, values in names.items():
        check_names(values, at_least=1, argument=argument)
    return spec.format.prepared_labels(names)


def _form(labels: Labels) -> str:
    """Says in which form a task takes labels, given those in its rows."""
    if not labels:
        return "`None` for a task without labels"
    if list(labels) == ["labels"]:
        return "a list of names"
    return f"a dictionary of the lists {list(labels)}"


def with_class_weight(
    spec: Spec, given: str | Mapping[str, float] | None, rows: Rows
) -> Spec:
    """Adds the weight of each label in training, if any is given.

    Raises:
        ValueError: If the task has not one label per row, or a label is unknown.
    """
    if given is None:
        return spec
    return dataclasses.replace(spec, class_weight=_class_weights(spec, given, rows))


def _class_weights(
    spec: Spec, given: str | Mapping[str, float], rows: Rows
) -> list[float]:
    if not spec.task.classifies:
        fitting = [name for name, task in TASKS.items() if task.classifies]
        raise ValueError(
            f"`class_weight` is for the tasks {fitting}, whose rows have one label "
            f"each. Received: {given!r} for {spec.task.name!r}"
        )
    names = spec.labels["labels"]
    if isinstance(given, Mapping):
        if unknown := [x for x in given if name_of(x) not in names]:
            raise ValueError(
                f"`class_weight` must be of the labels {names}. Received: {unknown}"
            )
        for label, weight in given.items():
            check_above_zero(f"class_weight[{label!r}]", weight)
        weights = {name_of(label): weight for label, weight in given.items()}
        return [float(weights.get(name, 1)) for name in names]
    if given != BALANCED:
        raise ValueError(
            f"`class_weight` must be {BALANCED!r} or a dictionary of numbers by "
            f"label. Received: {given!r}"
        )
    counts = Counter(row["label"] for row in rows)
    mean = len(rows) / len(counts)
    return [mean / counts[name] if counts[name] else 1.0 for name in names]


def with_texts_apart(spec: Spec, pairs: str) -> Spec:
    """Adds whether texts are encoded apart, as asked for.

    Raises:
        ValueError: If that is asked for rows with one text.
    """
    if pairs == "apart" and not spec.comparable:
        columns = [spec.columns[name] for name in spec.format.texts]
        raise ValueError(
            "`pairs` may be 'apart' for rows of two texts (`text` and `text_pair`) or "
            f"of choices. Received: 'apart' for {spec.task.name!r} with the columns "
            f"{[x for x in columns if x]}"
        )
    return dataclasses.replace(spec, apart=pairs == "apart")


def compares(spec: Spec, rows: Rows) -> bool:
    """Whether linear models decide how texts are encoded, if nothing was asked for."""
    most = spec.fine_tuning.together_from
    few = most is None or len(rows) < most
    linear = all(x.objective and x.objective.link for x in spec.task.outputs)
    return spec.comparable and linear and few and len(rows) > 1


def preprocessor(
    spec: Spec,
    source: Source,
    rows: Rows,
    sequence_length: int | None,
    prompts: Mapping[str, str] | None,
) -> tuple[Preprocessor, Lengths]:
    """Loads the preprocessor, adds prompts and chooses the length of rows.

    Raises:
        ValueError: If the texts of the task begin with no prompts, or with one only.
    """
    loaded = load_preprocessor(source)
    if prompts is not None:
        loaded = _with_prompts(loaded, spec, prompts)
    counts = count_tokens(rows, spec, loaded)
    if sequence_length is None:
        sequence_length = limit_for(counts, loaded.sequence_length)
    config = {**loaded.get_config(), "sequence_length": sequence_length}
    return Preprocessor.from_config(config), lengths_of(counts, sequence_length)


def _with_prompts(
    loaded: Preprocessor, spec: Spec, prompts: Mapping[str, str]
) -> Preprocessor:
    config = {**loaded.get_config(), "prompts": {**loaded.prompts, **prompts}}
    if not spec.format.separate:  # a row begins with the prompt, whatever it holds
        if spec.task.windowed:
            raise ValueError(
                "`prompts` must be None for tasks that locate words in a text. "
                f"Received: {prompts!r} for {spec.task.name!r}"
            )
        if len(prompts) != 1:
            raise ValueError(
                f"`prompts` must be one prompt for {spec.task.name!r}. "
                f"Received: {prompts!r}"
            )
        (config["default_prompt_name"],) = prompts
    return Preprocessor.from_config(config)


def trainer(spec: Spec, source: Source, preprocessor: Preprocessor) -> Trainer:
    """Loads the encoder and builds the model.

    Raises:
        ValueError: If the encoder does not read as many tokens, or a weight is not
            finite.
    """
    model = _model(spec, source)
    check_finite_weights(model, "encoder")
    config = config_of(encoder_of(model))
    most, asked = config.max_sequence_length, preprocessor.sequence_length
    if most is not None and asked is not None and asked > most:
        raise ValueError(
            f"`sequence_length` must be up to {most} for this encoder. "
            f"Received: {asked}"
        )
    return Trainer(spec, model, preprocessor)


def _model(spec: Spec, source: Source) -> keras.Model:
    """Returns the checkpoint's own model of the task, or builds one on its encoder."""
    if spec.fine_tuning.continues is not None:
        with contextlib.suppress(ValueError):  # of a head that is not known
            model = load_model(source)
            if task_of(model) is spec.task:
                return spec.fine_tuning.continues(model)
    return spec.build(load_encoder(source, pooling=None))


@unwarned()
@without_traced_gradients()
def better_trainer(
    spec: Spec, source: Source, preprocessor: Preprocessor, rows: Rows
) -> Trainer:
    """Encodes texts apart, unless linear models predict rows better together.

    That is by a standard error of their losses in cross-validation, which say more
    than the score of the held-out rows.
    """
    apart, together = (
        trainer(dataclasses.replace(spec, apart=x), source, preprocessor)
        for x in (True, False)
    )
    gains = apart.expected_losses(rows) - together.expected_losses(rows)
    error = gains.std(ddof=1) / math.sqrt(len(gains))
    return apart if gains.mean() <= error else together


def plan(
    trainer: Trainer,
    rows: Rows,
    epochs: float | None,
    learning_rate: float | None,
    batch_size: int | None,
    seed: int,
    freeze_embeddings: bool = False,
) -> Plan:
    """Chooses epochs, rate and batch size by the number of rows and the encoder.

    Raises:
        ValueError: If not as many rows as a batch needs have different texts.
    """
    task, config = trainer.spec.fine_tuning, config_of(encoder_of(trainer.model))
    rows = trainer.spec.format.training_rows(rows)
    deep = config.num_layers >= RECIPE.layer_decay_from
    # More would repeat rows within a batch.
    size = min(len(rows), batch_size or task.batch_size or batch_size_for(len(rows)))
    if task.distinct:
        size = _distinct_size(rows, trainer.spec, size, batch_size is not None)
    return Plan(
        epochs=epochs or epochs_for(len(rows), task.epochs),
        batch_size=size,
        learning_rate=learning_rate or rate_for(config.hidden_dim, task.rate),
        layer_decay=RECIPE.layer_decay if deep else None,
        seed=seed,
        freeze_embeddings=freeze_embeddings,
    )


def _distinct_size(rows: Rows, spec: Spec, size: int, asked: bool) -> int:
    """Returns a size of batches in which no text occurs twice.

    Raises:
        ValueError: If the size that was asked for is too large.
    """
    most = count_distinct(distinct_texts(rows, spec.format))
    if most < 2 or (asked and size > most):
        raise ValueError(
            "`train` must have as many rows with different texts as a batch, and two "
            f"or more. Received: {most} such rows, batch_size={size if asked else None}"
        )
    # Another order may have fewer.
    return size if asked or most == len(rows) else min(size, max(2, most // 2))
