"""Few labelled texts, made into many pairs that are alike or not."""

from collections.abc import Sequence

import keras
import numpy as np

from keras_bert_lite.models.encoder_model import encoder_of
from keras_bert_lite.models.tasks.sentence_embedding import (
    sentence_encoder,
    sentence_encoder_trainer,
)
from keras_bert_lite.text.preprocessor import Preprocessor
from keras_bert_lite.training.data.records import Record
from keras_bert_lite.training.data.sequences import text_dataset
from keras_bert_lite.training.losses import CosineSimilarityLoss
from keras_bert_lite.training.optimizers import bert_adamw, build_optimizer

REPEATS = 20  # pairs of a row with a text of its label, and as many with another's
MOST = 1600  # pairs
BATCH = 16


def contrast(
    model: keras.Model,
    preprocessor: Preprocessor,
    texts: Sequence[str],
    labels: Sequence[str],
    learning_rate: float,
    seed: int,
) -> None:
    """Trains a classifier's encoder on pairs of texts: are their labels the same?

    The cosine of two texts' vectors is to be 1 for the same label and 0 otherwise.

    Args:
        model: A model on ids, made by `text_classifier`. Its encoder is trained.
        preprocessor: Makes its inputs.
        texts, labels: The rows.
        learning_rate: The peak rate.
        seed: Of the pairs.

    Reference: [Tunstall et al., 2022](https://arxiv.org/abs/2209.11055), section 3.
    """
    rows = pairs(texts, labels, seed)
    data = text_dataset(
        rows, preprocessor, text=["first", "second"], label="same", batch_size=BATCH
    )
    encoder = sentence_encoder(encoder_of(model), pooling="mean")
    trainer = sentence_encoder_trainer(encoder)
    trainer.compile(bert_adamw(len(data), learning_rate), CosineSimilarityLoss())
    build_optimizer(trainer)
    trainer.fit(data, shuffle=False, verbose=0)


def pairs(texts: Sequence[str], labels: Sequence[str], seed: int) -> list[Record]:
    """Returns pairs of texts, half of them of the same label where there are two."""
    rng = np.random.default_rng(seed)
    by_label = np.array(labels)
    found: list[Record] = []
    for i, label in enumerate(labels):
        same = np.flatnonzero(by_label == label)
        others = np.flatnonzero(by_label != label)
        for group, target in ((same[same != i], 1.0), (others, 0.0)):
            if len(group):
                for j in rng.choice(group, REPEATS):
                    pair = {"first": texts[i], "second": texts[j]}
                    found.append({**pair, "same": target})
    return [found[i] for i in rng.permutation(len(found))[:MOST]]
