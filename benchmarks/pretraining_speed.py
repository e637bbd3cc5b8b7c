"""Masked-language-model training beside KerasHub and transformers: tokens a second.

    python -m benchmarks.pretraining_speed --text TEXT --vocabulary VOCAB.TXT

TEXT has a sentence a line and a blank line between documents; its first documents are
trained on. All sides: a BERT of one size (`--layers`, `--width`) from random weights,
bert-base-uncased's vocabulary, 15 % masked, dropout 0.1, float32, AdamW, 32 rows of at
most 128 tokens a step, eager torch and Keras's defaults. Each side prepares its rows
in a way that its documentation shows:

- this package: `write_pretraining_data(objective="none", pack=True)` beforehand, then
  `pretrain`'s data set, model and optimizer;
- transformers: texts tokenized beforehand, joined and cut into rows of 128, as
  `run_mlm.py` does, `DataCollatorForLanguageModeling`, `BertForMaskedLM`, torch's AdamW
  (fused). It scores all positions, the others the masked ones: the smaller the
  encoder, the larger the share of that;
- KerasHub: `BertMaskedLM` on `BertMaskedLMPreprocessor`, which tokenizes while it
  trains: lines of over 100 characters, as in its guide to pretraining; and passages,
  as many sentences as fit into 126 tokens, which fill its rows as sentences can.

A token counts that is trained on: special tokens do, padding does not. Each side is a
process, the sides take turns in rounds, and the first steps are left out.

With `--saves`, only this package trains, by `pretrain`, and the log of the run is
printed: how long each save blocked training and how long it took to be written.
"""

import argparse
import contextlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.inference.environment import environment
from benchmarks.inference.tables import table

RESULTS = Path(__file__).parent / "results" / "pretraining_speed.json"
BATCH, LENGTH = 32, 128
WARM_UP, STEPS = 4, 16
DOCUMENTS = 200


def documents(path: Path) -> list[list[str]]:
    """Returns the lines of the first documents."""
    from keras_bert_lite.pretraining.data.corpus import documents, read_chunks

    found = (x for chunk in read_chunks([path], 1 << 20) for x in documents(chunk))
    return list(itertools.islice(found, DOCUMENTS))


class Clock:
    """Counts tokens and seconds of the steps behind the warm-up."""

    def __init__(self) -> None:
        self.steps, self.tokens, self.seconds = 0, 0, 0.0
        self._last = 0.0

    def __call__(self, tokens: int) -> bool:
        """A step of so many tokens is done; returns whether it was the last."""
        now = time.perf_counter()
        self.steps += 1
        if self.steps > WARM_UP:
            self.tokens += tokens
            self.seconds += now - self._last
        self._last = now
        return self.steps == WARM_UP + STEPS


def sizes(options: argparse.Namespace) -> dict[str, int]:
    """The encoder's sizes, by the names of Keras, this package's and KerasHub's."""
    return {
        "num_layers": options.layers,
        "num_heads": options.width // 64,
        "hidden_dim": options.width,
        "intermediate_dim": 4 * options.width,
        "max_sequence_length": LENGTH,
    }


def ours(options: argparse.Namespace, clock: Clock) -> None:
    import keras_bert_lite as kbl

    with _model_and_data(options) as (model, data):
        kbl.compile(model, kbl.optimizers.bert_adamw(1000, 1e-4))
        _fit(model, kbl.pretraining.pretraining_dataset(data, BATCH), clock)


def saves(options: argparse.Namespace) -> None:
    """Prints the log of a run that saves every other step."""
    import keras_bert_lite as kbl

    with _model_and_data(options) as (model, data):
        run = data.parent / "run"
        given = {"steps": 8, "batch_size": 2, "save_every": 2, "verbose": 0}
        kbl.pretraining.pretrain(model, data, run, **given)
        print((run / "log.jsonl").read_text(encoding="utf-8"))
        states = sorted(run.glob("*.safetensors"))
        print([f"{x.name}: {x.stat().st_size / 2**30:.2f} GiB" for x in states])


@contextlib.contextmanager
def _model_and_data(options: argparse.Namespace) -> Iterator[tuple[Any, Path]]:
    """Gives this package's model and the directory of its data."""
    import keras_bert_lite as kbl

    tokenizer = kbl.WordPieceTokenizer(options.vocabulary)
    preprocessor = kbl.Preprocessor(tokenizer, LENGTH)
    vocabulary_size = tokenizer.vocabulary_size()
    config = kbl.EncoderConfig(vocabulary_size=vocabulary_size, **sizes(options))
    model = kbl.masked_lm(kbl.encoder(config))
    model = kbl.pretraining.masked_positions_model(model, packed=True)
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        found = documents(options.text)
        text.write_text("\n\n".join("\n".join(x) for x in found), encoding="utf-8")
        kbl.pretraining.write_pretraining_data(
            text,
            Path(folder) / "data",
            preprocessor,
            objective="none",
            pack=True,
            show_progress=False,
        )
        yield model, Path(folder) / "data"


def _fit(model: Any, batches: Any, clock: Clock) -> None:
    """Trains by `fit` on batches that are the same each time they are read."""
    import keras

    steps = WARM_UP + STEPS
    masks = [inputs["padding_mask"].numpy() for inputs, *_ in batches.take(steps)]

    def tell(batch: int, logs: Any) -> None:
        clock(int(masks[batch].sum()))

    callback = keras.callbacks.LambdaCallback(on_train_batch_end=tell)
    model.fit(batches, steps_per_epoch=steps, verbose=0, callbacks=[callback])


def keras_hub(options: argparse.Namespace, clock: Clock, texts: Any) -> None:
    import keras
    import keras_hub
    import tensorflow as tf

    vocabulary = options.vocabulary.read_text(encoding="utf-8").splitlines()
    tokenizer = keras_hub.models.BertTokenizer(vocabulary, lowercase=True)
    preprocessor = keras_hub.models.BertMaskedLMPreprocessor(
        tokenizer, sequence_length=LENGTH, mask_selection_length=20
    )
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=len(vocabulary), **sizes(options)
    )
    model = keras_hub.models.BertMaskedLM(backbone=backbone, preprocessor=None)
    model.compile(
        optimizer=keras.optimizers.AdamW(1e-4),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        weighted_metrics=["sparse_categorical_accuracy"],
    )
    found = list(texts(documents(options.text), tokenizer))
    batches = tf.data.Dataset.from_tensor_slices(found)
    batches = batches.shuffle(10**6, seed=0, reshuffle_each_iteration=False)
    batches = batches.batch(BATCH, drop_remainder=True).repeat()
    batches = batches.map(preprocessor, num_parallel_calls=tf.data.AUTOTUNE)
    _fit(model, batches.prefetch(2), clock)


def long_lines(found: list[list[str]], _: Any) -> Iterator[str]:
    return (line for lines in found for line in lines if len(line) > 100)


def passages(found: list[list[str]], tokenizer: Any) -> Iterator[str]:
    """Joins sentences as long as they and two special tokens fit into a row."""
    for lines in found:
        held, tokens = [], 0
        for line, ids in zip(lines, tokenizer(lines), strict=True):
            if held and tokens + len(ids) > LENGTH - 2:
                yield " ".join(held)
                held, tokens = [], 0
            held.append(line)
            tokens += len(ids)
        yield " ".join(held)


def transformers(options: argparse.Namespace, clock: Clock) -> None:
    import torch
    import transformers

    fast = transformers.BertTokenizerFast(str(options.vocabulary))
    config = transformers.BertConfig(
        vocab_size=len(fast),
        num_hidden_layers=options.layers,
        num_attention_heads=options.width // 64,
        hidden_size=options.width,
        intermediate_size=4 * options.width,
        max_position_embeddings=LENGTH,
    )
    model = transformers.BertForMaskedLM(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)
    texts = [" ".join(lines) for lines in documents(options.text)]
    ids = itertools.chain.from_iterable(fast(texts, verbose=False)["input_ids"])
    rows = iter(lambda: list(itertools.islice(ids, LENGTH)), [])
    collate = transformers.DataCollatorForLanguageModeling(fast)
    while True:
        examples = [{"input_ids": x} for x in itertools.islice(rows, BATCH)]
        batch = collate(examples)
        batch["attention_mask"] = torch.ones_like(batch["input_ids"])
        model(**batch).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if clock(batch["input_ids"].numel()):
            return


SIDES = {
    "keras_bert_lite": ours,
    "transformers": transformers,
    "KerasHub, lines": lambda *x: keras_hub(*x, texts=long_lines),
    "KerasHub, passages": lambda *x: keras_hub(*x, texts=passages),
}


def run(side: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.pretraining_speed", *sys.argv[1:]]
    quiet = {**os.environ, "KERAS_BACKEND": "tensorflow", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [*command, "--side", side], check=True, stdout=subprocess.PIPE, env=quiet
    )
    made = json.loads(done.stdout.splitlines()[-1])
    print(side, made, file=sys.stderr, flush=True)
    return {"side": side, **made}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pretraining_speed")
    add = parser.add_argument
    add("--text", required=True, type=Path, help="UTF-8, .gz or .xz if compressed")
    add("--vocabulary", required=True, type=Path)
    add("--layers", type=int, default=4)
    add("--width", type=int, default=256, help="a multiple of 64")
    add("--rounds", type=int, default=3)
    add("--results", type=Path, default=RESULTS)
    add("--saves", action="store_true", help="print the log of a run that saves")
    add("--side", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.saves:
        saves(options)
        return
    if options.side:
        clock = Clock()
        SIDES[options.side](options, clock)
        print(json.dumps({"tokens": clock.tokens, "seconds": clock.seconds}))
        return
    results: dict[str, Any] = {"environment": environment()}
    results |= {"layers": options.layers, "width": options.width}
    results["runs"] = [
        run(side)
        for round_ in range(options.rounds)
        for side in list(SIDES)[:: -1 if round_ % 2 else 1]
    ]
    text = json.dumps(results, indent=1) + "\n"
    options.results.write_text(text, encoding="utf-8")
    print(summary(results["runs"]))


def summary(runs: list[dict[str, Any]]) -> str:
    """Returns the table: the median of the rounds."""
    speeds = {
        side: statistics.median(
            x["tokens"] / x["seconds"] for x in runs if x["side"] == side
        )
        for side in SIDES
    }
    rows = [
        [side, f"{speed:,.0f}", f"{speeds['keras_bert_lite'] / speed:.2f}"]
        for side, speed in speeds.items()
    ]
    return table(["side", "tokens/s", "times this package's time"], rows)


if __name__ == "__main__":
    main()
