"""Speed of the tokenizers beside Hugging Face's `encode_batch_fast`.

All turn the same strings into the ids of bert-base-uncased, or of roberta-base
(`--kind byte_pair`) or of ALBERT (`--kind sentence_piece`), or of ModernBERT's or
EuroBERT's tokenizer with a vocabulary trained on the lines (`--kind modernbert`,
`eurobert`), one thread each, no offsets and no special tokens; this package once from
a string tensor, as in tf.data and in serving, and once from a Python list.
`--keras-hub` adds KerasHub's tokenizer of the kind, from a string tensor. The sides
take turns, since the speed of a shared machine swings: what counts is the median of
the ratios within a round, above 1 where this package is faster from a tensor.

    python benchmarks/tokenizer_speed.py --data ../shared/data

DATA holds glue/SST-2, wikitext2, multilingual_lines and vocabularies.
"""

import argparse
import functools
import os
import statistics
import tempfile
import time
from pathlib import Path

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


TRAINED = ("modernbert", "eurobert")
PIECES = 30_000


def lines(path):
    return [x for x in path.read_text(encoding="utf-8").split("\n") if x.strip()]


def corpora(data, rows):
    sst = lines(data / "glue" / "SST-2" / "train.tsv")[1:]
    files = sorted((data / "multilingual_lines").glob("*.txt"))
    texts = {
        "SST-2": [line.rsplit("\t", 1)[0] for line in sst],
        "wikitext-2": lines(data / "wikitext2" / "valid.txt"),
        "multilingual": [line for file in files for line in lines(file)],
    }
    return {name: x[:rows] for name, x in texts.items()}


def our_tokenizer(kind, vocabularies):
    import keras_bert_lite as kbl

    if kind == "wordpiece":
        return kbl.WordPieceTokenizer(vocabularies / "bert-base-uncased" / "vocab.txt")
    if kind == "sentence_piece":
        return kbl.load_tokenizer(vocabularies / "albert")
    if kind in TRAINED:
        return kbl.load_tokenizer(trained(kind, vocabularies.parent))
    return kbl.BytePairTokenizer(*byte_pair_files(vocabularies))


@functools.cache
def trained(kind, data):
    """Returns a directory with a tokenizer trained on the corpora."""
    from tests.text.byte_pair import pipelines

    directory = Path(tempfile.mkdtemp())
    texts = [line for corpus in corpora(data, 100_000).values() for line in corpus]
    return pipelines.write(kind, texts, PIECES, directory)


def byte_pair_files(vocabularies):
    folder = vocabularies / "roberta-base"
    return str(folder / "vocab.json"), str(folder / "merges.txt")


def keras_hub_tokenizer(kind, vocabularies):
    import keras_hub

    if kind == "wordpiece":
        path = str(vocabularies / "bert-base-uncased" / "vocab.txt")
        return keras_hub.tokenizers.BertTokenizer(path, lowercase=True)
    if kind == "sentence_piece":
        return keras_hub.tokenizers.SentencePieceTokenizer(
            str(vocabularies / "albert" / "spiece.model")
        )
    return keras_hub.tokenizers.BytePairTokenizer(*byte_pair_files(vocabularies))


def one_thread():
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def compiled(tokenize):
    import tensorflow as tf

    signature = [tf.TensorSpec([None], tf.string)]
    return tf.function(lambda x: tokenize(x).flat_values, input_signature=signature)


def make_ours(kind, vocabularies):
    import tensorflow as tf

    encode = compiled(our_tokenizer(kind, vocabularies))
    return lambda texts: encode(tf.constant(texts)).numpy(), tf.constant


def make_keras_hub(kind, vocabularies):
    encode = compiled(keras_hub_tokenizer(kind, vocabularies).tokenize)
    return lambda texts: encode(texts).numpy()


def make_theirs(kind, vocabularies):
    from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer, Tokenizer

    if kind == "wordpiece":
        path = vocabularies / "bert-base-uncased" / "vocab.txt"
        tokenizer = BertWordPieceTokenizer(str(path))._tokenizer
    elif kind == "sentence_piece":
        from transformers import AlbertTokenizer

        directory = str(vocabularies / "albert")
        tokenizer = AlbertTokenizer.from_pretrained(directory)._tokenizer
    elif kind in TRAINED:
        path = trained(kind, vocabularies.parent) / "tokenizer.json"
        tokenizer = Tokenizer.from_file(str(path))
    else:
        tokenizer = ByteLevelBPETokenizer(*byte_pair_files(vocabularies))._tokenizer
    tokenizer.encode_special_tokens = True
    encode = tokenizer.encode_batch_fast
    return lambda texts: encode(texts, add_special_tokens=False)


def seconds(function, texts):
    start = time.perf_counter()
    result = function(texts)
    end = time.perf_counter()
    del result
    return end - start


def compare(sides, rounds):
    """Returns the times of the sides, each a function and its texts, by round."""
    times = []
    for i in range(rounds):
        order = sorted(sides, reverse=i % 2)
        taken = {name: seconds(*sides[name]) for name in order}
        times.append([taken[name] for name in sides])
    return times


def check(ours, theirs, texts):
    """Returns the number of tokens."""
    ids = ours(texts)
    if ids.tolist() != [i for encoding in theirs(texts) for i in encoding.ids]:
        raise SystemExit("the two sides give different ids")
    return len(ids)


def report(name, texts, count, times):
    speeds = [count / 1e6 / statistics.median(x) for x in zip(*times, strict=True)]
    ratios = [
        statistics.median(row[side] / row[0] for row in times)
        for side in range(1, len(times[0]))
    ]
    print(f"{name:14}{len(texts):8}{count:10}", end="")
    print("".join(f"{x:13.2f}" for x in (*speeds, *ratios)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--rows", type=int, default=20_000, help="most lines a corpus")
    kinds = ("wordpiece", "byte_pair", "sentence_piece", *TRAINED)
    parser.add_argument("--kind", choices=kinds, default=kinds[0])
    parser.add_argument("--keras-hub", action="store_true")
    arguments = parser.parse_args()
    if arguments.keras_hub and arguments.kind in TRAINED:
        parser.error(f"KerasHub has no tokenizer of {arguments.kind}'s kind")
    vocabularies = arguments.data / "vocabularies"
    one_thread()
    ours, as_tensor = make_ours(arguments.kind, vocabularies)
    theirs = make_theirs(arguments.kind, vocabularies)
    columns = ["tensor", "list", "tokenizers"]
    if arguments.keras_hub:
        hub = make_keras_hub(arguments.kind, vocabularies)
        columns.append("keras_hub")
    speeds, ratios = 13 * len(columns), 13 * (len(columns) - 1)
    print(f"{'':32}{'million tokens a second':^{speeds}}{'times as long':^{ratios}}")
    print(f"{'corpus':14}{'lines':>8}{'tokens':>10}", end="")
    print("".join(f"{column:>13}" for column in (*columns, *columns[1:])))
    for name, texts in corpora(arguments.data, arguments.rows).items():
        tensor = as_tensor(texts)
        count = check(ours, theirs, texts)
        sides = {"tensor": (ours, tensor), "list": (ours, texts)}
        sides["tokenizers"] = (theirs, texts)
        if arguments.keras_hub:
            hub(tensor)  # the first call traces, as `check` did for the others
            sides["keras_hub"] = (hub, tensor)
        report(name, texts, count, compare(sides, arguments.rounds))


if __name__ == "__main__":
    main()
