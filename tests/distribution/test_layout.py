import re

import keras
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.distribution.layout import check_axes, check_keys
from tests import tiny

LAYOUT = kbl.distribution.default_layout()
# Weights of two axes or more that are on every device.
REPLICATED = (
    r".*embeddings/(segment|position|task)_embedding/embeddings",
    r".*(embeddings|blocks)/projection/kernel",
    r".*relative_(table|bias)/embedding/embeddings",
    r".*convolution/convolution/kernel",
    r"(.*/)?pooler/dense/kernel",
    r".*prediction_(transform/dense|dense)/kernel",
    r"(.*_)?head/(hidden_)?dense/kernel",
    r"crf/transitions",
)
FAMILIES = {
    kbl.EncoderConfig.named(name).family: name for name in kbl.EncoderConfig.names()
}
PARTS = {
    "gated": {"gated": True},
    "embedding_dim": {"embedding_dim": 8},
    "convolution": {"convolution_size": 3},
    "task types": {"num_task_types": 3},
    "shared blocks": {"num_groups": 1},
}
BUILDERS = {
    "text_classifier": lambda x: kbl.text_classifier(x, labels=["a", "b"]),
    "multi_label": lambda x: kbl.multi_label_classifier(x, labels=["a", "b"]),
    "regressor": kbl.regressor,
    "tagger": lambda x: kbl.token_classifier(x, labels=["O", "X"]),
    "tagger with CRF": lambda x: kbl.token_classifier(x, ["O", "X"], crf=True),
    "intents": lambda x: kbl.intent_and_slot_classifier(x, ["a", "b"], ["O", "X"]),
    "question_answerer": kbl.question_answerer,
    "multiple_choice": kbl.multiple_choice,
    "masked_lm": kbl.masked_lm,
    "sentence_encoder": kbl.sentence_encoder,
    "bert_pretrainer": kbl.pretraining.bert_pretrainer,
    "electra_pretrainer": kbl.pretraining.electra_pretrainer,
}


def keys_of(path):
    return [key for key in LAYOUT if re.fullmatch(key, path)]


def matched(model):
    """Returns the keys that the weights match, after a check of each weight."""
    mesh = keras.distribution.DeviceMesh((1, 2), ("batch", "model"), ["a", "b"])
    found = set()
    for weight in model.weights:
        keys, path, shape = keys_of(weight.path), weight.path, tuple(weight.shape)
        found |= set(keys)
        kept = any(re.fullmatch(x, path) for x in REPLICATED)
        assert len(keys) + kept == (1 if len(shape) > 1 else len(keys)), path
        for key in keys:
            check_axes(path, shape, LAYOUT[key], mesh)
    return found


def small(name):
    """Returns an encoder of a family, with all of its parts."""
    config = kbl.EncoderConfig.named(name)
    sizes = {"vocabulary_size": 71, "num_layers": 2, "num_heads": 2, "hidden_dim": 16}
    sizes |= {"intermediate_dim": 32, "num_groups": config.num_groups and 1}
    sizes |= {"embedding_dim": config.embedding_dim and 8}
    sizes |= {"max_sequence_length": config.max_sequence_length and 24}
    return kbl.encoder(config.replace(**sizes))


def test_every_key_matches():
    """Each key is the path of a weight in some model, the generator's included."""
    models = [tiny.encoder(gated=True), small(FAMILIES["deberta"])]
    found = set.union(*(matched(x) for x in models))
    assert found == set(LAYOUT)


@pytest.mark.parametrize("family", FAMILIES)
def test_families(family):
    encoder = small(FAMILIES[family])
    assert matched(encoder)
    assert matched(kbl.masked_lm(encoder))
    assert matched(kbl.text_classifier(encoder, labels=["a", "b"]))


@pytest.mark.parametrize("part", PARTS)
def test_parts(part):
    assert matched(tiny.encoder(**PARTS[part]))


@pytest.mark.parametrize("builder", BUILDERS)
def test_heads(builder):
    assert matched(BUILDERS[builder](tiny.encoder()))


def test_vocabularies_are_cut_by_width():
    """The vocabulary of BERT does not divide by 4; its width does."""
    mesh = keras.distribution.DeviceMesh((1, 4), ("batch", "model"), [*"abcd"])
    path = "embeddings/token_embedding/embeddings"
    (key,) = keys_of(path)
    check_axes(path, (30522, 768), LAYOUT[key], mesh)
    with pytest.raises(ValueError, match="30522 does not divide by the 4 devices"):
        check_axes(path, (30522, 768), ("model", None), mesh)
    with pytest.raises(ValueError, match="each of the 2 axes"):
        check_axes(path, (30522, 768), ("model",), mesh)


def test_key_that_matches_nothing():
    model = tiny.encoder()
    with pytest.raises(ValueError, match="'query/kernel', which matches none"):
        check_keys({"query/kernel": (None, "model")}, model)
