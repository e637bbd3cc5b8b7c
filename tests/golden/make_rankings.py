"""Scores of rankings by ranx: `python -m tests.golden.make_rankings`.

Needs `pip install ranx==0.3.21`.
"""

import json
from pathlib import Path

from tests.training.scores.rankings import queries

METRICS = [
    *("ndcg", "ndcg@1", "ndcg@10", "mrr", "mrr@3", "map", "map@5"),
    *("recall", "recall@5", "precision@1", "precision@10", "hit_rate@5"),
]
SHOWN = 20


def main() -> None:
    from ranx import Qrels, Run, evaluate

    scores, grades = zip(*queries(), strict=True)
    run, judged = (
        {f"{i:04}": x for i, x in enumerate(each)} for each in (scores, grades)
    )
    values = evaluate(Qrels(judged), Run(run), METRICS, return_mean=False)
    golden = {
        name: {"mean": float(x.mean()), "first": x[:SHOWN].tolist()}
        for name, x in values.items()
    }
    path = Path(__file__).with_name("rankings.json")
    path.write_text(json.dumps(golden, indent=1))


if __name__ == "__main__":
    main()
