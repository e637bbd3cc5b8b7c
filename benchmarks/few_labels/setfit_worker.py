"""Trains SetFit on rows from standard input; runs in SetFit's own environment.

    python setfit_worker.py < JOB > ANSWERS

The job is JSON: `model` (a directory), `texts`, `labels`, `tests`, `seed`. The answers
are the labels of the tests and the seconds of CPU that training took. `num_iterations`
is the 20 of the paper (Tunstall et al., 2022); the rest is SetFit's default.
"""

import contextlib
import json
import sys
import tempfile
import time

from datasets import Dataset
from setfit import SetFitModel, Trainer, TrainingArguments

ITERATIONS = 20


def main() -> None:
    job = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as out:
        model = SetFitModel.from_pretrained(job["model"])
        options = {"num_iterations": ITERATIONS, "seed": job["seed"]}
        trainer = Trainer(
            model=model,
            args=TrainingArguments(output_dir=out, report_to="none", **options),
            train_dataset=Dataset.from_dict(
                {"text": job["texts"], "label": job["labels"]}
            ),
        )
        began = time.process_time()
        trainer.train()
        seconds = time.process_time() - began
        answers = [str(x) for x in model.predict(job["tests"])]
    json.dump({"answers": answers, "cpu_seconds": seconds}, sys.stdout)


if __name__ == "__main__":
    main()
