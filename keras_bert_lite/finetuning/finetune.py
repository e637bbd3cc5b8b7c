"""Fine-tuning in one call."""

import dataclasses
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import keras

from keras_bert_lite._private import without_traced_gradients
from keras_bert_lite.checkpoints.sources import resolve
from keras_bert_lite.checks import (
    check_above_zero,
    check_choice,
    check_positive,
    check_seed,
)
from keras_bert_lite.distribution.strategies import check_strategy
from keras_bert_lite.finetuning import decide
from keras_bert_lite.finetuning.lengths import (
    Lengths,
    count_tokens,
    lengths_of,
    shorten,
)
from keras_bert_lite.finetuning.report import Report, save_run
from keras_bert_lite.finetuning.rows import Split, read_rows, sample, split
from keras_bert_lite.finetuning.run import Run, check_run_directory, folder_of
from keras_bert_lite.finetuning.spec import Spec, named_columns, tunable_task
from keras_bert_lite.finetuning.trainer import Trainer
from keras_bert_lite.models.encoder_model import config_of, encoder_of
from keras_bert_lite.tasks.text_model import TextModel
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.text.text_layer import require_tensorflow
from keras_bert_lite.training.data.readers.read import Reading, check_reading
from keras_bert_lite.training.data.truncation import unwarned
from keras_bert_lite.training.freezing import freeze
from keras_bert_lite.training.precision import warn_of_slow_float16

ENCODER = "bert_mini_books"


@dataclasses.dataclass(frozen=True)
class FineTuned:
    """What `finetune` returns.

    Args:
        model: The model on token ids, made by the task's builder.
        text_model: The model that takes strings, with the chosen thresholds.
        preprocessor: Makes the ids.
        report: What was done, and the scores; `report.json` holds the same.
    """

    model: keras.Model
    text_model: TextModel
    preprocessor: Preprocessor
    report: Report


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
    prompts: Mapping[str, str] | None = None,
    freeze_embeddings: bool = False,
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
       (`tuning.warm_start`), and of their cosine, if texts are compared; if not, the
       logits of a text's labels are divided by three. Rankers, sentence encoders and
       answers to questions have no such start; a sentence encoder or a cross-encoder of
       sentence-transformers is trained on as it is.
    2. All weights are trained with Keras's `fit`. If some questions have no answer, the
       first half of training reads the others only.
    3. The last weights are kept whose score on the held-out rows is within a standard
       error of the best, or those of the linear model, if they are better by one. With
       fewer than 100 pairs, or fewer than 1,000 rows with a label or choices that are
       compared, the linear model is kept unless training is better by a standard error.
    4. Probabilities of labels are calibrated by a temperature, from 50 held-out rows
       on, and thresholds chosen. Tags are the best that their scheme allows
       (`EntityAnswer`'s `decoding`).
    5. Below 1,000 rows, the model is trained again on all of them and on those held
       out, with the whole schedule, unless `validation` is given.

    The report compares the score with that of simple models, such as logistic
    regression on TF-IDF.

    Args:
        task: `"text_classification"`, `"multi_label_classification"`,
            `"regression"`, `"token_classification"`, `"crf_token_classification"`,
            `"intent_and_slots"`, `"question_answering"`, `"multiple_choice"`,
            `"ranking"` or `"sentence_embedding"`.
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
            quarter of it, if there are more, and fewer rows are held out (but 100) if
            reading them once takes more than a fiftieth of it. `None`: as long as the
            recipe takes. More time than that is not used.
        epochs: Passes over the rows; `None`: 10 for up to 100 rows, falling to 1
            above 10,000; twice as many for tags and several labels.
        learning_rate: The peak rate; `None`: 1e-4 at width 384, less for wider
            encoders; twice as much for tags, several labels and answers to questions.
        batch_size: Rows of a step, at most all of them; `None`: 16 below 500 rows,
            else 32; 8 for answers to questions and lists of candidates, of which
            those of more than eight are read in parts. Pairs that belong together, and
            triplets, have no text twice in a batch, which is mostly about one topic.
        sequence_length: The most tokens that the model reads of a row; `None`: the
            shortest length from 128 to 512 that holds 99 % of the rows, or twice the
            longest of fewer than 200, if the encoder reads as many.
        labels: The names of the labels in their order; for intents and slots a
            dictionary of `intents` and `slots`. `None`: those in the rows, sorted.
        pairs: How the two texts of a pair, or a text and each choice, are read:
            `"together"`, in one row, or `"apart"`, each by itself, so that their
            vectors are compared (see `compare` of `text_classifier`). `"auto"`: apart,
            unless linear models of the vectors of up to 4,000 rows (1,000 if `minutes`
            is given) have a smaller loss together, by a standard error, in
            cross-validation; choices of 300 rows or more are read together.
        metric: The score on the held-out rows that decides which weights are kept,
            one of those that `evaluate` gives. `None`: accuracy; micro F1 for several
            labels; Spearman's correlation; F1 of entities (accuracy of other tags);
            texts whose intent and slots are all right; F1 of answers; nDCG of the
            first 10 candidates, or of the first 10 second texts of pairs.
        class_weight: Weights of the labels in training, for text classification:
            a dictionary by label, where others count 1, or `"balanced"`: in inverse
            proportion to how many rows have them. `None`: each row counts the same.
        prompts: What texts begin with, besides the encoder's own prompts. For sentence
            embeddings `{"query": "query: ", "document": "passage: "}`: of a pair, the
            first text begins with the one named `query`, the second with that named
            `document`, `passage` or `corpus`, as in sentence-transformers; pairs with a
            number begin with the default prompt. For other tasks one prompt, such as
            `{"query": "query: "}`, with which each row begins; those that locate words
            in a text take none.
        freeze_embeddings: Whether the tables of the embeddings stay as they are. They
            hold most weights of a multilingual encoder, so that training takes less
            time and memory, and words of languages that `train` lacks stay where they
            are, beside those that it has.
        baseline: Whether simple models are fitted, for comparison.
        columns: The names of the columns that are not called `text`, `text_pair` (if
            the rows have it; `{"text_pair": None}` leaves it out) and `label` (texts);
            `words`, `tags` and `intent`; `question`, `context` and `answers`;
            `text`, `choices` and `label`; `query`, `candidates` and `grades` (or
            `labels`); or `text` and `text_pair` (or `anchor` and `positive`, `query`
            and `positive`, `sentence1` and `sentence2`), and perhaps `negative` or
            `label` (or `score`): `{"text": "sentence"}`.
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
    _check_above_zero(minutes=minutes, epochs=epochs, learning_rate=learning_rate)
    check_reading(reading)
    described = tunable_task(task)
    spec = Spec(described, named_columns(described, columns))
    began = time.monotonic()
    source = resolve(encoder, "encoder")

    # Read: all rows, of which some are held out.
    form = spec.format
    rows, known = read_rows(train, form, spec.columns, "train", **reading)
    held_out = None
    if validation is not None:
        held_out, _ = read_rows(validation, form, known, "validation", **reading)
    parts = split(rows, held_out, seed)
    spec = spec.of_rows(known, metric)
    check_choice("metric", spec.metric, spec.scorer.metrics)

    # Decide: labels, lengths, how texts are read, how long and how fast to train.
    keras.utils.set_random_seed(seed)
    spec = decide.with_labels(spec, labels, rows, held_out or [])
    spec = decide.with_class_weight(spec, class_weight, parts.train)
    spec = decide.with_texts_apart(spec, pairs)
    preprocessor, lengths = decide.preprocessor(
        spec, source, rows, sequence_length, prompts
    )
    if pairs == "auto" and decide.compares(spec, parts.train):
        most = decide.COMPARED if minutes is None else decide.COMPARED_IN_TIME
        some = sample(rows, most, seed)
        trainer = decide.better_trainer(spec, source, preprocessor, some)
        if trainer.spec.apart:  # they were counted as read together
            counts = count_tokens(rows, trainer.spec, preprocessor)
            lengths = lengths_of(counts, lengths.limit)
    else:
        trainer = decide.trainer(spec, source, preprocessor)
    if freeze_embeddings:
        freeze(trainer.model, num_layers=0)
    given = (epochs, learning_rate, batch_size, seed, freeze_embeddings)
    plan = decide.plan(trainer, parts.train, *given)
    if lengths.cut:
        _warn_of_cut_rows(lengths, len(rows), trainer)

    with unwarned(), without_traced_gradients(), folder_of(directory) as folder:
        # Train.
        shorter = Split(
            shorten(parts.train, trainer.spec, preprocessor),
            shorten(parts.validation, trainer.spec, preprocessor),
            parts.given,
        )
        run = Run(trainer, shorter, folder, minutes, directory is not None, verbose)
        compared = parts if baseline else None
        training = run.train(plan, compared)

        # Judge, by the held-out rows; then train on these as well.
        judgement = run.judge()
        training = run.train_on_all(training, judgement)
        report = Report(
            **vars(training),
            **vars(judgement),
            task=task,
            encoder=str(encoder),
            columns=trainer.spec.columns,
            labels=trainer.spec.labels,
            rows={
                "train": len(run.parts.train),
                "validation": len(run.parts.validation),
            },
            lengths=lengths,
            metric=trainer.spec.metric,
            class_weight=trainer.spec.class_weight,
            apart=trainer.spec.apart,
            minutes=round((time.monotonic() - began) / 60, 2),
        )
        _warn(report)

        # Save.
        text_model = trainer.spec.string_model(
            trainer.model, preprocessor, **report.options
        )
        if directory is not None:
            save_run(text_model, report, folder)
            run.tidy()
    model = trainer.spec.fine_tuning.answering(trainer.model)
    return FineTuned(model, text_model, preprocessor, report)


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
    tunable_task(task)
    check_choice("pairs", pairs, decide.PAIRS)
    if batch_size is not None:
        check_positive("batch_size", batch_size)
    check_seed(seed)
    if directory is not None:
        check_run_directory(directory)


def _check_above_zero(**numbers: float | None) -> None:
    """Refuses numbers that are not above zero, by the names of their arguments."""
    for name, number in numbers.items():
        if number is not None:
            check_above_zero(name, number)


def _warn_of_cut_rows(lengths: Lengths, rows: int, trainer: Trainer) -> None:
    limit = lengths.limit
    most = config_of(encoder_of(trainer.model)).max_sequence_length
    windowed = trainer.spec.task.windowed
    read = "them in several windows" if windowed else f"only the first {limit} of them"
    longer = limit is not None and (most is None or limit < most)
    more = "`sequence_length` can be larger" if longer else "The encoder reads no more"
    warnings.warn(
        f"{lengths.cut} of {rows} rows are longer than {limit} tokens (the longest has "
        f"{lengths.highest}): the model reads {read}. {more}.",
        stacklevel=3,
    )


def _warn(report: Report) -> None:
    """Warns if training diverged, or a simple model is better."""
    if report.diverged:
        warnings.warn(
            f"{report.diverged}. The best weights before are kept, and the model was "
            "not trained again on the held-out rows.",
            stacklevel=3,
        )
    if simple := report.beaten_by():
        others = ", ".join(f"{name}: {value:.3f}" for name, value in simple.items())
        warnings.warn(
            f"Simple models score better on the held-out rows, in {report.metric}: "
            f"{others}; this model: {report.scores[report.metric]:.3f}. More minutes, "
            "or a larger encoder, may help.",
            stacklevel=3,
        )
