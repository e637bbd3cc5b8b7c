import numpy as np
import pytest
import tensorflow as tf

import keras_bert_lite as kbl
from keras_bert_lite.pretraining.data.masking import Masking
from tests import tiny

SEED = [3, 4]
SPECIAL = [
    tiny.VOCABULARY.index(x) for x in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
]
MASK = tiny.VOCABULARY.index("[MASK]")
LETTERS = tiny.VOCABULARY.index("a")
INSIDE = tiny.VOCABULARY.index("##a")


def rows(lengths=(64, 50, 3, 2), width=64, seed=0):
    """[CLS] pieces [SEP], padded."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(LETTERS, len(tiny.VOCABULARY), (len(lengths), width))
    ids[:, 0] = tiny.VOCABULARY.index("[CLS]")
    mask = np.arange(width) < np.array(lengths)[:, None]
    ids[np.arange(len(lengths)), np.array(lengths) - 1] = tiny.VOCABULARY.index("[SEP]")
    return np.where(mask, ids, 0).astype("int32"), mask


def run(masking, ids, mask, seed=SEED):
    outputs = masking(tf.constant(ids), tf.constant(mask), tf.constant(seed))
    return {k: x.numpy() for k, x in outputs.items()}


@pytest.mark.parametrize("unit", ["token", "whole_word", "ngram"])
def test_what_may_be_masked(unit):
    ids, mask = rows(lengths=[64, 50, 30, 9, 3, 2] * 20)
    made = run(Masking(tiny.tokenizer(), unit=unit), ids, mask)
    real = made["masked_weights"] > 0
    assert made["masked_positions"].shape == (120, 10)
    for i, row in enumerate(ids):
        places = made["masked_positions"][i, real[i]]
        assert (np.diff(places) > 0).all()  # in order, none twice
        assert not set(row[places]) & set(SPECIAL)
        assert (places < mask[i].sum()).all()
        np.testing.assert_array_equal(made["masked_ids"][i, real[i]], row[places])
        others = np.setdiff1d(np.arange(64), places)
        np.testing.assert_array_equal(made["token_ids"][i, others], row[others])
        assert not set(made["token_ids"][i, places]) & (set(SPECIAL) - {MASK})
    assert (made["masked_positions"][~real] == 0).all()
    assert (made["masked_ids"][~real] == 0).all()
    assert (real.sum(1)[5::6] == 0).all()  # [CLS] [SEP]


@pytest.mark.parametrize("unit", ["token", "whole_word", "ngram"])
def test_shares(unit):
    ids, mask = rows(lengths=[128] * 2000, width=128)
    made = run(Masking(tiny.tokenizer(), unit=unit), ids, mask)
    real = made["masked_weights"] > 0
    assert abs(real.sum() / (2000 * 126) - 0.15) < 0.002
    seen = np.take_along_axis(made["token_ids"], made["masked_positions"], 1)[real]
    was = made["masked_ids"][real]
    number = real.sum()
    # A random piece may be the piece that stood there.
    chance = 0.1 / (len(tiny.VOCABULARY) - len(SPECIAL))
    for share, expected in (
        (np.mean(seen == MASK), 0.8),
        (np.mean(seen == was), 0.1 + chance),
    ):
        deviation = np.sqrt(expected * (1 - expected) / number)
        assert abs(share - expected) < 4 * deviation


def test_every_token_has_the_same_chance():
    ids, mask = rows(lengths=[40] * 4000, width=40)
    made = run(Masking(tiny.tokenizer()), ids, mask)
    places = made["masked_positions"][made["masked_weights"] > 0]
    counts = np.bincount(places, minlength=40)[1:39]
    expected = counts.sum() / 38
    assert np.sum((counts - expected) ** 2 / expected) < 75  # chi-squared, 38: 0.9997


def words_of(row, mask):
    """For each position the number of its word; -1 where there is none."""
    word, numbers, before = -1, [], False
    for piece, real in zip(row, mask, strict=True):
        may = real and piece not in SPECIAL
        word += may and not (before and tiny.VOCABULARY[piece].startswith("##"))
        numbers.append(word if may else -1)
        before = may
    return np.array(numbers)


def test_whole_words():
    ids, mask = rows(lengths=[64] * 50)
    made = run(Masking(tiny.tokenizer(), unit="whole_word"), ids, mask)
    for i, row in enumerate(ids):
        words = words_of(row, mask[i])
        chosen = np.zeros(64, bool)
        chosen[made["masked_positions"][i][made["masked_weights"][i] > 0]] = True
        for word in range(words.max() + 1):
            assert len(set(chosen[words == word])) == 1


def test_ngrams_are_runs_of_words():
    ids, mask = rows(lengths=[64] * 200)
    ids[:, 1:63] = LETTERS + ids[:, 1:63] % 20  # each piece a word
    ids[:, 30] = tiny.VOCABULARY.index("[SEP]")
    made = run(Masking(tiny.tokenizer(), unit="ngram", rate=0.1), ids, mask)
    alone = run(Masking(tiny.tokenizer(), rate=0.1), ids, mask)

    def neighbours(made):
        real = made["masked_weights"] > 0
        near = (np.diff(made["masked_positions"], axis=1) == 1) & real[:, 1:]
        return near.sum() / real.sum()

    assert neighbours(made) > neighbours(alone) + 0.2


def test_fills_up_with_smaller_words():
    row = np.array([[2, *[LETTERS, INSIDE, INSIDE] * 6, LETTERS, LETTERS, 3]], "int32")
    masking = Masking(tiny.tokenizer(), rate=0.2, unit="whole_word")
    for seed in range(20):
        made = run(masking, row, row > 0, [seed, 0])
        assert made["masked_weights"].sum() in (3, 4)  # 20 tokens open, 4 wanted


def test_same_seed_same_mask_and_no_retracing():
    masking = Masking(tiny.tokenizer())
    ids, mask = rows()
    first, again, other = (run(masking, ids, mask, s) for s in (SEED, SEED, [3, 5]))
    for name, value in first.items():
        np.testing.assert_array_equal(value, again[name])
    assert (first["masked_positions"] != other["masked_positions"]).any()


def test_most_predictions():
    ids, mask = rows()
    made = run(Masking(tiny.tokenizer(), max_predictions=2), ids, mask)
    assert made["masked_positions"].shape == (4, 2)
    assert made["masked_weights"].sum(1).tolist() == [2, 2, 1, 0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0.0}, "`rate` must be above 0. Received: 0.0"),
        ({"rate": 1.5}, "`rate` must be in"),
        ({"mask_share": 0.8, "random_share": 0.3}, "at most 1 together"),
        ({"unit": "words"}, "`unit` must be"),
        ({"max_ngram": 0}, "`max_ngram`"),
        ({"max_predictions": 0}, "`max_predictions`"),
    ],
)
def test_refuses(options, message):
    with pytest.raises(ValueError, match=message):
        Masking(tiny.tokenizer(), **options)


def test_refuses_a_vocabulary_without_a_mask():
    vocabulary = [x for x in tiny.VOCABULARY if x != "[MASK]"]
    with pytest.raises(ValueError, match=r"must have the mask token '.MASK.'"):
        Masking(kbl.WordPieceTokenizer(vocabulary))


def test_wordpieces_that_continue_a_word():
    found = tiny.tokenizer().continuations()
    assert [bool(found[x]) for x in (LETTERS, INSIDE)] == [False, True]
