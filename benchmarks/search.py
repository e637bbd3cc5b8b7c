"""Search by vectors and by a ranker, beside BM25: paragraphs that answer questions.

    python -m benchmarks.search --data DATA [--minutes 10] [--ranker-minutes 15]

SQuAD 1.1's development set as retrieval: 10,570 questions, 2,067 paragraphs. Articles
are two halves; what is trained on questions about one half is scored on questions about
the other, among all paragraphs. `untrained` is MiniLM as it comes; `hybrid` an index of
it, which counts words too (`kbl.search.index`), without any training; `vectors` MiniLM
after `kbl.finetune("sentence_embedding")`, and `tuned_hybrid` an index of that, whose
weight 1,000 of the trained questions choose; `ranker` puts the 20 best paragraphs of
BM25 in order, for 1,000 questions about the second half, after
`kbl.finetune("ranking")` on lists of the right paragraph and four that BM25 takes for
the best. `words_and_ranker` adds its score to BM25's, as an index does, and `all_three`
to the score of `tuned_hybrid`. Each result is a line of `results/search.jsonl`, in
which the next call goes on; what is trained is written to `--models`.
"""

import argparse
import functools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
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
JUDGED = 1000  # questions by which the weight of tuned vectors is chosen
# Ways that are scored on some questions of one half.
OF_RANKERS = ("ranker", "words_and_ranker", "all_three")
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


@dataclass(frozen=True)
class Fold:
    """Questions about half of the articles to train on, and about the others to score.

    Args:
        train, test: The questions.
        half: Which half is scored.
        seed: Of training.
        models: The folder of what is trained.
    """

    train: RetrievalSet
    test: RetrievalSet
    half: int
    seed: int
    models: Path

    def directory(self, way: str) -> Path:
        return self.models / f"{way}-{self.half}-{self.seed}"


def untrained(fold: Fold) -> Result:
    return scored(text_model(), fold.test)


def hybrid(fold: Fold, encoder: Any = None, **options: Any) -> Result:
    encoder, corpus = encoder or text_model(), dict(fold.test.corpus)
    with tempfile.TemporaryDirectory() as folder:
        path = kbl.search.index(
            encoder, corpus, folder, hybrid=True, verbose=0, **options
        )
        return scored(path, fold.test)


def tuned_hybrid(fold: Fold, **options: Any) -> Result:
    judged = some(fold.train, JUDGED, fold.seed)
    return hybrid(fold, fold.directory("vectors"), judged=judged, **options)


def words_and_ranker(fold: Fold) -> Result:
    options = {"weight": 0, "ranker": fold.directory("ranker")}
    return hybrid(fold, fold.directory("vectors"), **options)


def all_three(fold: Fold) -> Result:
    return tuned_hybrid(fold, ranker=fold.directory("ranker"))


def tuned(
    task: str,
    train: Any,
    minutes: float,
    seed: int,
    length: int = LENGTH,
    directory: Path | None = None,
) -> kbl.tuning.FineTuned:
    """Fine-tunes MiniLM."""
    return kbl.finetune(
        task,
        train,
        encoder=minilm(),
        directory=directory,
        minutes=minutes,
        sequence_length=length,
        baseline=False,
        seed=seed,
        verbose=0,
    )


def trained(fold: Fold, way: str, task: str, length: int, minutes: float) -> Result:
    directory = fold.directory(way)
    run = tuned(task, fold.train, minutes, fold.seed, length, directory)
    plan = run.report.recipe
    return {
        "minutes": minutes,
        "rows_read": plan.steps * plan.batch_size,
        "held_out": run.report.scores,
        **scored(run.text_model, fold.test),
    }


def ways(minutes: float, ranker_minutes: float) -> dict[str, Callable[[Fold], Result]]:
    """Returns what is compared, in an order in which models are there when needed."""
    encoder = ("vectors", "sentence_embedding", LENGTH, minutes)
    ranker = ("ranker", "ranking", SHORTER, ranker_minutes)
    return {
        "untrained": untrained,
        "hybrid": hybrid,
        "vectors": lambda fold: trained(fold, *encoder),
        "tuned_hybrid": tuned_hybrid,
        "ranker": lambda fold: trained(fold, *ranker),
        "words_and_ranker": words_and_ranker,
        "all_three": all_three,
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
    parser.add_argument("--ways", nargs="+", choices=ways(0, 0))
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--ranker-minutes", type=float, default=15)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", type=Path, default=Path("build", "search"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    log, sets, seed = Log(options.results), halves(options.data), options.seed
    compared = ways(options.minutes, options.ranker_minutes)
    for half in range(2):
        for way, make in compared.items():
            if options.ways and way not in options.ways:
                continue
            test = sets[half]
            if way in OF_RANKERS:
                if half == 0:
                    continue
                test = some(test, options.questions, seed)
            fold = Fold(sets[1 - half], test, half, seed, options.models)
            key = {"way": way, "half": half, "seed": seed}
            log.once(key, functools.partial(make, fold))
    print(markdown(log.records))


if __name__ == "__main__":
    main()
