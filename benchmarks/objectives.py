"""Loss curves of the objectives of pretraining, on the same text.

    python -m benchmarks.objectives --text TEXT [--steps 1000] [--random]

TEXT has a sentence a line and a blank line between documents; each 50th document is
held out. One encoder, `bert_mini_books` (in the results an earlier one: 4 layers, width
256, 8,192 pieces), from its weights (or from random ones, for which so few steps do not
suffice), with new heads, by the same AdamW: masked words alone on packed rows, with
next sentences, with the order of sentences, and ELECTRA's replaced tokens. Writes
`objectives.json` and draws `objectives.png`: the held-out loss of masked words (of
ELECTRA its generator's, a quarter as wide and from random weights), and beside it the
accuracy on pairs and how many of the replaced tokens are found. Rows of pairs hold
fewer tokens than packed ones, held-out rows too, and ELECTRA masks without random
words, so the curves are not quite of one task. Runs go on where they were.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import keras

import keras_bert_lite as kbl
from benchmarks.inference.environment import environment
from keras_bert_lite.models.encoder_model import config_of
from keras_bert_lite.pretraining.data.corpus import documents, read_chunks

RESULTS = Path(__file__).parent / "results"
WORDS = "masked words"
OBJECTIVES: dict[str, dict[str, Any]] = {  # of the data
    WORDS: {"objective": "none", "pack": True},
    "and next sentence": {"objective": "next_sentence"},
    "and sentence order": {"objective": "sentence_order"},
    "replaced tokens": {"objective": "none", "pack": True},
}
ENCODER = "bert_mini_books"
EVERY = 100  # steps between points


def split(text: Path, work: Path) -> None:
    """Writes `train.txt` and `held_out.txt`."""
    found = [x for chunk in read_chunks([text], 1 << 24) for x in documents(chunk)]
    for name, held_out in (("held_out", True), ("train", False)):
        kept = [x for i, x in enumerate(found) if (i % 50 == 0) is held_out]
        joined = "\n\n".join("\n".join(lines) for lines in kept)
        (work / f"{name}.txt").write_text(joined, encoding="utf-8")


def run(name: str, options: argparse.Namespace) -> dict[str, list[float]]:
    """Trains for one objective; returns the held-out metrics at each point."""
    recipe, work = OBJECTIVES[name], options.work
    texts = kbl.load_preprocessor(ENCODER, sequence_length=128)
    folder = work / name.replace(" ", "_")
    for part in ("train", "held_out"):
        kbl.pretraining.write_pretraining_data(
            work / f"{part}.txt", folder / part, texts, **recipe
        )
    # A run's settings do not tell the weights that it began with.
    directory = folder / ("random" if options.random else ENCODER)
    log = keras.callbacks.CSVLogger(directory / "log.csv", append=True)
    kbl.pretraining.pretrain(
        model(name, options.random),
        folder / "train",
        directory,
        steps=options.steps,
        batch_size=options.batch_size,
        learning_rate=1e-3,
        warmup=0.03,
        save_every=EVERY,
        validation=folder / "held_out",
        validation_steps=40,
        callbacks=[log],
        verbose=2,
    )
    return read_log(directory / "log.csv")


def model(name: str, random: bool) -> keras.Model:
    keras.utils.set_random_seed(0)
    rates = {"dropout": 0.0, "attention_dropout": 0.0}
    encoder = kbl.load_encoder(ENCODER, pooling="mean", **rates)
    if random:
        encoder = kbl.encoder(config_of(encoder))
    if name == "replaced tokens":
        return kbl.pretraining.electra_pretrainer(encoder, packed=True, seed=0)
    if name == WORDS:
        return kbl.pretraining.masked_positions_model(
            kbl.masked_lm(encoder), packed=True
        )
    return kbl.pretraining.masked_positions_model(
        kbl.pretraining.bert_pretrainer(encoder)
    )


def read_log(path: Path) -> dict[str, list[float]]:
    """Returns the columns; of an epoch that was begun twice the last row."""
    head, *lines = path.read_text(encoding="utf-8").splitlines()
    names = head.split(",")
    rows = {line.split(",")[0]: line.split(",") for line in lines}
    columns = zip(*rows.values(), strict=True)
    return {
        name: [float(x) for x in column]
        for name, column in zip(names, columns, strict=True)
        if name.startswith("val_") or name == "tokens_per_second"
    }


def words_loss(history: dict[str, list[float]]) -> list[float]:
    """The loss of masked words, whose name depends on how many outputs there are."""
    name = "val_prediction_logits_loss"
    return history.get(name, history["val_loss"])


def draw(results: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
    for i, (name, history) in enumerate(results["runs"].items()):
        steps = [EVERY * (n + 1) for n in range(len(history["val_loss"]))]
        whose = ": its generator" if "val_replaced_logits_recall" in history else ""
        left.plot(steps, words_loss(history), f"C{i}", label=f"{name}{whose}")
        for metric, label in (
            ("val_seq_relationship_logits_accuracy", "pairs judged rightly"),
            ("val_replaced_logits_recall", "replaced tokens found"),
        ):
            if metric in history:
                right.plot(steps, history[metric], f"C{i}", label=f"{name}: {label}")
    left.set(xlabel="steps", ylabel="held-out loss of masked words, nats")
    right.set(xlabel="steps", ylabel="share", ylim=(0, 1))
    left.legend()
    right.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.objectives")
    add = parser.add_argument
    add("--text", required=True, type=Path, help="UTF-8, .gz or .xz if compressed")
    add("--random", action="store_true", help="begin with random weights")
    add("--steps", type=int, default=1000, help=f"a multiple of {EVERY}")
    add("--batch-size", type=int, default=32)
    add("--objectives", nargs="+", choices=OBJECTIVES, default=list(OBJECTIVES))
    add("--work", type=Path, default=Path("build/objectives"))
    add("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if not (options.work / "train.txt").exists():
        split(options.text, options.work)
    results: dict[str, Any] = {"environment": environment()}
    given = ("steps", "batch_size", "random")
    results |= {**{x: getattr(options, x) for x in given}, "runs": {}}
    for name in options.objectives:
        made = run(name, options)
        results["runs"][name] = made
        perplexity = [x for k, x in made.items() if k.endswith("perplexity")]
        print(name, "perplexity of held-out text:", round(perplexity[0][-1], 1))
    text = json.dumps(results, indent=1) + "\n"
    (options.results / "objectives.json").write_text(text, encoding="utf-8")
    draw(results, options.results / "objectives.png")


if __name__ == "__main__":
    main()
