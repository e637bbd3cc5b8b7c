"""Few rows a label: `kbl.finetune` beside SetFit, from the same MiniLM.

    python -m benchmarks.few_labels --data DATA --setfit PYTHON

PYTHON is the interpreter of an environment with `setfit==1.2.0`. For each set, number
of rows a label and draw, both learn from the same rows and are scored by accuracy on
the same test rows. Times are seconds of CPU: of `finetune` from rows to the string-in
model, of SetFit from the loaded model to the trained one. Each result is a line of
`results/few_labels.jsonl`, in which the next call goes on. Those of `finetune` are of
the recipe that learned from pairs of texts, a rule that has left it since
(`benchmarks.ablation`).
"""
