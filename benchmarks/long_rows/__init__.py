"""ModernBERT on a CPU beside transformers and ZeroModels.

    python -m benchmarks.long_rows --data DATA --zeromodels PYTHON

PYTHON is the interpreter of an environment with ZeroModels (`make .venv-zeromodels`
makes one); without it ZeroModels is left out. All sides have ModernBERT-base's
configuration and random weights, in float32, and read ids: this package's encoder and
ZeroModels' `ModernBertModel` in a `tf.function`, transformers' `ModernBertModel` with
SDPA, which is its default. A step is one of fine-tuning a classifier of two labels by
AdamW: `train_on_batch` here, a loop in torch there. Each side is a process; they take
turns, and the times are ratios of the medians, the other's by ours, on the clock and of
CPU. Texts of SST-2 have the lengths of its development sentences in the pieces of
`bert_mini_books`; a step of about 60 tokens has those of pairs of MRPC. Memory is the
peak of a fresh process: above what it holds after a short text, and in all. Writes
`results/long_rows.json`; `--parts` measures some of it again.
"""
