"""The verbs, each of which calls a public function with its own options."""

import dataclasses
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from keras_bert_lite_command.memory import keep_memory
from keras_bert_lite_command.signatures import Option, docstring_of, options_of

TAB = r"\t"  # as a shell passes it on


@dataclasses.dataclass(frozen=True)
class Verb:
    """A verb.

    Args:
        function: The module and name of the function that it calls.
        example: A call.
        show: Prints what the function returned, by all options.
        defaults: Options whose defaults differ from the function's.
        named: What is given by name, although the function takes it by position too.
        trains: Whether it trains.
        resumes: Whether what is interrupted goes on when it is called again.
    """

    function: str
    example: str
    show: Callable[[Any, Mapping[str, Any]], None]
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    named: tuple[str, ...] = ()
    trains: bool = False
    resumes: bool = False

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        return docstring_of(self.function).split("\n")[0]

    def options(self) -> list[Option]:
        """Returns its options; those after several words are given by name only."""
        options, several = [], False
        for option in options_of(self.function, [x.function for x in VERBS.values()]):
            options.append(
                dataclasses.replace(
                    option,
                    default=self.defaults.get(option.name, option.default),
                    keyword=option.keyword or several or option.name in self.named,
                )
            )
            several = several or option.annotation.startswith("Paths")
        return options

    def run(self, given: dict[str, Any]) -> None:
        """Calls the function and shows what it returns."""
        options = {x.name: x.default for x in self.options()} | given
        arguments = {**self.defaults, **given}
        if arguments.get("delimiter") == TAB:
            arguments["delimiter"] = "\t"
        if self.trains:
            keep_memory()
        module, _, name = self.function.rpartition(".")
        function = getattr(importlib.import_module(module), name)
        self.show(function(**arguments), options)


def _show_run(tuned: Any, options: Mapping[str, Any]) -> None:
    from keras_bert_lite.finetuning.report import scores_table

    print("\n".join(scores_table(tuned.report)))
    files = "model.keras, saved_model, README.md, mistakes.md, report.json"
    print(f"{options['directory']}: {files}")


def _show_count(count: int, options: Mapping[str, Any]) -> None:
    if options["output"] != "-":
        print(f"\n{options['output']}: {count} rows")


def _show_json(scores: Any, options: Mapping[str, Any]) -> None:
    from keras_bert_lite._files import to_json

    print(to_json(scores, indent=1, ensure_ascii=False))


def _show_findings(report: dict[str, Any], options: Mapping[str, Any]) -> None:
    from keras_bert_lite.finetuning.debug import shown

    print(shown(report))
    if report["invalid"]:
        sys.exit(1)


def _show_path(form: str) -> Callable[[Any, Mapping[str, Any]], None]:
    return lambda path, options: print(f"{path}: {form}")


def _show_texts(texts: list[dict[str, Any]], options: Mapping[str, Any]) -> None:
    for row in texts:
        print(f"{row['score']:8.3f}  {row['id']}  {row['text']}")


def _show_converted(path: Any, options: Mapping[str, Any]) -> None:
    print(f"{path}: {options['form']}")


def _show_servable(report: Any, options: Mapping[str, Any]) -> None:
    print(report)
    sys.exit(0 if report.ok else 1)


def _show_sizes(sizes: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    for name, value in sizes.items():
        print(f"{name:20}{value}")


def _show_pieces(pieces: Any, options: Mapping[str, Any]) -> None:
    for piece, number, start, end in pieces:
        text = options["text"][start:end]
        print(f"{piece!r:20}{number:8}{start:6}{end:6}  {text!r}")


def _show_demo(accuracy: float, options: Mapping[str, Any]) -> None:
    directory = options["directory"]
    print(f"{directory}: for TensorFlow Serving")
    print(f"next: keras-bert-lite check {directory}")


def _show_vocabulary(count: int, options: Mapping[str, Any]) -> None:
    directory = options["directory"]
    print(f"{directory}: {count} pieces")
    _next("pretraining-data TEXT... --directory data --preprocessor", directory)


def _show_data(done: Mapping[str, int], options: Mapping[str, Any]) -> None:
    directory = options["directory"]
    counts = (f"{n} {name if n != 1 else name[:-1]}" for name, n in done.items())
    print(f"{directory}: {', '.join(counts)}")
    start = "--directory run --encoder-config bert_mini_uncased --steps 100000"
    _next("pretrain", directory, start)


def _show_encoder(path: Any, options: Mapping[str, Any]) -> None:
    print(f"{path}: the model, for load_encoder, load_model and transformers")
    _next("fit text_classification train.tsv --directory tuned --encoder", path)


def _next(*words: Any) -> None:
    print("next: keras-bert-lite", *words)


PACKAGE = "keras_bert_lite"
VERBOSE = {"verbose": 1}
VERBS = {
    "demo": Verb(f"{PACKAGE}.demo.run", "", _show_demo),
    "fit": Verb(
        f"{PACKAGE}.finetuning.finetune.finetune",
        "text_classification train.tsv --minutes 5",
        _show_run,
        {"directory": "run", **VERBOSE},
        trains=True,
        resumes=True,
    ),
    "predict": Verb(
        f"{PACKAGE}.finetuning.predict.predict_file",
        "run new.tsv --output answers.tsv",
        _show_count,
    ),
    "evaluate": Verb(
        f"{PACKAGE}.finetuning.evaluate.evaluate", "run test.tsv", _show_json
    ),
    "compare": Verb(
        f"{PACKAGE}.finetuning.compare.compare", "run other_run test.tsv", _show_json
    ),
    "debug-data": Verb(
        f"{PACKAGE}.finetuning.debug.debug",
        "text_classification train.tsv",
        _show_findings,
    ),
    "index": Verb(
        f"{PACKAGE}.search.index.index",
        "hf://sentence-transformers/all-MiniLM-L6-v2 texts.txt indexes/texts",
        _show_path("for TensorFlow Serving"),
        resumes=True,
    ),
    "search": Verb(
        f"{PACKAGE}.search.load.search", "indexes/texts 'a query'", _show_texts
    ),
    "export saved-model": Verb(
        f"{PACKAGE}.serving.saved_model.export.export_saved_model",
        "run saved_models/moods",
        _show_path("for TensorFlow Serving"),
    ),
    "export onnx": Verb(
        f"{PACKAGE}.serving.runtimes.onnx.export_onnx",
        "run moods.onnx",
        _show_path("ONNX"),
    ),
    "export openvino": Verb(
        f"{PACKAGE}.serving.runtimes.openvino.export_openvino",
        "run moods",
        _show_path("OpenVINO"),
    ),
    "export litert": Verb(
        f"{PACKAGE}.serving.runtimes.litert.export_litert",
        "run moods.tflite",
        _show_path("LiteRT"),
    ),
    "check": Verb(
        f"{PACKAGE}.serving.check.servable.check_servable",
        "saved_models/moods",
        _show_servable,
    ),
    "convert": Verb(
        f"{PACKAGE}.finetuning.convert.convert",
        "hf://FacebookAI/roberta-base roberta --form keras",
        _show_converted,
    ),
    "tokenize": Verb(
        "keras_bert_lite_command.pieces.tokenize",
        'bert_mini_books "What a fine day!"',
        _show_pieces,
    ),
    "summary": Verb(
        f"{PACKAGE}.checkpoints.summary.summary", "bert_mini_books", _show_sizes
    ),
    "vocabulary": Verb(
        f"{PACKAGE}.pretraining.vocabulary.write_vocabulary",
        "books/*.txt --directory pieces --size 8192",
        _show_vocabulary,
    ),
    "pretraining-data": Verb(
        f"{PACKAGE}.pretraining.write_data.write_pretraining_data",
        "books/*.txt --directory data --preprocessor pieces",
        _show_data,
        resumes=True,
    ),
    "pretrain": Verb(
        f"{PACKAGE}.pretraining.from_text.pretrain_encoder",
        "data --directory run --encoder-config bert_mini_uncased --steps 100000",
        _show_encoder,
        VERBOSE,
        named=("directory", "steps"),
        trains=True,
        resumes=True,
    ),
    "distil": Verb(
        f"{PACKAGE}.distillation.from_text.distill_encoder",
        "books/*.txt --directory run --steps 20000"
        " --teacher hf://sentence-transformers/all-MiniLM-L6-v2"
        " --preprocessor pieces --encoder-config bert_mini_uncased",
        _show_encoder,
        VERBOSE,
        trains=True,
        resumes=True,
    ),
}
