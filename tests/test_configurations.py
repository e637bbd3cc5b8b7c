"""Configurations of registered classes, as files of unknown origin have them."""

import contextlib
import inspect
import sys

import keras
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite import sizes
from keras_bert_lite.models.encoder_parts import make_blocks
from keras_bert_lite.text.byte_pair.byte_level import BYTES
from keras_bert_lite.training.in_chunks import InChunks
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
    "num_heads": lambda: 2,
    "max_distance": lambda: 8,
    "span": lambda: 8,
    "intermediate_dim": lambda: 32,
    "vocabulary_size": lambda: 12,
    "hidden_dim": lambda: 16,
    "loss": kbl.losses.CoSENTLoss,
    "dimensions": lambda: [8, 4],
    "generator": lambda: kbl.layers.Embeddings(12, 16),
    "discriminator": lambda: kbl.layers.Embeddings(12, 16),
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
    "EncoderBlock": lambda: kbl.layers.EncoderBlock(2, 32),
    "Encoder": lambda: make_blocks(tiny.config()),
    "InChunks": lambda: InChunks(kbl.sentence_encoder(tiny.encoder()), 2),
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
        ("EncoderBlock", "attention"),
        ("GradientDisentangledEmbeddings", "generator"),
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
def test_sizes_of_a_configuration_fit_this_machine(changes, message):
    config = {**_instance("Encoder").get_config(), "config": {**CONFIG, **changes}}
    with pytest.raises(ValueError, match=message):
        _class("Encoder").from_config(config)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("Embeddings", {"vocabulary_size": 10**13}),
        ("Embeddings", {"max_sequence_length": 10**13}),
        ("Embeddings", {"num_segments": 10**13}),
        ("Embeddings", {"hidden_dim": 2**40}),
        ("FeedForward", {"intermediate_dim": 10**12}),
        ("SelfAttention", {}),
        ("RelativeTable", {"span": 10**12}),
        ("RelativeBiasTable", {"num_buckets": 4 * 10**12, "max_distance": 2 * 10**12}),
        ("TokenConvolution", {"kernel_size": 10**9 + 1}),
    ],
)
def test_sizes_of_layers_fit_this_machine(name, changes):
    """Of a file that says neither how wide the input is nor how much it stores."""
    width = 64 if changes else 2**30
    config = {**_instance(name).get_config(), **changes}
    with pytest.raises((TypeError, ValueError), match="must fit the memory"):
        _class(name).from_config(config).build((None, None, width))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "Embeddings",
            "`config` is no longer an argument of `Embeddings`: the file was",
        ),
        ("FeedForward", "`config` is no longer an argument of `FeedForward`"),
        ("Encoder", "`blocks` must be given with `config`: the file was saved by"),
    ],
)
def test_files_of_an_earlier_state(name, message):
    with pytest.raises(ValueError, match=message):
        _class(name).from_config({"name": "x", "config": CONFIG})


def test_all_blocks_fit_this_machine(monkeypatch):
    monkeypatch.setattr(sizes, "_memory", lambda: 20_000)
    kbl.layers.Encoder(4, 2, 32).build((None, None, 16))
    with pytest.raises(ValueError, match="`num_layers` or `blocks` must fit the mem"):
        kbl.layers.Encoder(5, 2, 32).build((None, None, 16))
