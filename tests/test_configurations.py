"""Configurations of registered classes, as files of unknown origin have them."""

import contextlib
import inspect
import sys

import keras
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.text.byte_pair.byte_level import BYTES
from tests import tiny

CONFIG = tiny.config().to_dict()
LABELS = ["O", "B-PER"]
# Values of the arguments without a default, by their names.
ARGUMENTS = {
    "config": lambda: CONFIG,
    "labels": lambda: LABELS,
    "intents": lambda: LABELS,
    "slots": lambda: LABELS,
    "units": lambda: 2,
    "num_classes": lambda: 2,
    "num_labels": lambda: 2,
    "embedding_dim": lambda: 4,
    "peak": lambda: 1e-3,
    "steps": lambda: 10,
    "task": lambda: "regression",
    "output": lambda: "logits",
    "model": tiny.encoder,
    "preprocessor": tiny.preprocessor,
    "generator": lambda: CONFIG,
    "discriminator": lambda: CONFIG,
}
# Those of single classes.
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
INSTANCES = {
    "WordPieceTokenizer": tiny.tokenizer,
    "BytePairTokenizer": lambda: kbl.BytePairTokenizer(
        [*SPECIAL, *BYTES, "fi"], ["f i"]
    ),
    "SentencePieceTokenizer": lambda: kbl.SentencePieceTokenizer(
        ["<pad>", "<unk>", "[CLS]", "[SEP]", "▁", "a"], [0.0] * 6
    ),
    "Preprocessor": tiny.preprocessor,
    "TextModel": lambda: kbl.with_text(tiny.classifier(), tiny.preprocessor()),
    "MaskAnswer": lambda: _class("MaskAnswer")(
        tiny.tokenizer(special_tokens_in_text=True)
    ),
    "RelativeTable": lambda: _class("RelativeTable")(
        {**CONFIG, "relative_positions": {"max_distance": 8}}
    ),
    "DisentangledAttention": lambda: _class("DisentangledAttention")(
        {**CONFIG, "relative_positions": {"max_distance": 8}}
    ),
    "TokenConvolution": lambda: _class("TokenConvolution")(
        {**CONFIG, "convolution_size": 3}
    ),
    "RelativeBiasTable": lambda: _class("RelativeBiasTable")(
        {**CONFIG, "relative_bias": {"num_buckets": 32, "max_distance": 128}}
    ),
}
PACKAGE = "keras_bert_lite>"
NAMES = sorted(
    name.removeprefix(PACKAGE)
    for name in keras.saving.get_custom_objects()
    if name.startswith(PACKAGE)
)
pytestmark = pytest.mark.tensorflow(reason="strings need TensorFlow")
opened_files: list[str] = []


def _class(name):
    return keras.saving.get_registered_object(PACKAGE + name)


def _instance(name):
    if name in INSTANCES:
        return INSTANCES[name]()
    arguments = inspect.signature(_class(name).__init__).parameters.values()
    required = [
        x.name
        for x in arguments
        if x.default is x.empty and x.kind in (x.POSITIONAL_OR_KEYWORD, x.KEYWORD_ONLY)
    ]
    return _class(name)(**{x: ARGUMENTS[x]() for x in required if x != "self"})


@pytest.fixture(scope="module", autouse=True)
def _watch_files():
    """Notes every file that Python opens. A hook cannot be removed again."""
    sys.addaudithook(
        lambda event, arguments: (
            opened_files.append(str(arguments[0])) if event == "open" else None
        )
    )


@pytest.fixture
def secret(tmp_path, monkeypatch):
    """A file that no configuration may read, by Python or by TensorFlow."""
    path = tmp_path / "secret.txt"
    path.write_text("\n".join(tiny.VOCABULARY))
    for module, name in (
        (tf.io.gfile, "GFile"),
        (tf.io, "read_file"),
        (tf.lookup, "TextFileInitializer"),
    ):
        monkeypatch.setattr(module, name, lambda path, *_: opened_files.append(path))
    return str(path)


@pytest.mark.parametrize("name", NAMES)
def test_no_field_is_the_path_of_a_file(name, secret):
    config = _instance(name).get_config()
    for field in config:
        opened_files.clear()
        with contextlib.suppress(Exception):  # it may be refused in any way
            _class(name).from_config({**config, field: secret})
        assert secret not in opened_files, field


@pytest.mark.parametrize("name", ["WordPieceTokenizer", "BytePairTokenizer"])
def test_a_path_is_for_the_constructor(name, secret):
    config = _instance(name).get_config()
    for field in _class(name).LISTS:
        with pytest.raises(ValueError, match=f"`{field}` of a configuration must be"):
            _class(name).from_config({**config, field: secret})


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("Preprocessor", "tokenizer"),
        ("TextWindows", "preprocessor"),
        ("MaskAnswer", "tokenizer"),
    ],
)
def test_a_layer_inside_is_of_its_class(name, field):
    config = _instance(name).get_config()
    for other in (
        keras.saving.serialize_keras_object(keras.layers.Dense(1)),
        {**config[field], "class_name": "__tensor__", "config": {"value": 1}},
        {**config[field], "registered_name": "keras_bert_lite>Pooler"},
        "/etc/passwd",
        None,
    ):
        with pytest.raises((ValueError, TypeError, KeyError)):
            _class(name).from_config({**config, field: other})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_layers": 10**7}, "`num_layers` must be at most 512"),
        ({"hidden_dim": 2**30}, "must fit the memory"),
        ({"intermediate_dim": 10**12}, "must fit the memory"),
        ({"vocabulary_size": 10**13}, "must fit the memory"),
        ({"max_sequence_length": 10**13}, "must fit the memory"),
    ],
)
@pytest.mark.parametrize("name", ["Encoder", "Embeddings", "EncoderBlock"])
def test_sizes_fit_this_machine(name, changes, message):
    config = {**_instance(name).get_config(), "config": {**CONFIG, **changes}}
    with pytest.raises(ValueError, match=message):
        _class(name).from_config(config)
