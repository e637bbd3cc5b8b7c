"""Training steps of BERT-base on a GPU beside transformers: tokens a second.

    python -m benchmarks.gpu --data DATA

One workload was run on a GPU so far (`docs/guide/devices.md`). On a CPU, `--tiny` runs
all of it with a BERT of two layers, as a test of the script; its times say nothing.

`--texts FOLDER --rounds 0` tokenizes the texts, which takes TensorFlow; with that
folder, the JAX and torch sides need no TensorFlow.

Two tasks, masked words (15 %) and a classifier of two classes; rows of at most 128
tokens (the sentences of SST-2) and of at most 512 (the paragraphs of WikiText-2), with
the vocabulary of bert-base-uncased. Labels of paragraphs are made up: they cost what
others do. Dropout 0.1, bfloat16 where a library's mixed precision uses it (weights are
float32), AdamW, gradients clipped to a norm of 1. All sides learn the same words of the
same texts in the same steps. They differ in how they lay texts into rows:

- *padded*: each text in a row of the full length, for everyone;
- *real lengths*: as a library does best. transformers pads to the longest text of a
  step, as its `DataCollatorWithPadding` does. This package under JAX packs several
  texts, which do not see each other, into a row of masked words, and pads a
  classifier's rows to the next of a few lengths, since XLA compiles each shape; so does
  TensorFlow with XLA. TensorFlow with padding removed pads to the longest text and
  computes on the real tokens only. Under torch, rows are laid out as under JAX.

A token counts that is trained on: special tokens do, padding does not. Each side is a
process, and the sides take turns in rounds. A round times three epochs of a few steps;
the epoch before them, in which shapes are compiled, is left out. transformers runs with
SDPA, as it is and through `torch.compile`. What a library's metrics cost counts.

CUDA's libraries of JAX, TensorFlow and torch may clash in one environment:
`--python JAX=PATH` gives a side an interpreter of its own.
"""
