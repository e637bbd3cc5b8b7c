"""Search by vectors and by a ranker, beside BM25: paragraphs that answer questions.

    python -m benchmarks.search --data DATA [--minutes 10] [--ranker-minutes 15]

SQuAD 1.1's development set as retrieval: 10,570 questions, 2,067 paragraphs. Articles
are two halves; what is trained on questions about one half is scored on questions about
the other, among all paragraphs. `untrained` is MiniLM as it comes; `hybrid` an index of
it, which counts words too (`kbl.search.index`), without any training; `vectors` MiniLM
after `kbl.finetune("sentence_embedding")`; `ranker` puts the 20 best paragraphs of BM25
in order, for 1,000 questions about the second half, after `kbl.finetune("ranking")` on
lists of the right paragraph and four that BM25 takes for the best. Each result is a
line of `results/search.jsonl`, in which the next call goes on.
"""

import argparse
import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import keras_bert_lite as kbl
from benchmarks.inference.models import minilm
from benchmarks.inference.tables import table
from benchmarks.recipes.log import Log
from keras_bert_lite.data import RetrievalSet

RESULTS = Path(__file__).parent / "results" / "search.jsonl"
SQUAD = Path("squad", "dev-v1.1.json")
LENGTH = 256  # tokens; nearly all paragraphs are shorter
SHORTER = 192  # for a ranker, whose time is dear
QUESTIONS = 1000  # of a ranker
SHOWN = ("mrr@10", "accuracy@1", "ndcg@10", "recall@10")
Result = dict[str, Any]


def halves(data: Path) -> list[RetrievalSet]:
    """Returns the questions about two halves of the articles, with all paragraphs."""
    rows = list(kbl.data.read_squad(data / SQUAD, misplaced="find"))
    titles = sorted({x["title"] for x in rows})
    texts = list(dict.fromkeys(x["context"] for x in rows))
    ids = {text: f"p{i}" for i, text in enumerate(texts)}
    corpus = {name: text for text, name in ids.items()}
    sets = []
    for half in range(2):
        asked = [x for x in rows if titles.index(x["title"]) % 2 == half]
        queries = {f"q{i}": x["question"] for i, x in enumerate(asked)}
        right = {f"q{i}": {ids[x["context"]]: 1} for i, x in enumerate(asked)}
        sets.append(RetrievalSet(queries, corpus, right))
    return sets


def some(data: RetrievalSet, count: int, seed: int) -> RetrievalSet:
    """Returns some of the questions."""
    names = np.random.default_rng(seed).permutation([*data.judgements])[:count]
    return RetrievalSet(
        data.queries, data.corpus, {x: data.judgements[x] for x in names.tolist()}
    )


def scored(model: Any, data: RetrievalSet) -> Result:
    found = kbl.evaluate(model, data)
    return {x: found[x] for x in ("rows", "scores", "intervals", "baselines")}


def text_model() -> kbl.TextModel:
    preprocessor = kbl.load_preprocessor(minilm(), sequence_length=LENGTH)
    return kbl.with_text(kbl.load_model(minilm()), preprocessor)


def untrained(train: RetrievalSet, test: RetrievalSet, minutes: float, seed: int):
    return scored(text_model(), test)


def hybrid(train: RetrievalSet, test: RetrievalSet, minutes: float, seed: int):
    with tempfile.TemporaryDirectory() as folder:
        corpus = dict(test.corpus)
        path = kbl.search.index(text_model(), corpus, folder, hybrid=True, verbose=0)
        return scored(path, test)


def tuned(task: str, train: Any, minutes: float, seed: int, length: int = LENGTH):
    """Fine-tunes MiniLM."""
    return kbl.finetune(
        task,
        train,
        encoder=minilm(),
        minutes=minutes,
        sequence_length=length,
        baseline=False,
        seed=seed,
        verbose=0,
    )


def trained(
    task: str,
    length: int,
    train: RetrievalSet,
    test: RetrievalSet,
    minutes: float,
    seed: int,
):
    found = tuned(task, train, minutes, seed, length)
    plan = found.report.recipe
    return {
        "minutes": minutes,
        "rows_read": plan.steps * plan.batch_size,
        "held_out": found.report.scores,
        **scored(found.text_model, test),
    }


WAYS = {
    "untrained": untrained,
    "hybrid": hybrid,
    "vectors": functools.partial(trained, "sentence_embedding", LENGTH),
    "ranker": functools.partial(trained, "ranking", SHORTER),
}


def markdown(records: list[Result]) -> str:
    lines = []
    for x in records:
        name = f"{x['way']}, half {x['half']}"
        for way, scores in ((name, x["scores"]), ("BM25", x["baselines"]["BM25"])):
            cells = (f"{100 * scores[y]:.1f}" for y in SHOWN)
            lines.append([way, str(x["rows"]), *cells])
    return table(["", "questions", *SHOWN], lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--ranker-minutes", type=float, default=15)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    log, sets, seed = Log(options.results), halves(options.data), options.seed
    minutes = {"vectors": options.minutes, "ranker": options.ranker_minutes}
    for half in range(2):
        train, test = sets[1 - half], sets[half]
        for way, make in WAYS.items():
            if way not in options.ways or (way == "ranker" and half == 0):
                continue
            asked = some(test, options.questions, seed) if way == "ranker" else test
            given = {"way": way, "half": half, "seed": seed}
            run = functools.partial(make, train, asked, minutes.get(way, 0.0), seed)
            log.once(given, run)
    print(markdown(log.records))


if __name__ == "__main__":
    main()
