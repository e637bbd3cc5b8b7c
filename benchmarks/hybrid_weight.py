"""How much vectors should count beside words, where there are no judged queries.

    python -m benchmarks.hybrid_weight --data FOLDER

FOLDER holds `cran.all.1400`, `cran.qry` and `QRelsCorrectedforTRECeval` of
github.com/Chetan-Prasad/IR-Lucene_Cran: the Cranfield collection, 1,400 abstracts on
aerodynamics and 225 queries with graded judgements. They are indexed with MiniLM
(`kbl.search.index`, hybrid) and searched with every weight of the vectors, from words
alone (0) to vectors alone (1). The best of them is the default of `index`, which is
judged on other data (`benchmarks.search`). Each result is a line of
`results/hybrid_weight.jsonl`.
"""

import argparse
import json
import re
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import keras_bert_lite as kbl
from benchmarks.inference.tables import table
from benchmarks.search import SHOWN, text_model
from keras_bert_lite.data import RetrievalSet

RESULTS = Path(__file__).parent / "results" / "hybrid_weight.jsonl"
RECORD = re.compile(r"^\.I ", re.MULTILINE)
FIELD = re.compile(r"^\.([TABW])\s*\n(.*?)(?=^\.[TABW]\s*$|\Z)", re.M | re.S)
WEIGHTS = np.linspace(0, 1, 11).round(1).tolist()


def texts(path: Path, fields: str) -> dict[str, str]:
    """Returns the first field of each record that has text, by the record's number."""
    found = {}
    for number, record in enumerate(RECORD.split(path.read_text())[1:], 1):
        values = {name: " ".join(x.split()) for name, x in FIELD.findall(record)}
        if text := next((values[x] for x in fields if values.get(x)), ""):
            found[str(number)] = text
    return found


def cranfield(folder: Path) -> RetrievalSet:
    corpus = texts(folder / "cran.all.1400", "WT")
    queries = texts(folder / "cran.qry", "W")
    judgements: dict[str, dict[str, float]] = defaultdict(dict)
    for line in (folder / "QRelsCorrectedforTRECeval").read_text().splitlines():
        query, _, text, grade = line.split()
        if text in corpus and int(grade) > 0:
            judgements[query][text] = int(grade)
    return RetrievalSet(queries, corpus, judgements)


def markdown(records: list[dict[str, Any]]) -> str:
    lines = [
        [str(x["weight"]), *(f"{100 * x['scores'][name]:.1f}" for name in SHOWN)]
        for x in records
    ]
    return table(["weight of vectors", *SHOWN], lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hybrid_weight")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    data, model, records = cranfield(options.data), text_model(), []
    corpus = dict(data.corpus)
    vectors = model.predict([*corpus.values()], verbose=0)["sentence_embedding"]
    for weight in WEIGHTS:
        given = {"hybrid": True, "weight": weight, "vectors": vectors, "verbose": 0}
        with tempfile.TemporaryDirectory() as folder:
            path = kbl.search.index(model, corpus, folder, **given)
            records.append({"weight": weight, **kbl.evaluate(path, data)})
        print(json.dumps({"weight": weight, **records[-1]["scores"]}), flush=True)
    kept = ("weight", "rows", "scores", "intervals")
    lines = [json.dumps({x: record[x] for x in kept}) for record in records]
    options.results.write_text("\n".join(lines) + "\n")
    print(markdown(records))


if __name__ == "__main__":
    main()
