"""A teacher and text in, a small sentence encoder out, by the command."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

import keras_bert_lite as kbl
import keras_bert_lite_command
from tests import tiny
from tests.pretraining.data.samples import text

pytestmark = pytest.mark.tensorflow(reason="the same commands, tested once")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "books.txt").write_text(text(), encoding="utf-8")
    teacher = tiny.encoder(num_layers=1, hidden_dim=32)
    kbl.save_hugging_face(teacher, tiny.preprocessor(), tmp_path / "teacher")
    fields = tiny.config(num_layers=1, dropout=0.0).to_dict()
    (tmp_path / "config.json").write_text(json.dumps(fields), encoding="utf-8")
    return tmp_path


def distil(folder, *more):
    options = {"--teacher": "teacher", "--preprocessor": "teacher"}
    options |= {"--directory": "run", "--validation": "books.txt"}
    given = [x for k, v in options.items() for x in (k, str(folder / v))]
    given += ["--steps", "4", "--save-every", "2", "--batch-size", "4", "--seed", "1"]
    given += ["--sequence-length", "24"]
    keras_bert_lite_command.main(
        ["distil", str(folder / "books.txt"), *given, *map(str, more)]
    )


@pytest.mark.slow
def test_from_a_teacher_to_a_student(folder, capsys):
    more = ("--dtype", "float16", "--dropout", 0.2)
    distil(folder, "--encoder-config", folder / "config.json", *more)
    model = folder / "run/model"
    assert str(model) in capsys.readouterr().out
    assert kbl.load_preprocessor(model).sequence_length == 24
    raw = json.loads((model / "config.json").read_text(encoding="utf-8"))
    assert raw["hidden_dropout_prob"] == raw["attention_probs_dropout_prob"] == 0.2
    tensors = load_file(model / "model.safetensors")
    first, second = tensors["embeddings.token_type_embeddings.weight"]
    np.testing.assert_array_equal(first, second)
    sentences = kbl.with_text(kbl.load_model(model), kbl.load_preprocessor(model))
    vectors = sentences.predict(["a fine day"], verbose=0)["sentence_embedding"]
    assert vectors.shape == (1, 16)
    np.testing.assert_allclose(np.linalg.norm(vectors), 1, atol=1e-3)


@pytest.mark.slow
def test_from_a_checkpoint(folder):
    distil(folder, "--model", folder / "teacher")
    assert kbl.load_encoder(folder / "run/model").count_params() > 0


@pytest.mark.slow
def test_pairs_train_the_second_segment(folder):
    distil(folder, "--model", folder / "teacher", "--pairs", "--warmup", 0.5)
    before, after = (
        kbl.load_encoder(folder / x).get_layer("embeddings").segment_embedding
        for x in ("teacher", "run/model")
    )
    changed = np.abs(before.get_weights()[0] - after.get_weights()[0]).max(-1)
    assert (changed > 1e-5).all()  # weight decay alone does less


@pytest.mark.parametrize(
    "more", [[], ["--encoder-config", "bert_tiny_uncased", "--model", "x"]]
)
def test_neither_or_both(folder, more, capsys):
    with pytest.raises(SystemExit) as stop:
        distil(folder, *more)
    assert stop.value.code == 1
    error = capsys.readouterr().err
    assert error.startswith("error: One of `encoder_config` (random weights) and")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("option", "message"),
    [(("--dropout", 2), "`dropout` must be"), (("--dtype", "int8"), "int8")],
)
def test_refuses_before_it_trains(folder, option, message, capsys):
    with pytest.raises(SystemExit):
        distil(folder, "--encoder-config", "bert_tiny_uncased", *option)
    assert message in capsys.readouterr().err
    assert not (folder / "run").exists()
