"""Pretraining data beside Google's tool and KerasHub's: tokens a second, memory.

    python -m benchmarks.pretraining_data --text TEXT --vocabulary VOCAB.TXT

TEXT has a sentence a line and a blank line between documents. Each side makes rows of
128 tokens of its first megabytes, on one core, in a process of its own; the sides take
turns. Loading libraries is left out of the time, building the tokenizer is not. Then
this package alone makes data of 10 MB, 100 MB and 1 GB, the text repeated, on all
cores, to see whether memory grows.

- Google's: `official/nlp/data/create_pretraining_data.py` of the package
  tf-models-official (`pip install --no-deps`), as it is, `dupe_factor` 1.
- This package: the same objective (next sentence), masked once (`masking={}`), and,
  as is its default, masked while training.
- KerasHub: it has no pairs; `BertMaskedLMPreprocessor` in a `tf.data` pipeline, a line
  a row, written by `TFRecordWriter`.

Memory is the most that a process has held. What is mapped from files at the end is
given too: TensorFlow's libraries, nearly all of it. TensorFlow and Keras import JAX,
pandas and scikit-learn where they are installed, so what a user's process takes shows
where nothing but this package is (`results/plain_install`). Tokens are those of the
rows, special ones included, padding not.
"""
