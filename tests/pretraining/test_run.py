import json
import shutil
import signal
import subprocess
import sys
import time

import keras
import numpy as np
import pytest
from safetensors import safe_open

import keras_bert_lite as kbl
from keras_bert_lite.pretraining import run as run_module
from keras_bert_lite.pretraining.run import pretrain
from keras_bert_lite.tasks.pretraining.bert import (
    bert_pretrainer,
    masked_positions_model,
)
from tests import tiny
from tests.conformance import randomize
from tests.policies import dtype_policy
from tests.pretraining.data.samples import text, write
from tests.pretraining.interrupts import Interrupts
from tests.pretraining.runs import model, run, tensorflow_only


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    directory = tmp_path_factory.mktemp("written")
    path = directory / "text.txt"
    path.write_text(text(), encoding="utf-8")
    write(path, directory / "data")
    return directory


@pytest.fixture
def data(written, tmp_path):
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    return tmp_path / "data"


def test_history(data, tmp_path):
    optimizer = keras.optimizers.SGD(0.1)
    given = {"validation": data, "validation_steps": 2, "optimizer": optimizer}
    given["peak_tflops"] = 0.1
    trained, history = run(data, tmp_path / "run", **given)
    assert trained.optimizer is optimizer
    names = set(history.history)
    assert {"loss", "val_loss", "tokens_per_second"} <= names
    assert {"prediction_logits_accuracy", "seq_relationship_logits_accuracy"} <= names
    assert len(history.history["loss"]) == 3
    assert min(history.history["tokens_per_second"]) > 0
    found = {name: values[-1] for name, values in history.history.items()}
    assert found["mfu"] == pytest.approx(found["model_tflops"] / 0.1)
    assert 0 <= found["input_wait"] < 1
    lines = (tmp_path / "run" / "log.jsonl").read_text(encoding="utf-8").splitlines()
    epochs = [x for x in map(json.loads, lines) if x["event"] == "epoch"]
    assert [x["step"] for x in epochs] == [2, 4, 6]
    assert epochs[-1].items() >= found.items()


@pytest.mark.slow
def test_learns(data, tmp_path):
    _, history = run(
        data, tmp_path / "run", steps=120, save_every=20, learning_rate=3e-3
    )
    losses = history.history["loss"]
    assert losses[-1] < losses[0] - 0.5


def test_words_alone_from_pairs(data, tmp_path):
    _, history = run(data, tmp_path / "run", kbl.masked_lm, steps=2)
    assert "seq_relationship_logits_loss" not in history.history


def packed(encoder):
    return masked_positions_model(kbl.masked_lm(encoder), packed=True)


def replaced(encoder):
    return kbl.pretraining.electra_pretrainer(encoder, packed=True)


@pytest.mark.slow
@tensorflow_only
@pytest.mark.parametrize(
    ("build", "recipe"),
    [
        (packed, {"objective": "none", "pack": True}),
        (replaced, {"objective": "none", "pack": True}),
        (lambda encoder: masked_positions_model(bert_pretrainer(encoder)), {}),
    ],
)
def test_compiled_by_xla(tmp_path, build, recipe):
    """As Keras does where there is a GPU or a TPU."""
    path = tmp_path / "text.txt"
    path.write_text(text(), encoding="utf-8")
    write(path, tmp_path / "data", **recipe)
    losses = []
    for jit_compile in (False, True):
        keras.utils.set_random_seed(0)
        rates = {"dropout": 0.0, "attention_dropout": 0.0}
        config = tiny.config(max_sequence_length=32, num_layers=1, **rates)
        trained = build(kbl.encoder(config))
        given = {"replaced": build is replaced, "seed": 0}
        batches = kbl.pretraining.pretraining_dataset(tmp_path / "data", 4, **given)
        kbl.compile(trained, "sgd", jit_compile=jit_compile)
        assert trained.jit_compile == jit_compile
        history = trained.fit(batches, steps_per_epoch=2, shuffle=False, verbose=0)
        losses += history.history["loss"]
    assert losses[1] == pytest.approx(losses[0], rel=0.1 if build is replaced else 1e-4)


@pytest.fixture
def policy(request):
    with dtype_policy(request.param):
        yield


MIXED = pytest.param("mixed_float16", marks=pytest.mark.slow)


@pytest.mark.parametrize("policy", ["float32", MIXED], indirect=True)
def test_goes_on_where_it_was(data, tmp_path, policy):
    whole, _ = run(data, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(data, tmp_path / "parts", callbacks=[Interrupts(5)])
    parts, history = run(data, tmp_path / "parts")
    assert history.epoch == [2]
    for a, b in zip(whole.weights, parts.weights, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    done, history = run(data, tmp_path / "parts")
    assert history.epoch == []
    for a, b in zip(done.weights, parts.weights, strict=True):
        np.testing.assert_array_equal(a, b)


PROGRAM = """
import sys
from pathlib import Path
import keras, tensorflow as tf
from tests.pretraining.runs import (run)
tf.config.experimental.enable_op_determinism()
model, _ = run(Path(sys.argv[1]), Path(sys.argv[2]), steps=60, save_every=5)
model.save_weights(sys.argv[3])
"""


def begin(*arguments):
    return subprocess.Popen([sys.executable, "-c", PROGRAM, *map(str, arguments)])


@tensorflow_only
@pytest.mark.slow
def test_killed_runs_end_with_the_same_bits(data, tmp_path):
    assert begin(data, tmp_path / "whole", tmp_path / "a.weights.h5").wait() == 0
    killed = 0
    for wait in (0.0, 0.7, 0.3):
        process = begin(data, tmp_path / "parts", tmp_path / "b.weights.h5")
        states = len(list((tmp_path / "parts").glob("*.safetensors")))
        while process.poll() is None:
            found = list((tmp_path / "parts").glob("*.safetensors"))
            if len(found) > min(states, 1):
                time.sleep(wait)
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.02)
        killed += process.wait() == -signal.SIGKILL
    assert killed
    assert begin(data, tmp_path / "parts", tmp_path / "b.weights.h5").wait() == 0
    weights = []
    for name in "ab":
        made = model()
        made.load_weights(tmp_path / f"{name}.weights.h5")
        weights.append(made.get_weights())
    for a, b in zip(*weights, strict=True):
        np.testing.assert_array_equal(a, b)


def test_refuses_a_run_of_other_settings(data, tmp_path):
    run(data, tmp_path / "run", steps=2)
    with pytest.raises(ValueError, match=r"a run of the same settings.*'batch_size'"):
        run(data, tmp_path / "run", steps=2, batch_size=2)


@tensorflow_only
@pytest.mark.slow
def test_goes_on_with_less_memory(data, tmp_path):
    def begin(steps, *callbacks):
        made = model()
        if not callbacks:
            kbl.tuning.set_gradient_checkpointing(made)
            kbl.set_unpadding(made, False)
        given = {"steps": steps, "batch_size": 4, "save_every": 2, "verbose": 0}
        return pretrain(made, data, tmp_path / "run", callbacks=callbacks, **given)

    with pytest.raises(KeyboardInterrupt):
        begin(6, Interrupts(3))
    assert begin(6).epoch == [1, 2]


@tensorflow_only
def test_saved_beside_its_data(data):
    run(data, data, steps=2)
    _, history = run(data, data, steps=2)
    assert history.epoch == []
    write(data.parent / "text.txt", data)


@tensorflow_only
@pytest.mark.parametrize(
    ("build", "recipe", "given"),
    [
        (packed, {}, True),
        (replaced, {}, False),
        pytest.param(replaced, {"masking": {}}, False, marks=pytest.mark.slow),
    ],
)
def test_validation_data_masked_when_written(
    tmp_path, build, recipe, given, monkeypatch
):
    """Or the others: each has masks of its own kind."""
    shares, dataset = {}, run_module.pretraining_dataset

    def records(data, *args, masking, **options):
        shares[data.name] = masking and masking.to_dict()["mask_share"]
        return dataset(data, *args, masking=masking, **options)

    monkeypatch.setattr(run_module, "pretraining_dataset", records)
    path = tmp_path / "text.txt"
    path.write_text(text(), encoding="utf-8")
    packing = {"objective": "none", "pack": True}
    write(path, tmp_path / "data", **packing, **recipe)
    other = {} if recipe else {"masking": {}}
    write(path, tmp_path / "held_out", **packing, **other)
    keras.utils.set_random_seed(0)
    history = pretrain(
        build(kbl.encoder(tiny.config(max_sequence_length=32, num_layers=1))),
        *(tmp_path / "data", tmp_path / "run", 2, 4),
        validation=tmp_path / "held_out",
        validation_steps=2,
        masking=kbl.pretraining.Masking(tiny.tokenizer(), mask_share=0.5)
        if given
        else None,
    )
    assert np.isfinite(history.history["val_loss"]).all()
    drawn = 0.5 if given else 0.85  # as ELECTRA has it
    assert shares == {
        "data": None if recipe else drawn,
        "held_out": drawn if recipe else None,
    }


def test_refuses_a_run_of_other_layers_or_data(data, tmp_path):
    run(data, tmp_path / "run", steps=2)
    given = {"steps": 2, "batch_size": 4, "save_every": 2}
    rates = {"max_sequence_length": 32, "num_layers": 1, "attention_dropout": 0.0}
    other = masked_positions_model(bert_pretrainer(kbl.encoder(tiny.config(**rates))))
    with pytest.raises(
        ValueError, match=r"'layer \d+, Encoder: config: attention_dropout': "
    ):
        pretrain(other, data, tmp_path / "run", **given)
    write(tmp_path / "text.txt", tmp_path / "other", seed=1)
    with pytest.raises(ValueError, match="'data': "):
        pretrain(model(), tmp_path / "other", tmp_path / "run", **given)


def test_refuses_validation_data_that_do_not_fit(data, tmp_path):
    text = tmp_path / "text.txt"
    write(text, tmp_path / "single", objective="none")
    with pytest.raises(ValueError, match="so `validation` must have pairs"):
        run(data, tmp_path / "run", validation=tmp_path / "single")
    tokenizer = kbl.WordPieceTokenizer(tiny.VOCABULARY[:-1])
    others = kbl.Preprocessor(tokenizer, 32)
    kbl.pretraining.write_pretraining_data(
        text, tmp_path / "other", others, show_progress=False
    )
    with pytest.raises(ValueError, match=r"the tokenizer of `data`.*\['vocabulary"):
        run(data, tmp_path / "run", validation=tmp_path / "other")


@pytest.mark.parametrize("argument", ["data", "validation"])
def test_no_data(data, tmp_path, argument):
    given = {"data": data, "validation": data, argument: tmp_path / "none"}
    with pytest.raises(FileNotFoundError, match=f"`{argument}` must hold"):
        run(given["data"], tmp_path / "run", validation=given["validation"])


def test_names_a_shard_that_is_damaged(data, tmp_path):
    path = sorted(data.glob("*.tfrecord"))[1]
    content = bytearray(path.read_bytes())
    content[40] ^= 255
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=f"{path}: is damaged"):
        run(data, tmp_path / "run", steps=40, save_every=40)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (model, {"steps": 3}, "`steps` must be a multiple"),
        (model, {"optimizer": "sgd"}, "`optimizer` must be one of"),
        (
            model,
            {"optimizer": keras.optimizers.SGD(0.1), "warmup": 0.1},
            r"a name.*options are given. Received: '(sgd|SGD)', and \['warmup'\]",
        ),
        (model, {"loss_weights": {"words": 1.0}}, r"of the outputs .*\['words'\]"),
        (
            lambda: bert_pretrainer(kbl.encoder(tiny.config())),
            {},
            "`masked_positions_model`",
        ),
        (
            lambda: masked_positions_model(
                kbl.masked_lm(kbl.encoder(tiny.config())), packed=True
            ),
            {},
            "must both be packed or not",
        ),
        (
            lambda: masked_positions_model(kbl.masked_lm(kbl.encoder(tiny.config()))),
            {},
            "a position for every token",
        ),
        (
            lambda: masked_positions_model(
                kbl.masked_lm(
                    kbl.encoder(tiny.config(vocabulary_size=20, max_sequence_length=32))
                )
            ),
            {},
            "an embedding for every piece",
        ),
    ],
)
def test_refuses(data, tmp_path, make, options, message):
    with pytest.raises(ValueError, match=message):
        pretrain(
            make(), data, tmp_path / "run", **{"steps": 4, "save_every": 2} | options
        )


def distil(data, directory, randomized=False, **options):
    student, teacher = model(kbl.masked_lm), model(kbl.masked_lm)
    if randomized:
        randomize(teacher)
    given = {"steps": 6, "batch_size": 4, "save_every": 2, "verbose": 0, **options}
    pretrain(
        kbl.distillation.distillation_model(student, teacher), data, directory, **given
    )
    return student


@tensorflow_only
@pytest.mark.slow
def test_distillation_goes_on(data, tmp_path):
    whole = distil(data, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        distil(data, tmp_path / "parts", callbacks=[Interrupts(5)])
    parts = distil(data, tmp_path / "parts")
    for a, b in zip(whole.weights, parts.weights, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_a_teacher_is_not_saved_but_known(data, tmp_path):
    student = distil(data, tmp_path, steps=2)
    with safe_open(tmp_path / "step_000000002.safetensors", "numpy") as file:
        sizes = [np.prod(file.get_slice(x).get_shape()) for x in file.keys()]  # noqa: SIM118
    # Its weights, two moments of AdamW, and a few numbers.
    assert sum(sizes) < 3 * student.count_params() + 100
    with pytest.raises(ValueError, match="teacher_weights"):
        distil(data, tmp_path, randomized=True, steps=2)


def test_refuses_data_without_pairs(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(text(), encoding="utf-8")
    write(path, tmp_path / "data", objective="none")
    with pytest.raises(ValueError, match="`data` must have"):
        run(tmp_path / "data", tmp_path / "run")
