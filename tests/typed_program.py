"""A program of a user, which mypy and pyright check against the installed wheel.

It is not run. Lines with an error must be errors: an unused `ignore` fails as well.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true
from collections.abc import Iterator
from pathlib import Path
from typing import Any, assert_type

import keras

import keras_bert_lite as kbl

config = kbl.EncoderConfig.named("bert_base_uncased")
assert_type(config, kbl.EncoderConfig)
assert_type(config.to_dict(), dict[str, Any])

tokenizer = kbl.WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]"], lowercase=True)
assert_type(tokenizer, kbl.WordPieceTokenizer)
assert_type(tokenizer.vocabulary_size(), int)

encoder = kbl.load_encoder("bert_mini_books")
assert_type(encoder, keras.Model)
classifier = kbl.text_classifier(encoder, labels=["bad", "good"])
model = kbl.with_text(classifier, kbl.Preprocessor(tokenizer))
assert_type(model, kbl.TextModel)

assert_type(kbl.export_saved_model(model, "saved_models/moods"), Path)
assert_type(kbl.check_servable("saved_models/moods").problems, tuple[str, ...])
assert_type(kbl.predict_texts(model, ["fine"]), Iterator[dict[str, Any]])
assert_type(kbl.finetune("text_classifier", "train.csv"), kbl.tuning.FineTuned)
assert_type(kbl.serving.Client("localhost:8500", "moods"), kbl.serving.Client)

kbl.text_classifier(encoder, labels=2)  # type: ignore[arg-type]
kbl.WordPieceTokenizer(["[PAD]"], lower_case=True)  # type: ignore[call-arg]
kbl.load_encoders("bert_mini_books")  # type: ignore[attr-defined]
