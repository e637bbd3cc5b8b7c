"""What works where TensorFlow is not installed; `test_without_tensorflow.py` runs it.

Under OpenVINO, which cannot train, models only predict.
"""

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from tests import tiny
from tests.paths import GOLDEN

TAGS = ["O", "B-day", "I-day"]
SLOTS, WORDS = "slot_logits", "prediction_logits"


def main() -> None:
    rng = np.random.default_rng(0)
    ids = rng.integers(5, len(tiny.VOCABULARY), (8, 10))
    mask = np.arange(10) < rng.integers(3, 11, 8)[:, None]
    inputs = {
        "token_ids": (ids * mask).astype("int32"),
        "segment_ids": np.zeros_like(ids, "int32"),
        "padding_mask": mask,
    }
    check_builders(inputs)
    if keras.backend.backend() != "openvino":
        train(kbl.text_classifier(encoder(), ["bad", "fine"]), inputs, ids[:, 0] % 2)
        train(kbl.token_classifier(encoder(), TAGS, crf=True), inputs, ids % 3)
        tuned = kbl.text_classifier(encoder(), ["bad", "fine"])
        kbl.tuning.enable_lora(tuned, 2)
        train(tuned, inputs, ids[:, 0] % 2)
    with tempfile.TemporaryDirectory() as folder:
        check_files(inputs, Path(folder))
        check_errors(Path(folder))
    kbl.load_encoder("bert_mini_books")


def encoder() -> keras.Model:
    return kbl.encoder(tiny.config())


def check_builders(inputs: dict[str, np.ndarray]) -> None:
    choices = {name: x.reshape(4, 2, -1) for name, x in inputs.items()}
    labels = ["bad", "fine"]
    shapes = {
        (kbl.text_classifier(encoder(), labels), "logits"): (8, 2),
        (kbl.multi_label_classifier(encoder(), labels), "logits"): (8, 2),
        (kbl.regressor(encoder()), "logits"): (8, 1),
        (kbl.token_classifier(encoder(), TAGS), "logits"): (8, 10, 3),
        (kbl.intent_and_slot_classifier(encoder(), labels, TAGS), SLOTS): (8, 10, 3),
        (kbl.question_answerer(encoder()), "start_logits"): (8, 10),
        (kbl.masked_lm(encoder()), WORDS): (8, 10, len(tiny.VOCABULARY)),
        (kbl.sentence_encoder(encoder()), "sentence_embedding"): (8, 16),
        (kbl.multiple_choice(encoder()), "logits"): (4, 2),
    }
    for (model, output), shape in shapes.items():
        rows = choices if model.name == "multiple_choice" else inputs
        assert predict(model, rows)[output].shape == shape, model.name


def predict(model: keras.Model, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return model.predict(inputs, batch_size=4, verbose=0)


def train(model: keras.Model, inputs: dict[str, np.ndarray], y: np.ndarray) -> None:
    kbl.compile(model, steps=4, learning_rate=1e-3)
    before = [np.array(x) for x in model.get_weights()]
    (output,) = model.output
    history = model.fit(inputs, {output: y}, batch_size=4, epochs=2, verbose=0)
    assert np.isfinite(history.history["loss"]).all()
    after = model.get_weights()
    assert any((x != y).any() for x, y in zip(before, after, strict=True))


def check_files(inputs: dict[str, np.ndarray], folder: Path) -> None:
    model = tiny.classifier()
    kbl.save_hugging_face(model, None, folder / "hugging_face")
    model.save(folder / "model.keras")
    expected = predict(model, inputs)["logits"]
    for loaded in (
        kbl.load_model(folder / "hugging_face"),
        keras.models.load_model(folder / "model.keras"),
    ):
        logits = predict(loaded, inputs)["logits"]
        np.testing.assert_allclose(logits, expected, atol=1e-5)


def check_errors(folder: Path) -> None:
    """Checks what is said by all that takes strings or serves."""
    calls: list[tuple[str, Callable]] = [
        ("`WordPieceTokenizer`", tiny.tokenizer),
        ("`WordPieceTokenizer`", lambda: kbl.load_tokenizer("bert_mini_books")),
        ("`WordPieceTokenizer`", lambda: kbl.load_preprocessor("bert_mini_books")),
        ("`BytePairTokenizer`", lambda: kbl.BytePairTokenizer({"a": 0}, [])),
        ("`SentencePieceTokenizer`", lambda: kbl.SentencePieceTokenizer(["a"], [0.0])),
        ("`Preprocessor`", lambda: kbl.Preprocessor(None, 8)),
        (
            "`WordPieceTokenizer`",
            lambda: keras.models.load_model(GOLDEN / "classifier.keras"),
        ),
        ("This", lambda: kbl.export_saved_model(tiny.classifier(), folder / "export")),
        ("This", lambda: kbl.serving.model_config("mood", "/models/mood")),
    ]
    for what, call in calls:
        message = (
            f"{what} needs TensorFlow and TensorFlow Text: `pip install tensorflow "
            "tensorflow-text`. Not installed: tensorflow"
        )
        with pytest.raises(ImportError, match=f"^{re.escape(message)}$"):
            call()
