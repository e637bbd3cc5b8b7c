"""How models of tags answer."""

import pytest

from keras_bert_lite.finetuning.kinds import KINDS
from tests import tiny

pytestmark = pytest.mark.tensorflow(reason="strings need TensorFlow")
BIO = ["O", "B-X", "I-X"]


@pytest.mark.parametrize(
    ("task", "labels", "options", "decoding"),
    [
        ("token_classification", {"labels": BIO}, {}, "constrained"),
        ("token_classification", {"labels": ["NOUN", "VERB"]}, {}, "lenient"),
        (
            "token_classification",
            {"labels": BIO},
            {"decoding": "lenient"},
            "lenient",
        ),
        ("intent_and_slots", {"intents": ["a", "b"], "slots": BIO}, {}, "constrained"),
    ],
)
def test_tags_follow_their_scheme(task, labels, options, decoding):
    kind = KINDS[task]()
    model = kind.build(tiny.encoder(), labels)
    for make in (kind.string_model, kind.served_model):
        made = make(model, tiny.preprocessor(), **options)
        assert made.get_layer("answer").decoding == decoding
