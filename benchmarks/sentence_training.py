"""Sentence vectors after equal minutes, here and with sentence-transformers' trainer.

    python -m benchmarks.sentence_training --data DATA [--minutes 5] [--seeds 3]

MiniLM, trained on STS-B's pairs with a score (CoSENT on both sides), scored by
Spearman's correlation on its development set; and on questions of SQuAD with their
paragraphs (in-batch negatives, no text twice in a batch), scored by the MRR of finding
the paragraphs of the other articles. Theirs is `SentenceTransformerTrainer` with the
rate, warm-up and batch size of its examples (2e-5, 10 %, 16; 32 pairs with negatives);
its number of steps fits the minutes, by ten timed ones. Both sides are scored by
`kbl.evaluate`. Each result is a line of `results/sentence_training.jsonl`, in which the
next call goes on. It needs `pip install accelerate datasets` beside the extra `parity`.
"""

import argparse
import functools
import tempfile
import time
from pathlib import Path
from statistics import mean
from typing import Any

import keras_bert_lite as kbl
from benchmarks.inference.models import minilm
from benchmarks.inference.tables import table
from benchmarks.recipes.log import Log
from benchmarks.search import LENGTH, halves, tuned

RESULTS = Path(__file__).parent / "results" / "sentence_training.jsonl"
STS = Path("glue", "STS-B")
TIMED = 10  # steps
METRICS = {"stsb": "spearman", "squad": "mrr@10"}
Result = dict[str, Any]


def sets(data: Path) -> dict[str, tuple[Any, Any]]:
    """Returns what to train on and to score, by name."""
    columns = {"sentence1": "text", "sentence2": "text_pair", "score": "label"}
    rows = {
        part: [
            {ours: x[theirs] for theirs, ours in columns.items()}
            for x in kbl.data.read_csv(data / STS / f"{part}.tsv")
        ]
        for part in ("train", "dev")
    }
    first, second = halves(data)
    return {"stsb": (rows["train"], rows["dev"]), "squad": (second.pairs(), first)}


def ours(train: list[Result], test: Any, minutes: float, seed: int) -> Result:
    began = time.monotonic()
    found = tuned("sentence_embedding", train, minutes, seed)
    seconds, plan = time.monotonic() - began, found.report.recipe
    scores = kbl.evaluate(found.text_model, test)["scores"]
    return {"seconds": seconds, "steps": plan.steps, "scores": scores}


def theirs(train: list[Result], test: Any, minutes: float, seed: int) -> Result:
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
        losses,
    )
    from sentence_transformers.training_args import BatchSamplers

    scored = "label" in train[0]
    rows = [
        {
            "anchor": x["text"],
            "positive": x["text_pair"],
            **({"label": float(x["label"]) / 5} if scored else {}),
        }
        for x in train
    ]

    def fit(model: Any, steps: int, folder: str) -> None:
        loss = losses.CoSENTLoss if scored else losses.MultipleNegativesRankingLoss
        arguments = SentenceTransformerTrainingArguments(
            folder,
            max_steps=steps,
            per_device_train_batch_size=16 if scored else 32,
            learning_rate=2e-5,
            warmup_steps=max(1, steps // 10),
            batch_sampler=BatchSamplers.BATCH_SAMPLER
            if scored
            else BatchSamplers.NO_DUPLICATES,
            seed=seed,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            logging_strategy="no",
        )
        SentenceTransformerTrainer(
            model=model,
            args=arguments,
            train_dataset=Dataset.from_list(rows),
            loss=loss(model),
        ).train()

    def fresh() -> Any:
        model = SentenceTransformer(str(minilm()), device="cpu")
        model.max_seq_length = LENGTH
        return model

    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        fit(fresh(), TIMED, folder)
        step = (time.monotonic() - began) / TIMED
        steps, model = max(1, int(60 * minutes / step)), fresh()
        began = time.monotonic()
        fit(model, steps, folder)
        seconds = time.monotonic() - began
        saved = str(Path(folder, "model"))
        model.save_pretrained(saved)
        preprocessor = kbl.load_preprocessor(saved)
        text_model = kbl.with_text(kbl.load_model(saved), preprocessor)
    scores = kbl.evaluate(text_model, test)["scores"]
    return {"seconds": seconds, "steps": steps, "scores": scores}


def markdown(records: list[Result]) -> str:
    lines = []
    for name, metric in METRICS.items():
        for way in ("ours", "theirs"):
            found = [x for x in records if (x["set"], x["way"]) == (name, way)]
            scores = [100 * x["scores"][metric] for x in found]
            if found:
                each = ", ".join(f"{x:.1f}" for x in scores)
                minutes = mean(x["seconds"] for x in found) / 60
                score = f"{mean(scores):.1f}"
                lines.append([name, metric, way, score, each, f"{minutes:.1f}"])
    return table(["set", "score", "way", "mean", "seeds", "minutes"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sentence_training")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", choices=METRICS, default=list(METRICS))
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    log, known = Log(options.results), sets(options.data)
    for seed in range(options.seeds):
        for name in options.sets:
            for make in (ours, theirs):
                given = {"set": name, "seed": seed, "way": make.__name__}
                run = functools.partial(make, *known[name], options.minutes, seed)
                log.once({**given, "minutes": options.minutes}, run)
    print(markdown(log.records))


if __name__ == "__main__":
    main()
