"""Time and memory of indexes, beside sentence-transformers and faiss.

    python -m benchmarks.search_speed --data DATA [--parts encoding kills ...]

All encode with MiniLM, texts of up to 256 tokens; the texts are sentences of Standard
Ebooks' books. Each result is a line of `results/search_speed.jsonl`.

- `encoding`: 50,000 sentences, in five turns, by the function that `kbl.search.index`
  calls and by sentence-transformers' `encode`, both in batches of 32 sorted by length.
- `kills`: `keras-bert-lite index` over the same sentences is killed after a third and
  after two thirds, and called again; its files are compared with those of an index that
  was left alone.
- `queries`: one query after the other, from the string to the best ten of 200,000
  sentences, through several indexes, `semantic_search` of sentence-transformers, and
  faiss's inverted lists behind both encoders. The sides take turns; times are medians.
  Processor time is that of all threads.
- `million`: an index of a million int8 vectors, each sentence five times with a little
  noise in its vector, in a process that has TensorFlow only, beside the encoder alone.
- `rerank`: a query of SQuAD, whose best 10, 20 or 50 paragraphs a ranker of MiniLM's
  size puts in order.
"""

import argparse
import functools
import hashlib
import itertools
import json
import lzma
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.inference.models import minilm
from benchmarks.inference.tables import table
from benchmarks.memory import held_memory, peak_memory
from benchmarks.recipes.log import Log

RESULTS = Path(__file__).parent / "results" / "search_speed.jsonl"
BOOKS = "standard_ebooks_sentences.txt.xz"
ENCODED, CORPUS, MILLION = 50_000, 200_000, 1_000_000
TURNS, QUERIES, BATCH, K = 5, 200, 32, 10
LENGTH = 256  # tokens
PROBES = 96
WORDS = 4  # of a sentence, at least
NOISE = 0.1  # length of what is added to a vector of length 1
RERANKED = (10, 20, 50)
Result = dict[str, Any]
Find = Callable[[str], list[int]]


def sentences(data: Path, count: int) -> list[str]:
    """Returns different sentences."""
    with lzma.open(data / BOOKS, "rt", encoding="utf-8") as file:
        lines = (x.strip() for x in file)
        long = (x for x in lines if len(x.split()) >= WORDS)
        return [*itertools.islice(dict.fromkeys(long), count)]


def text_model() -> Any:
    import keras_bert_lite as kbl

    preprocessor = kbl.load_preprocessor(minilm(), sequence_length=LENGTH)
    return kbl.with_text(kbl.load_model(minilm()), preprocessor)


def our_encoder(
    int8: bool = False, sample: Sequence[str] = ()
) -> Callable[[list[str]], np.ndarray]:
    """Returns how an index encodes texts.

    Args:
        int8: See `kbl.search.index`.
        sample: Texts to calibrate by.
    """
    from keras_bert_lite.search.encoding import PART
    from keras_bert_lite.search.index import encoder_of_texts, model_to_serve
    from keras_bert_lite.serving.saved_model.exported_signatures import signatures_of

    model, _ = model_to_serve(text_model(), int8, sample)
    encode = encoder_of_texts(signatures_of(model)["serving_default"], None, BATCH)

    def vectors(texts: list[str]) -> np.ndarray:
        parts = range(0, len(texts), PART)
        return np.concatenate([encode(texts[x : x + PART]) for x in parts])

    return vectors


def their_encoder() -> Any:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(minilm()), device="cpu")
    model.max_seq_length = LENGTH
    return functools.partial(model.encode, batch_size=BATCH, show_progress_bar=False)


def encoding(data: Path, work: Path) -> Iterator[Result]:
    texts = sentences(data, ENCODED)
    sides = {
        "an index": our_encoder(),
        "an index, int8": our_encoder(int8=True, sample=texts),
        "sentence-transformers": their_encoder(),
    }
    for encode in sides.values():
        encode(texts[:BATCH])
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    cosines: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(TURNS):
        part, vectors = texts[turn::TURNS], {}
        for name in [*sides][:: 1 if turn % 2 else -1]:
            began = time.perf_counter()
            vectors[name] = sides[name](part)
            seconds[name].append(time.perf_counter() - began)
        for name, found in vectors.items():
            theirs = vectors["sentence-transformers"]
            cosines[name].append(float((found * theirs).sum(1).min()))
    for name, taken in seconds.items():
        pairs = zip(seconds["sentence-transformers"], taken, strict=True)
        yield {
            "side": name,
            "sentences_per_second": round(ENCODED / sum(taken), 1),
            "times_theirs": round(median(theirs / ours for theirs, ours in pairs), 2),
            "least_cosine": round(min(cosines[name]), 6),
        }


def kills(data: Path, work: Path) -> Iterator[Result]:
    texts = work / "texts.txt"
    texts.write_text("\n".join(sentences(data, ENCODED)), encoding="utf-8")
    command = [Path(sys.executable).with_name("keras-bert-lite"), "index", minilm()]
    killed, whole = work / "killed", work / "whole"
    for folder in (killed, whole):
        shutil.rmtree(folder, ignore_errors=True)
    for share in (1 / 3, 2 / 3):
        process = subprocess.Popen([*command, texts, killed])
        while _done(killed) < share * ENCODED:
            if process.poll() is not None:
                raise SystemExit("`index` ended before it was killed")
            time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
        process.wait()
    for folder in (killed, whole):
        subprocess.run([*command, texts, folder], check=True)
    files = sorted(x.relative_to(whole) for x in whole.rglob("variables.*"))
    same = [_digest(killed / x) == _digest(whole / x) for x in files]
    left = [x.name for x in killed.iterdir() if x.name != "1"]
    if left:
        raise SystemExit(f"files were left over: {left}")
    yield {"side": "and called again", "files": len(files), "files_equal": sum(same)}


def _done(folder: Path) -> int:
    found = [*folder.glob(".vectors-*/done.json")]
    return json.loads(found[0].read_text()) if found else 0


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def corpus(data: Path, work: Path) -> tuple[list[str], list[str], Path]:
    """Returns 200,000 sentences, queries, and a file of the sentences' vectors."""
    texts = sentences(data, CORPUS + QUERIES)
    path = work / "vectors.npy"
    if not path.exists():
        np.save(path, our_encoder()(texts[:CORPUS]))
    return texts[:CORPUS], texts[CORPUS:], path


def index_of(texts: Any, folder: Path, **options: Any) -> Path:
    import keras_bert_lite as kbl

    if not (folder / "1").exists():
        kbl.search.index(text_model(), texts, folder, k=K, verbose=0, **options)
    return folder


def encoder_folder(work: Path) -> Path:
    """Returns where the encoder alone is, as a SavedModel."""
    import keras_bert_lite as kbl

    folder = work / "encoder"
    if not folder.exists():
        kbl.export_saved_model(text_model(), folder)
    return folder


def exported_encoder(work: Path) -> Callable[[list[str]], np.ndarray]:
    import tensorflow as tf

    model = tf.saved_model.load(str(encoder_folder(work) / "1"))
    encode = model.signatures["serving_default"]
    return lambda texts: encode(text=tf.constant(texts))["sentence_embedding"].numpy()


def queries(data: Path, work: Path) -> Iterator[Result]:
    import faiss
    from sentence_transformers import util

    import keras_bert_lite as kbl

    texts, asked, path = corpus(data, work)
    vectors = np.load(path)
    forms: dict[str, Result] = {
        "exact": {},
        "lists": {"probes": PROBES},
        "lists, int8": {"probes": PROBES, "precision": "int8"},
        "lists, hybrid": {"probes": PROBES, "hybrid": True},
    }
    ours, theirs = exported_encoder(work), their_encoder()

    def through(folder: Path) -> Find:
        index = kbl.search.load(folder)
        return lambda query: index.search([query])["ids"][0].tolist()

    def by_lists(encode: Callable, found: Any) -> Find:
        def find(query: str) -> list[int]:
            places = found.search(encode([query]), K)[1][0].tolist()
            _ = [texts[i] for i in places]
            return places

        return find

    def semantic_search(query: str) -> list[int]:
        vector = theirs(query, convert_to_tensor=True)
        hits = util.semantic_search(vector, tensor, top_k=K)[0]
        _ = [texts[x["corpus_id"]] for x in hits]
        return [x["corpus_id"] for x in hits]

    tensor = theirs(["a"], convert_to_tensor=True).new_tensor(vectors)
    lists = round(CORPUS**0.5)
    found = faiss.index_factory(
        vectors.shape[1], f"IVF{lists},Flat", faiss.METRIC_INNER_PRODUCT
    )
    found.train(vectors)
    found.add(vectors)
    found.nprobe = PROBES
    sides: dict[str, Find] = {
        "encoder alone": lambda query: ours([query]) is None or [],
        **{
            name: through(index_of(texts, work / name, vectors=path, **form))
            for name, form in forms.items()
        },
        "encoder, faiss": by_lists(ours, found),
        "sentence-transformers, faiss": by_lists(theirs, found),
        "sentence-transformers, semantic_search": semantic_search,
    }
    others = {"encoder alone", "lists, hybrid"}
    yield from timed(sides, asked, sides.keys() - others)


def timed(
    sides: dict[str, Find], asked: list[str], compared: Collection[str] = ()
) -> Iterator[Result]:
    """Yields a line for each side: its times, and its share of the exact ten.

    Args:
        sides: From a query to places of texts.
        asked: The queries.
        compared: The sides that search for the nearest vectors, as "exact" does.
    """
    clocks = {"milliseconds": time.perf_counter, "processor": time.process_time}
    times: dict[str, Any] = {x: {y: [] for y in clocks} for x in sides}
    recalls: dict[str, list[float]] = {name: [] for name in compared}
    for find in sides.values():
        find(asked[0])
    for number, query in enumerate(asked):
        answers: dict[str, list[int]] = {}
        names = [*sides]
        for name in names[number % len(names) :] + names[: number % len(names)]:
            before = [clock() for clock in clocks.values()]
            answers[name] = sides[name](query)
            after = [clock() for clock in clocks.values()]
            for clock, a, b in zip(clocks, before, after, strict=True):
                times[name][clock].append(1000 * (b - a))
        for name in compared:
            same = {*answers[name]} & {*answers["exact"]}
            recalls[name].append(len(same) / K)
    for name, of_side in times.items():
        middle = {clock: round(median(x), 2) for clock, x in of_side.items()}
        if name in compared:
            middle["recall@10"] = round(float(np.mean(recalls[name])), 3)
        yield {"side": name, **middle}


def million(data: Path, work: Path) -> Iterator[Result]:
    texts, asked, path = corpus(data, work)
    large, times = work / "million.npy", MILLION // CORPUS
    if not large.exists():
        base = np.load(path)
        shape = (MILLION, base.shape[1])
        made = np.lib.format.open_memmap(large, "w+", np.float32, shape)
        rng = np.random.default_rng(0)
        for i in range(times):
            noise = rng.normal(size=base.shape, scale=NOISE / base.shape[1] ** 0.5)
            made[i * CORPUS : (i + 1) * CORPUS] = base + noise
        made.flush()
    options = {"vectors": large, "precision": "int8"}
    many = texts * times
    folders = {
        "encoder alone": encoder_folder(work),
        "exact": index_of(many, work / "exact million", **options),
        "lists": index_of(many, work / "lists million", probes=PROBES, **options),
    }
    (work / "queries.json").write_text(json.dumps(asked[:50]))
    ids = {}
    for side, folder in folders.items():
        name = "benchmarks.search_speed"
        command = [sys.executable, "-m", name, "--data", str(data)]
        command += ["--work", str(work), "--served", str(folder / "1")]
        ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        result = json.loads(ran.stdout.strip().split("\n")[-1])
        ids[side] = result.pop("ids")
        if side != "encoder alone":
            pairs = zip(ids[side], ids["exact"], strict=True)
            recall = np.mean([len({*a} & {*b}) / K for a, b in pairs])
            result["recall@10"] = round(float(recall), 3)
        yield {"side": side, **result}


def served(path: Path, work: Path) -> Result:
    """Returns what a process that has TensorFlow only needs for some queries."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  registers its operations

    asked = json.loads((work / "queries.json").read_text())
    answer = tf.saved_model.load(str(path)).signatures["serving_default"]
    answer(text=tf.constant(asked[:1]))
    times, ids = [], []
    for query in asked:
        began = time.perf_counter()
        found = answer(text=tf.constant([query]))
        values = {name: x.numpy() for name, x in found.items()}
        times.append(1000 * (time.perf_counter() - began))
        ids.append(values["ids"][0].tolist() if "ids" in values else [])
    return {
        "milliseconds": round(median(times), 1),
        "held_mib": held_memory() >> 20,
        "peak_mib": peak_memory() >> 20,
        "ids": ids,
    }


def rerank(data: Path, work: Path) -> Iterator[Result]:
    import keras_bert_lite as kbl
    from benchmarks.search import SHORTER, halves

    squad = halves(data)[0]
    asked = [*squad.queries.values()][:50]
    preprocessor = kbl.load_preprocessor(minilm(), sequence_length=SHORTER)
    ranker = kbl.with_text(kbl.ranker(kbl.load_encoder(minilm())), preprocessor)
    sides: dict[str, Find] = {}
    for count in (0, *RERANKED):
        options = {"ranker": ranker, "rerank": count} if count else {}
        folder = work / f"rerank {count}"
        texts = [*squad.corpus.values()]
        index = kbl.search.load(index_of(texts, folder, hybrid=True, **options))
        name = f"best {count} reranked" if count else "not reranked"
        sides[name] = functools.partial(
            lambda query, index: index.search([query])["ids"][0].tolist(), index=index
        )
    yield from timed(sides, asked)


PARTS: dict[str, Callable[[Path, Path], Iterator[Result]]] = {
    "encoding": encoding,
    "kills": kills,
    "queries": queries,
    "million": million,
    "rerank": rerank,
}


TITLES = {
    "encoding": f"Encoding of {ENCODED:,} sentences",
    "kills": "Killed twice",
    "queries": f"One query, {CORPUS:,} sentences",
    "million": f"One query, {MILLION:,} vectors in int8",
    "rerank": "One query, 2,067 paragraphs, words and vectors",
}
UNITS = {
    "sentences_per_second": "sentences/s",
    "times_theirs": "times as fast, median",
    "least_cosine": "least cosine",
    "files": "files of variables",
    "files_equal": "equal to those of an index left alone",
    "milliseconds": "ms",
    "processor": "processor, ms",
    "recall@10": "recall@10",
    "held_mib": "memory, MiB",
    "peak_mib": "most memory, MiB",
}


def markdown(records: list[Result]) -> str:
    found: dict[str, Result] = {x["part"]: x for x in records}
    tables = []
    for part, title in TITLES.items():
        if part in found:
            sides = found[part]["sides"]
            shown = [x for x in UNITS if any(x in side for side in sides)]
            cells = [
                [side.get("side", ""), *(str(side.get(x, "")) for x in shown)]
                for side in sides
            ]
            tables.append(table([title, *(UNITS[x] for x in shown)], cells))
    return "\n\n".join(tables)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search_speed")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=[*PARTS])
    parser.add_argument("--work", type=Path, default=Path("build", "search_speed"))
    parser.add_argument("--served", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.served:
        print(json.dumps(served(options.served, options.work)))
        return
    log = Log(options.results)
    for part in options.parts:

        def measure(part: str = part) -> Result:
            return {"sides": [*PARTS[part](options.data, options.work)]}

        log.once({"part": part}, measure)
    print(markdown(log.records))


if __name__ == "__main__":
    main()
