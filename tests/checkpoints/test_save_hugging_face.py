"""What is written, and what is refused; the weights are in test_families."""

import json
import stat

import keras
import numpy as np
import pytest
import safetensors
import safetensors.numpy

import keras_bert_lite as kbl
from tests import tiny
from tests.policies import dtype_policy


def directory_of(model, tmp_path, preprocessor=None, **options):
    directory = tmp_path / "saved"
    kbl.save_hugging_face(model, preprocessor, directory, **options)
    return directory


def same(model, other):
    assert [x.path for x in model.weights] == [x.path for x in other.weights]
    for x, y in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(x, y)


def test_a_model_with_its_tokenizer_comes_back(tmp_path):
    preprocessor = tiny.preprocessor()
    model = kbl.text_classifier(tiny.encoder(), ["bad", "fine"])
    directory = directory_of(model, tmp_path, preprocessor)
    assert sorted(x.name for x in directory.iterdir()) == [
        "config.json",
        "model.safetensors",
        "special_tokens_map.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.txt",
    ]
    same(kbl.load_model(directory), model)
    loaded = kbl.load_preprocessor(directory)
    assert loaded.sequence_length == preprocessor.sequence_length
    for name, value in preprocessor(tiny.TEXTS).items():
        np.testing.assert_array_equal(loaded(tiny.TEXTS)[name], value)
    with pytest.warns(UserWarning, match=r"not used: \['classifier.bias'"):
        same(kbl.load_encoder(directory), kbl.encoder_of(model))


def test_others_may_read_it(tmp_path):
    for path in directory_of(tiny.encoder(), tmp_path).iterdir():
        assert path.stat().st_mode & stat.S_IROTH


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_the_size(tmp_path, dtype):
    directory = directory_of(tiny.encoder(), tmp_path, dtype=dtype)
    assert json.loads((directory / "config.json").read_text())["dtype"] == dtype
    with safetensors.safe_open(directory / "model.safetensors", "numpy") as file:
        types = {file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118
    assert types == {{"float16": "F16", "bfloat16": "BF16"}[dtype]}
    loaded = kbl.load_encoder(directory)
    again = tmp_path / "again"
    kbl.save_hugging_face(loaded, None, again, dtype=dtype)
    for name in ("model.safetensors", "config.json"):
        assert (again / name).read_bytes() == (directory / name).read_bytes()


def test_models_of_other_dtypes(tmp_path):
    policy = keras.dtype_policies.get("bfloat16")
    with dtype_policy(policy):
        model = tiny.encoder()
    loaded = kbl.load_encoder(directory_of(model, tmp_path))
    for x, y in zip(model.weights, loaded.weights, strict=True):
        wanted = keras.ops.convert_to_numpy(keras.ops.cast(x, "float32"))
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(y), wanted)


@pytest.mark.filterwarnings("ignore:__array__:DeprecationWarning")
@pytest.mark.parametrize("family", ["distilbert", "electra", "deberta-v2"])
def test_a_pooler_that_the_architecture_lacks_is_told(tmp_path, family):
    changes = {"num_segments": 0, "layer_norm_epsilon": 1e-12} | {"family": family}
    if family == "deberta-v2":
        changes |= {"project_before_norm": True}
    with pytest.warns(UserWarning, match=r"has no pooler: \['pooler/dense/bias'"):
        directory = directory_of(tiny.encoder(**changes), tmp_path)
    with safetensors.safe_open(directory / "model.safetensors", "numpy") as file:
        assert not [name for name in file.keys() if "pooler" in name]  # noqa: SIM118
    assert list(kbl.load_encoder(directory).output) == ["sequence_output"]


def test_an_encoder_without_a_pooler(tmp_path):
    model = tiny.encoder(pooling=None)
    same(kbl.load_encoder(directory_of(model, tmp_path)), model)


@pytest.mark.parametrize("pooling", ["mean", "max", "attention"])
def test_other_poolings_are_refused(tmp_path, pooling):
    model = tiny.encoder(pooling=pooling)
    for each in (model, kbl.text_classifier(model, ["bad", "fine"])):
        with pytest.raises(ValueError, match=f"`pooling` must .*{pooling!r}"):
            directory_of(each, tmp_path)
    assert not list(tmp_path.iterdir())


def test_other_poolings_under_a_head_that_does_not_use_them(tmp_path):
    model = kbl.token_classifier(tiny.encoder(pooling="mean"), ["a", "b"])
    same(kbl.load_model(directory_of(model, tmp_path)), model)


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("distilbert", {"num_segments": 2}),
        ("distilbert", {"layer_norm_epsilon": 1e-5, "num_segments": 0}),
        ("bert", {"num_groups": 1}),
        ("bert", {"embedding_dim": 8}),
        ("bert", {"position_offset": 2}),
        ("bert", {"max_sequence_length": None}),
        ("bert", {"convolution_size": 3}),
        ("bert", {"relative_positions": kbl.config.RelativePositions(max_distance=8)}),
        ("albert", {"num_groups": None, "embedding_dim": 16}),
        ("albert", {"embedding_dim": None, "num_groups": 1}),
        ("albert", {"project_before_norm": True, "embedding_dim": 8, "num_groups": 1}),
        ("electra", {"embedding_dim": 16}),
        ("deberta-v2", {"project_before_norm": False, "embedding_dim": 8}),
    ],
)
def test_what_the_layout_has_no_field_for(tmp_path, family, changes):
    model = tiny.encoder(family=family, pooling=None, **changes)
    (field, *_) = changes
    with pytest.raises(ValueError, match=f"cannot be this encoder: .*`{field}` must"):
        directory_of(model, tmp_path)
    assert not list(tmp_path.iterdir())


def test_arguments(tmp_path):
    with pytest.raises(ValueError, match=r"`dtype` must be one of .*'int8'"):
        directory_of(tiny.encoder(), tmp_path, dtype="int8")
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "mine.txt").write_text("keep me")
    with pytest.raises(ValueError, match="`directory` must be new, empty, or hold"):
        directory_of(tiny.encoder(), tmp_path)
    assert (tmp_path / "saved" / "mine.txt").read_text() == "keep me"
    with pytest.raises(ValueError, match="encoder"):
        directory_of(keras.Sequential([keras.layers.Dense(2)]), tmp_path)


def test_an_earlier_one_is_replaced(tmp_path):
    directory_of(kbl.text_classifier(tiny.encoder(), ["bad", "fine"]), tmp_path)
    model = tiny.encoder(num_layers=1)
    directory = directory_of(model, tmp_path)
    same(kbl.load_model(directory), model)
    assert [x.name for x in tmp_path.iterdir()] == ["saved"]


def test_weights_beyond_the_dtype(tmp_path):
    model = tiny.encoder()
    kernel = next(x for x in model.weights if "kernel" in x.path)
    kernel.assign(kernel * 1e7)
    with pytest.raises(ValueError, match=r"Received: 'float16', and 'encoder.layer.0"):
        directory_of(model, tmp_path, dtype="float16")
    assert not list(tmp_path.iterdir())
    kernel.assign(np.full(kernel.shape, np.inf))
    with pytest.raises(ValueError, match=r"must have finite weights.*kernel"):
        directory_of(model, tmp_path)
    assert not list(tmp_path.iterdir())


def test_names_of_numbers_are_kept(tmp_path):
    model = kbl.regressor(tiny.encoder(), 2, names=["price", "age"])
    directory = directory_of(model, tmp_path)
    config = json.loads((directory / "config.json").read_text())
    assert config["id2label"] == {"0": "price", "1": "age"}
    assert kbl.load_model(directory).get_layer("head").names == ["price", "age"]
    with pytest.raises(ValueError, match="`names` must be 1"):
        kbl.regressor(tiny.encoder(), names=["price", "age"])
    with pytest.raises(ValueError, match="`names` must be at least one name"):
        kbl.regressor(tiny.encoder(), 2, names=["age", "age"])
