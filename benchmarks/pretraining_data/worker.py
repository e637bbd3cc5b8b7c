"""One side, in a process of its own; prints what it took as JSON.

python -m benchmarks.pretraining_data.worker SIDE TEXT VOCABULARY DIRECTORY
"""

import json
import os
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.memory import mapped_files, peak_memory

LENGTH, PREDICTIONS, BATCH = 128, 20, 256


Run = Callable[[], Callable[[], int]]  # makes the data; then counts the tokens


def google(text: Path, vocabulary: Path, directory: Path) -> Run:
    """Google's tool; its import of tf_keras is not used."""
    sys.modules.setdefault("tf_keras", types.ModuleType("tf_keras"))
    import tensorflow as tf
    from absl import flags
    from official.nlp.data import create_pretraining_data as tool

    output = directory / "data.tfrecord"
    flags.FLAGS(
        [
            "tool",
            f"--input_file={text}",
            f"--output_file={output}",
            f"--vocab_file={vocabulary}",
            f"--max_seq_length={LENGTH}",
            f"--max_predictions_per_seq={PREDICTIONS}",
            "--dupe_factor=1",
        ]
    )

    def run() -> Callable[[], int]:
        tool.main([])
        return lambda: _count(output, "input_mask", tf)

    return run


def ours(options: dict[str, Any]) -> Callable[[Path, Path, Path], Run]:
    def make(text: Path, vocabulary: Path, directory: Path) -> Run:
        import keras_bert_lite as kbl

        def run() -> Callable[[], int]:
            pieces = vocabulary.read_text(encoding="utf-8").split("\n")
            tokenizer = kbl.WordPieceTokenizer([x for x in pieces if x])
            preprocessor = kbl.Preprocessor(tokenizer, LENGTH)
            done = kbl.pretraining.write_pretraining_data(
                text, directory, preprocessor, show_progress=False, **options
            )
            return lambda: done["tokens"]

        return run

    return make


def keras_hub(text: Path, vocabulary: Path, directory: Path) -> Run:
    import keras_hub
    import tensorflow as tf

    output = directory / "data.tfrecord"

    def run() -> Callable[[], int]:
        tokenizer = keras_hub.models.BertTokenizer(str(vocabulary), lowercase=True)
        preprocess = keras_hub.models.BertMaskedLMPreprocessor(
            tokenizer, LENGTH, mask_selection_length=PREDICTIONS
        )
        lines = tf.data.TextLineDataset(str(text))
        lines = lines.filter(lambda line: tf.strings.length(line) > 0)
        batches = lines.batch(BATCH).map(preprocess, tf.data.AUTOTUNE).prefetch(1)
        tokens = 0
        with tf.io.TFRecordWriter(str(output)) as writer:
            for inputs, targets, _ in batches.as_numpy_iterator():
                tokens += int(inputs["padding_mask"].sum())
                for i in range(len(targets)):
                    writer.write(_example(inputs, targets, i, tf))
        return lambda: tokens

    return run


SIDES: dict[str, Callable[[Path, Path, Path], Run]] = {
    "keras_bert_lite, masked once": ours({"workers": 1, "masking": {}}),
    "keras_bert_lite": ours({"workers": 1}),
    "keras_bert_lite, all cores": ours({}),
    "Google": google,
    "keras_hub": keras_hub,
}


def _example(inputs: dict[str, Any], targets: Any, i: int, tf: Any) -> bytes:
    values = {k: x[i].astype("int64") for k, x in inputs.items()}
    values["masked_ids"] = targets[i].astype("int64")
    feature = {
        name: tf.train.Feature(int64_list=tf.train.Int64List(value=value))
        for name, value in values.items()
    }
    example = tf.train.Example(features=tf.train.Features(feature=feature))
    return example.SerializeToString()


def _count(path: Path, name: str, tf: Any) -> int:
    """How many ones there are."""
    count = 0
    for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        feature = tf.train.Example.FromString(record).features.feature[name]
        count += sum(feature.int64_list.value)
    return count


def main() -> None:
    side, *paths = sys.argv[1:]
    text, vocabulary, directory = map(Path, paths)
    if "all cores" not in side:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    run = SIDES[side](text, vocabulary, directory)
    start = time.perf_counter()
    count = run()
    seconds = time.perf_counter() - start
    # Before tokens are counted, which takes some too.
    made = {"memory": peak_memory(), "mapped_files": mapped_files()}
    print(json.dumps({"seconds": seconds, "tokens": count(), **made}))


if __name__ == "__main__":
    main()
