"""A ranker beside BM25: which paragraph answers a question of SQuAD.

    python -m benchmarks.reranking --data DATA [--minutes 15] [--questions 1000]

`kbl.finetune` trains MiniLM on questions about every second article, each with its
paragraph and three others that BM25 ranks high (`data.mine_negatives`). It then orders
the 20 best paragraphs that BM25 finds, of all 2,067, for questions about the other
articles. Where these lack the right one, both score 0. Intervals are those of
`evaluate`.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

import keras_bert_lite as kbl
from benchmarks.inference.models import minilm
from benchmarks.inference.tables import table
from keras_bert_lite.training.bm25 import BM25
from keras_bert_lite.training.scores.intervals import intervals
from keras_bert_lite.training.scores.ranking import RankingScorer

RESULTS = Path(__file__).parent / "results" / "reranking.json"
SQUAD = Path("squad", "dev-v1.1.json")
BEST = 20  # paragraphs of BM25 that are ranked again
OTHERS = 3  # paragraphs beside the right one, in training
Row = dict[str, Any]


def read(data: Path) -> tuple[list[Row], list[Row], list[str]]:
    """Returns the questions of every second article, the others, and all paragraphs."""
    rows = list(kbl.data.read_squad(data / SQUAD, misplaced="find"))
    first = set(sorted({x["title"] for x in rows})[::2])
    texts = list(dict.fromkeys(x["context"] for x in rows))
    train = [x for x in rows if x["title"] in first]
    return train, [x for x in rows if x["title"] not in first], texts


def lists(rows: list[Row], texts: list[str], count: int) -> list[Row]:
    """Returns questions with the `count` best paragraphs of BM25 as candidates."""
    places, _ = BM25(texts).rank([x["question"] for x in rows], count)
    return [
        {
            "query": row["question"],
            "candidates": [texts[i] for i in found],
            "grades": [int(texts[i] == row["context"]) for i in found],
        }
        for row, found in zip(rows, places, strict=True)
    ]


def scores(rows: list[Row], orders: Any) -> Row:
    scorer = RankingScorer()
    details = scorer.details(rows, {"order": orders}, {})
    return {"scores": scorer.combine(details), "intervals": intervals(scorer, details)}


def measure(data: Path, minutes: float, questions: int, seed: int) -> Row:
    train, others, texts = read(data)
    rng = np.random.default_rng(seed)
    chosen = [others[i] for i in rng.permutation(len(others))[:questions]]
    test = lists(chosen, texts, BEST)
    tuned = kbl.finetune(
        "ranking",
        kbl.data.mine_negatives(
            train, query="question", positive="context", negatives=OTHERS
        ),
        encoder=minilm(),
        minutes=minutes,
        sequence_length=192,
        seed=seed,
        baseline=False,
        verbose=2,
    )
    inputs = {
        "text": [x["query"] for x in test],
        "candidates": [x["candidates"] for x in test],
    }
    answers = tuned.text_model.predict(inputs, batch_size=4, verbose=0)
    plan = tuned.report.recipe
    return {
        "questions": questions,
        "minutes": minutes,
        "lists": int(plan.steps * plan.batch_size),
        "found": float(np.mean([any(x["grades"]) for x in test])),
        "BM25": scores(test, [range(BEST)] * len(test)),
        "ranker": scores(test, answers["order"]),
    }


def markdown(result: Row) -> str:
    names = ["mrr@10", "accuracy@1", "ndcg@10"]
    lines = []
    for way in ("BM25", "ranker"):
        ends = result[way]["intervals"]
        cells = [
            f"{100 * result[way]['scores'][x]:.1f} "
            f"({100 * ends[x][0]:.1f} to {100 * ends[x][1]:.1f})"
            for x in names
        ]
        lines.append([way, *cells])
    return table(["", *names], lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reranking")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    result = measure(options.data, options.minutes, options.questions, options.seed)
    options.results.write_text(json.dumps(result, indent=1))
    print(markdown(result))


if __name__ == "__main__":
    main()
