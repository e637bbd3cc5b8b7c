import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from tests import tiny
from tests.conformance import assert_all_close, randomize, to_numpy
from tests.models import samples

POSITIONS = np.array([[1, 3, 0], [2, 4, 0]], "int32")
SHARING = ("tied", "gradient_disentangled", "none")


def config(**changes):
    return tiny.config(num_heads=4, pooling=None, **changes)


def inputs(**more):
    return {**samples.ids(), "masked_positions": POSITIONS, **more}


def built(sharing="tied", generator=None, **changes):
    encoder = kbl.encoder(config(dropout=0.0, attention_dropout=0.0, **changes))
    randomize(encoder)
    model = kbl.pretraining.electra_pretrainer(encoder, generator, sharing, seed=1)
    return encoder, model


@pytest.mark.parametrize("sharing", SHARING)
@pytest.mark.parametrize("embedding_dim", [None, 8])
def test_outputs(sharing, embedding_dim):
    encoder, model = built(sharing, embedding_dim=embedding_dim)
    given = inputs()
    outputs = model(given)
    vocabulary = encoder.get_layer("embeddings").vocabulary_size
    assert outputs["prediction_logits"].shape == (2, 3, vocabulary)
    assert outputs["replaced_logits"].shape == (*given["token_ids"].shape, 2)
    seen = to_numpy(outputs["replaced_logits"])[..., 1]
    others = np.ones_like(seen, bool)
    np.put_along_axis(others, POSITIONS[:, :2], False, axis=1)
    np.testing.assert_array_equal(seen[others], given["token_ids"][others])


@pytest.mark.parametrize("sharing", SHARING)
def test_the_discriminator_is_the_encoder_with_a_head(sharing):
    encoder, model = built(sharing)
    given = inputs()
    outputs = to_numpy(model(given)["replaced_logits"])
    detector = kbl.pretraining.electra_discriminator(model)
    seen = {**samples.ids(), "token_ids": outputs[..., 1].astype("int32")}
    assert_all_close(detector(seen)["logits"], outputs[..., 0])
    # Before training it is the encoder that was given.
    assert_all_close(
        kbl.encoder_of(detector)(seen)["sequence_output"],
        to_numpy(encoder(seen)["sequence_output"]),
    )


def test_words_are_drawn_from_the_scores():
    layer = kbl.layers.ReplaceTokens(seed=3)
    ids = np.zeros((2000, 4), "int32") + np.arange(4, dtype="int32")
    positions = np.tile(np.array([[2, 0]], "int32"), (2000, 1))
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    logits = np.tile(np.log(shares).astype("float32"), (2000, 2, 1))
    drawn = to_numpy(layer(ids, positions, logits))
    np.testing.assert_array_equal(np.delete(drawn, 2, 1), np.delete(ids, 2, 1))
    found = np.bincount(drawn[:, 2], minlength=4) / 2000
    assert np.abs(found - shares).max() < 0.05
    assert (to_numpy(layer(ids, positions, logits)) != drawn).any()


def changed(model, name, weights):
    """The paths of the weights that one step on one output changes."""
    given = inputs()
    targets = {
        "prediction_logits": POSITIONS + 7,
        "replaced_logits": given["token_ids"],
    }
    counts = {
        "prediction_logits": (POSITIONS > 0).astype("float32"),
        "replaced_logits": given["padding_mask"].astype("float32"),
    }
    kbl.compile(model, keras.optimizers.SGD(1.0))
    other = ({"prediction_logits", "replaced_logits"} - {name}).pop()
    counts[other] = np.zeros_like(counts[other])
    before = [to_numpy(x) for x in weights]
    model.train_on_batch(given, targets, counts)
    after = [to_numpy(x) for x in weights]
    return [
        x.path for x, a, b in zip(weights, before, after, strict=True) if (a != b).any()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("sharing", SHARING)
def test_whose_loss_changes_what(sharing):
    _, model = built(sharing, num_layers=1)
    found = changed(model, "replaced_logits", model.trainable_weights)
    assert any(path.startswith("blocks/") for path in found)
    assert any(path.startswith("head/") for path in found)
    assert not [path for path in found if "generator" in path]
    assert any("token_embedding" in path for path in found)
    _, model = built(sharing, num_layers=1)
    found = changed(model, "prediction_logits", model.trainable_weights)
    assert any(path.startswith("generator_blocks/") for path in found)
    assert not [path for path in found if path.startswith(("blocks/", "head/"))]
    tables = [path for path in found if "token_embedding" in path]
    wanted = {"tied": "embeddings/", "none": "generator_embeddings/"}
    side = wanted.get(sharing, "shared_embeddings/generator/")
    assert tables == [f"{side}token_embedding/embeddings"]


def test_a_disentangled_table_stays_the_sum():
    _, model = built("gradient_disentangled", num_layers=1)
    before = to_numpy(
        kbl.pretraining.electra_discriminator(model).get_layer("embeddings").weights[0]
    )
    both = model.get_layer("shared_embeddings")
    parts = [x.token_embedding.embeddings for x in (both.generator, both.discriminator)]
    assert not to_numpy(parts[1]).any()
    changed(model, "prediction_logits", parts)
    after = to_numpy(
        kbl.pretraining.electra_discriminator(model).get_layer("embeddings").weights[0]
    )
    assert np.abs(after - before).max() > 0
    assert_all_close(after, to_numpy(parts[0]) + to_numpy(parts[1]))


def test_loss_and_metrics():
    seen = np.array([[5, 6, 7, 0]], "float32")
    logits = np.array([[2.0, -1.0, 0.5, 9.0]], "float32")
    original = np.array([[5, 6, 8, 0]])
    weights = np.array([[1.0, 1.0, 1.0, 0.0]], "float32")
    output = np.stack([logits, seen], -1)
    p = 1 / (1 + np.exp(-logits[0, :3]))
    want = -np.log([1 - p[0], 1 - p[1], p[2]]).mean()
    loss = kbl.losses.ReplacedTokenLoss()(original, output, weights)
    assert float(loss) == pytest.approx(want, rel=1e-5)
    accuracy, recall = (
        kbl.metrics.ReplacedTokenAccuracy(),
        kbl.metrics.ReplacedTokenRecall(),
    )
    for metric in (accuracy, recall):
        metric.update_state(original, output, weights)
    assert float(accuracy.result()) == pytest.approx(2 / 3)
    assert float(recall.result()) == 1.0


@pytest.mark.parametrize("sharing", SHARING)
def test_survives_saving(sharing, tmp_path):
    _, model = built(sharing)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert len(loaded.weights) == len(model.weights)
    given = inputs()
    name = "prediction_logits"
    assert_all_close(loaded(given)[name], to_numpy(model(given)[name]))


def test_a_generator_that_was_trained():
    small = kbl.encoder(config(embedding_dim=16).replace(hidden_dim=8, num_heads=2))
    generator = kbl.masked_lm(small)
    randomize(generator)
    for sharing in SHARING:
        _, model = built(sharing, generator)
        layer = model.get_layer("generator_prediction_transform")
        assert_all_close(
            layer.dense.kernel, generator.get_layer("prediction_transform").dense.kernel
        )
        if sharing == "tied":
            continue
        masked = kbl.pretraining.masked_positions_model(generator)(inputs())[
            "prediction_logits"
        ]
        assert_all_close(model(inputs())["prediction_logits"], to_numpy(masked))


def test_packed():
    encoder = kbl.encoder(config())
    model = kbl.pretraining.electra_pretrainer(encoder, packed=True)
    ids = samples.ids()["token_ids"]
    outputs = model(inputs(sequence_ids=np.ones_like(ids)))
    assert outputs["replaced_logits"].shape == (*ids.shape, 2)


def test_trains_a_detector_further():
    detector = kbl.pretraining.replaced_token_detector(kbl.encoder(config()))
    model = kbl.pretraining.electra_pretrainer(detector)
    assert model.get_layer("head") is detector.get_layer("head")


def test_refuses():
    encoder = kbl.encoder(config())
    other = config(vocabulary_size=40)
    with pytest.raises(ValueError, match="`generator` must have the encoder's"):
        kbl.pretraining.electra_pretrainer(encoder, other, "none")
    with pytest.raises(ValueError, match="embedding_dim"):
        kbl.pretraining.electra_pretrainer(encoder, config().replace(hidden_dim=8))
    with pytest.raises(ValueError, match="`sharing` must be one of"):
        kbl.pretraining.electra_pretrainer(encoder, sharing="all")
    with pytest.raises(ValueError, match="output layer has weights of its own"):
        kbl.pretraining.electra_pretrainer(encoder, kbl.masked_lm(encoder, tied=False))
    with pytest.raises(ValueError, match="made by `electra_pretrainer`"):
        kbl.pretraining.electra_discriminator(encoder)
    before = config(embedding_dim=8, project_before_norm=True)
    with pytest.raises(ValueError, match="must not be 'tied'"):
        kbl.pretraining.electra_pretrainer(kbl.encoder(before))
