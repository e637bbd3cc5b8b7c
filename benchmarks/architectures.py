"""A small ModernBERT beside a small BERT, pretrained with equal compute.

    python -m benchmarks.architectures --text TEXT [--steps 1000]

TEXT has a sentence a line and a blank line between documents; each 50th document is
held out. Both have 4 layers of width 128, `bert_mini_books`' vocabulary and random
weights, and train in the way that ModernBERT did: 30 % of the words masked, packed rows
of 128 tokens, a rate at its peak until the last tenth of the steps. The peak is 2e-3
for ModernBERT and 5e-4 for BERT, which at 2e-3 learns no more than how often words are
(6.58 after 1,000 steps). ModernBERT has rotary positions, gated feed-forward networks,
norms before and no biases; it is handed as fields of `EncoderConfig`. The width of its
feed-forward networks is the one with which a step of both takes as many floating-point
operations. Writes `architectures.json` and draws `architectures.png`: the held-out loss
of masked words. Runs go on where they were.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import keras

import keras_bert_lite as kbl
from benchmarks.inference.environment import environment
from benchmarks.objectives import read_log, split
from keras_bert_lite.presets import PUBLISHED
from keras_bert_lite.training.flops import training_flops

RESULTS = Path(__file__).parent / "results"
VOCABULARY = "bert_mini_books"
EVERY = 100  # steps between points
LENGTH = 128
RATES = {"BERT": 5e-4, "ModernBERT": 2e-3}
COMMON: dict[str, Any] = {
    "num_layers": 4,
    "num_heads": 2,
    "hidden_dim": 128,
    "max_sequence_length": LENGTH,
    "num_segments": 0,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "layer_norm_epsilon": 1e-5,
    "pooling": None,
}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "BERT": {"intermediate_dim": 512},
    "ModernBERT": {**PUBLISHED["modernbert_base"], "intermediate_dim": 340},
}


def run(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Trains one; returns the held-out metrics at each point, and its FLOP."""
    work = options.work
    texts = kbl.load_preprocessor(VOCABULARY, sequence_length=LENGTH)
    for part in ("train", "held_out"):
        kbl.pretraining.write_pretraining_data(
            work / f"{part}.txt", work / part, texts, objective="none", pack=True
        )
    keras.utils.set_random_seed(0)
    size = texts.tokenizer.vocabulary_size()
    fields = {**ARCHITECTURES[name], **COMMON, "vocabulary_size": size}
    encoder = kbl.encoder(kbl.EncoderConfig(**fields))
    model = kbl.pretraining.masked_positions_model(kbl.masked_lm(encoder), packed=True)
    masking = kbl.pretraining.Masking(texts.tokenizer, rate=0.3)
    kbl.pretraining.pretrain(
        model,
        work / "train",
        work / name,
        steps=options.steps,
        batch_size=options.batch_size,
        learning_rate=RATES[name],
        warmup=0.03,
        cooldown=0.1,
        save_every=EVERY,
        validation=work / "held_out",
        validation_steps=40,
        masking=masking,
        callbacks=[keras.callbacks.CSVLogger(work / name / "log.csv", append=True)],
        verbose=2,
    )
    flops = training_flops(model, LENGTH, masking.num_predictions(LENGTH))
    return {
        "gflop_of_a_row": round(flops / 1e9, 3),
        **read_log(work / name / "log.csv"),
    }


def draw(results: dict[str, Any], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for name, history in results["runs"].items():
        steps = [EVERY * (n + 1) for n in range(len(history["val_loss"]))]
        axes.plot(steps, history["val_loss"], label=name)
    axes.set(xlabel="steps", ylabel="held-out loss of masked words, nats")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def markdown(results: dict[str, Any]) -> str:
    lines = ["| | GFLOP of a row | held-out loss | accuracy |", "|---|---|---|---|"]
    for name, x in results["runs"].items():
        scores = f"{x['val_loss'][-1]:.3f} | {x['val_accuracy'][-1]:.3f}"
        lines.append(f"| {name} | {x['gflop_of_a_row']} | {scores} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.architectures")
    add = parser.add_argument
    add("--text", required=True, type=Path, help="UTF-8, .gz or .xz if compressed")
    add("--steps", type=int, default=1000, help=f"a multiple of {EVERY}")
    add("--batch-size", type=int, default=32)
    add("--work", type=Path, default=Path("build/architectures"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if not (options.work / "train.txt").exists():
        split(options.text, options.work)
    results: dict[str, Any] = {"environment": environment()}
    given = ("steps", "batch_size")
    results |= {**{x: getattr(options, x) for x in given}, "runs": {}}
    for name in ARCHITECTURES:
        results["runs"][name] = run(name, options)
    text = json.dumps(results, indent=1) + "\n"
    (RESULTS / "architectures.json").write_text(text, encoding="utf-8")
    draw(results, RESULTS / "architectures.png")
    print(markdown(results))


if __name__ == "__main__":
    main()
