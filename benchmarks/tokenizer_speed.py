"""Speed of the tokenizers beside Hugging Face's `encode_batch_fast`.

Both turn the same strings into the ids of bert-base-uncased, or of roberta-base
(`--kind byte_pair`), one thread each, no offsets and no special tokens; this
package once from a string tensor, as in tf.data and in serving, and once from a
Python list. The sides take turns, since the speed of a shared machine swings:
what counts is the median of the ratios within a round, above 1 where this
package is faster.

    python benchmarks/tokenizer_speed.py --data ../shared/data

DATA holds glue/SST-2, wikitext2, multilingual_lines and vocabularies.
"""

import argparse
import os
import statistics
import time
from pathlib import Path

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


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
    from keras_bert_lite import WordPieceTokenizer
    from keras_bert_lite.text.byte_pair import BytePairTokenizer

    if kind == "wordpiece":
        return WordPieceTokenizer(vocabularies / "bert-base-uncased" / "vocab.txt")
    folder = vocabularies / "roberta-base"
    return BytePairTokenizer(folder / "vocab.json", folder / "merges.txt")


def make_ours(kind, vocabularies):
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tokenizer = our_tokenizer(kind, vocabularies)
    signature = [tf.TensorSpec([None], tf.string)]
    encode = tf.function(lambda x: tokenizer(x).flat_values, input_signature=signature)
    return lambda texts: encode(tf.constant(texts)).numpy(), tf.constant


def make_theirs(kind, vocabularies):
    from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer

    if kind == "wordpiece":
        path = vocabularies / "bert-base-uncased" / "vocab.txt"
        tokenizer = BertWordPieceTokenizer(str(path))._tokenizer
    else:
        folder = vocabularies / "roberta-base"
        paths = (str(folder / "vocab.json"), str(folder / "merges.txt"))
        tokenizer = ByteLevelBPETokenizer(*paths)._tokenizer
    tokenizer.encode_special_tokens = True
    encode = tokenizer.encode_batch_fast
    return lambda texts: encode(texts, add_special_tokens=False)


def seconds(function, texts):
    start = time.perf_counter()
    result = function(texts)
    end = time.perf_counter()
    del result
    return end - start


def compare(ours, theirs, tensor, texts, rounds):
    """Returns the number of tokens and the times of the three sides a round."""
    ids = ours(tensor)
    if ids.tolist() != [i for encoding in theirs(texts) for i in encoding.ids]:
        raise SystemExit("the two sides give different ids")
    sides = [(ours, tensor), (ours, texts), (theirs, texts)]
    times = []
    for i in range(rounds):
        order = range(3) if i % 2 else reversed(range(3))
        taken = {side: seconds(*sides[side]) for side in order}
        times.append([taken[side] for side in range(3)])
    return len(ids), times


def report(name, texts, count, times):
    speeds = [count / 1e6 / statistics.median(x) for x in zip(*times, strict=True)]
    ratios = [
        statistics.median(row[2] / row[side] for row in times) for side in range(2)
    ]
    print(f"{name:14}{len(texts):8}{count:10}", end="")
    print("".join(f"{x:13.2f}" for x in (*speeds, *ratios)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--rows", type=int, default=20_000, help="most lines a corpus")
    kinds = ("wordpiece", "byte_pair")
    parser.add_argument("--kind", choices=kinds, default=kinds[0])
    arguments = parser.parse_args()
    vocabularies = arguments.data / "vocabularies"
    ours, as_tensor = make_ours(arguments.kind, vocabularies)
    theirs = make_theirs(arguments.kind, vocabularies)
    print(f"{'':32}{'million tokens a second':^39}{'times tokenizers':^26}")
    print(f"{'corpus':14}{'lines':>8}{'tokens':>10}", end="")
    columns = ("tensor", "list", "tokenizers", "tensor", "list")
    print("".join(f"{column:>13}" for column in columns))
    for name, texts in corpora(arguments.data, arguments.rows).items():
        tensor = as_tensor(texts)
        report(name, texts, *compare(ours, theirs, tensor, texts, arguments.rounds))


if __name__ == "__main__":
    main()
