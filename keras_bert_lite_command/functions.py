"""The verbs on tasks and checkpoints; see `verbs.py`."""

import sys
from typing import Any, Literal

from keras_bert_lite_command.memory import keep_memory
from keras_bert_lite_command.reading import reads_files

Task = Literal[
    "text_classification",
    "multi_label_classification",
    "regression",
    "token_classification",
    "crf_token_classification",
    "intent_and_slots",
    "question_answering",
    "multiple_choice",
]
Columns = dict[str, str | None] | None


@reads_files
def fit(
    task: Task,
    train: str,
    validation: str | None = None,
    encoder: str = "bert_mini_books",
    directory: str = "run",
    minutes: float | None = None,
    epochs: float | None = None,
    learning_rate: float | None = None,
    batch_size: int | None = None,
    sequence_length: int | None = None,
    labels: list[str] | list[int] | dict[str, list[str]] | None = None,
    pairs: Literal["auto", "together", "apart"] = "auto",
    metric: str | None = None,
    class_weight: str | dict[str, float] | None = None,
    baseline: bool = True,
    columns: Columns = None,
    seed: int = 0,
    verbose: int = 1,
    **reading: Any,
) -> None:
    """Fine-tune an encoder on the rows of a file.

    What was interrupted goes on when the same command is run again. The directory
    then holds the model (model.keras, saved_model), a model card (README.md), what
    the model gets wrong (mistakes.md) and all numbers (report.json).

    Example: keras-bert-lite fit text_classification train.tsv --minutes 5

    Args:
        task: what the rows are
        train: rows: .tsv, .csv, .jsonl, .conll, .conllu, SQuAD's .json, a file of
            another --format, datasets://NAME:SPLIT or tfds://NAME:SPLIT
        validation: held-out rows; by default a tenth of the others, or 200 if that
            is more, but at most a quarter
        encoder: a name, a directory, hf://owner/name or keras-hub://preset
        directory: of the run
        minutes: how long it may take, from the first step on
        epochs: passes over the rows; by default by their number
        learning_rate: the peak; by default by the width of the encoder
        batch_size: rows of a step
        sequence_length: tokens of a row; by default at least 128, or what 99 % of the
            rows need, if the encoder reads as many
        labels: in their order; by default those of the rows
        pairs: whether the two texts of a pair are read in one row, or compared
        metric: the score that decides, such as macro_f1; by default the task's first
        class_weight: balanced, or a weight for each label
        baseline: whether simple models are fitted, for comparison
        columns: names of columns that differ, as --columns.text=sentence
        seed: of the held-out rows, their order and dropout
        verbose: 1 shows a progress bar, 2 a line an evaluation, 0 nothing
    """
    options = dict(locals())
    options |= options.pop("reading")
    keep_memory()
    import keras_bert_lite as kbl
    from keras_bert_lite.finetuning.report import scores_table

    tuned = kbl.finetune(**options)
    print("\n".join(scores_table(tuned.report)))
    print(f"{directory}: model.keras, saved_model, README.md, mistakes.md, report.json")


@reads_files
def predict(
    model: str,
    source: str,
    output: str = "-",
    columns: Columns = None,
    batch_size: int = 32,
    progress: bool = True,
    spreadsheet: bool = False,
    **reading: Any,
) -> None:
    """Write a model's answers to the texts of a file.

    Example: keras-bert-lite predict run new.tsv --output answers.tsv

    Args:
        model: the directory of a run, or a .keras file
        source: a table, JSON Lines or CoNLL, or a file with a text a line; - for
            standard input
        output: a .tsv or .jsonl file; - for JSON Lines to standard output
        columns: names of the texts' columns that differ, as --columns.text=sentence
        batch_size: texts of a batch
        progress: whether to show a progress bar
        spreadsheet: for a .tsv, put an apostrophe before texts that a spreadsheet
            would take for formulas
    """
    options = dict(locals())
    options |= options.pop("reading")
    import keras_bert_lite as kbl

    count = kbl.predict_file(**options)
    if output != "-":
        print(f"\n{output}: {count} rows")


@reads_files
def evaluate(model: str, data: str, columns: Columns = None, **reading: Any) -> None:
    """Score a model on the rows of a file; prints JSON.

    Example: keras-bert-lite evaluate run test.tsv

    Args:
        model: the directory of a run, or a .keras file
        data: rows, as those of fit
        columns: names of columns that differ from those of the run
    """
    import keras_bert_lite as kbl
    from keras_bert_lite._files import to_json

    scores = kbl.evaluate(model, data, columns, **reading)
    print(to_json(scores, indent=1, ensure_ascii=False))


@reads_files
def debug_data(
    task: Task,
    train: str,
    validation: str | None = None,
    encoder: str = "bert_mini_books",
    columns: Columns = None,
    **reading: Any,
) -> None:
    """Look for mistakes in data: labels, lengths, duplicates, invalid rows.

    Example: keras-bert-lite debug-data text_classification train.tsv

    Args:
        task: what the rows are
        train: rows, as those of fit
        validation: held-out rows
        encoder: its tokenizer and longest row are those of the report
        columns: names of columns that differ, as --columns.text=sentence
    """
    import keras_bert_lite as kbl
    from keras_bert_lite.finetuning.debug import shown

    report = kbl.data.debug(task, train, validation, encoder, columns, **reading)
    print(shown(report))
    if report["invalid"]:
        sys.exit(1)


def convert(
    source: str,
    directory: str,
    form: Literal["hugging_face", "keras", "saved_model", "keras_hub"] = "hugging_face",
    dtype: Literal["float32", "float16", "bfloat16"] = "float32",
) -> None:
    """Write a checkpoint, with its head and tokenizer, in another form.

    Example: keras-bert-lite convert hf://FacebookAI/roberta-base roberta --form keras

    Args:
        source: a name, a directory, hf://owner/name or keras-hub://preset
        directory: for the result
        form: of the result
        dtype: of the weights, in the form hugging_face
    """
    import keras_bert_lite as kbl

    print(f"{kbl.convert(source, directory, form, dtype)}: {form}")


def export_saved_model(
    model: str,
    directory: str,
    version: int | None = None,
    warmup: bool | list[str] = True,
    batching: dict[str, int] | None = None,
    storage: Literal["float16", "bfloat16"] | None = None,
    compute: Literal["bfloat16"] | None = None,
    int8: bool = False,
    calibration: list[str] | str | None = None,
    keep: list[int] | None = None,
    verbose: int = 1,
) -> None:
    """Write a model for TensorFlow Serving.

    Example: keras-bert-lite export saved-model run saved_models/moods

    Args:
        model: the directory of a run, or a .keras file
        directory: of the model; a version becomes a folder in it
        version: a number; by default the next free one
        warmup: whether to write warm-up requests, or their texts
        batching: parameters of batching in the server
        storage: half precision for matrices and embeddings
        compute: multiply in bfloat16, for processors that can
        int8: multiply in int8, for servers from 2.17.1 on
        calibration: for int8, a file with some hundred texts, one a line
        keep: for int8, layers, from 0, that multiply in float32 all the same
        verbose: 1 shows a progress bar over these texts, 0 nothing
    """
    options = dict(locals())
    import keras_bert_lite as kbl

    path = kbl.export_saved_model(**options)
    print(f"{path}: for TensorFlow Serving")


def export_onnx(model: str, path: str, int8: bool = False) -> None:
    """Write a model as an ONNX file.

    Example: keras-bert-lite export onnx run moods.onnx

    Args:
        model: the directory of a run, or a .keras file
        path: of the file
        int8: whether weights are quantized
    """
    import keras_bert_lite as kbl

    print(f"{kbl.serving.export_onnx(model, path, int8)}: ONNX")


def export_openvino(model: str, directory: str) -> None:
    """Write a model as a directory for OpenVINO.

    Example: keras-bert-lite export openvino run moods_openvino

    Args:
        model: the directory of a run, or a .keras file
        directory: to write
    """
    import keras_bert_lite as kbl

    print(f"{kbl.serving.export_openvino(model, directory)}: OpenVINO")


def export_litert(model: str, path: str, int8: bool = False) -> None:
    """Write a model as a LiteRT file.

    Example: keras-bert-lite export litert run moods.tflite

    Args:
        model: the directory of a run, or a .keras file
        path: of the file
        int8: whether weights are quantized
    """
    import keras_bert_lite as kbl

    print(f"{kbl.serving.export_litert(model, path, int8)}: LiteRT")


def tokenize(source: str, text: str) -> None:
    """Show the pieces of a text, their ids and where they are.

    Example: keras-bert-lite tokenize bert_mini_books "What a fine day!"

    Args:
        source: a checkpoint or a folder with a tokenizer
        text: the text
    """
    import keras_bert_lite as kbl

    tokenizer = kbl.load_tokenizer(source)
    pieces = tokenizer.get_vocabulary()
    found = (x.numpy() for x in tokenizer.tokenize_with_offsets(text))
    for number, start, end in zip(*found, strict=True):
        print(f"{pieces[number]!r:20}{number:8}{start:6}{end:6}  {text[start:end]!r}")


def summary(source: str, length: int = 128) -> None:
    """Show the sizes of an encoder: parameters, memory, operations a token.

    Example: keras-bert-lite summary bert_mini_books

    Args:
        source: a name, a directory, hf://owner/name or keras-hub://preset
        length: tokens of a row, for what attention costs
    """
    import keras_bert_lite as kbl

    for name, value in kbl.summary(source, length).items():
        print(f"{name:20}{value}")


def check(path: str, run: bool | None = None) -> None:
    """Check whether TF Serving can serve a SavedModel.

    Example: keras-bert-lite check saved_models/moods

    Args:
        path: a version directory, or the directory of a model's versions
        run: --run and --no-run: load and run it here, whatever its operations are, or
            not at all; by default unless they work on files, or no server has them
    """
    import keras_bert_lite as kbl

    report = kbl.check_servable(path, run)
    print(report)
    sys.exit(0 if report.ok else 1)


def demo(directory: str = "saved_models/messages", epochs: int = 1) -> None:
    """Train, evaluate, export and serve a small classifier.

    Example: keras-bert-lite demo

    Args:
        directory: of the SavedModel
        epochs: passes over the messages
    """
    from keras_bert_lite import demo

    demo.run(directory, epochs)
    print(f"{directory}: for TensorFlow Serving")
    print(f"next: keras-bert-lite check {directory}")
