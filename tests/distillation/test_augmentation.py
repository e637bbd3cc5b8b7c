import random

from keras_bert_lite.distillation.augmentation import (
    second_text,
    with_replaced_words,
)

FIRST = [f"a{i}" for i in range(20)]
FOLLOWING = [f"b{i}" for i in range(20)]


def drawn(first=FIRST, following=FOLLOWING, times=2000):
    rng = random.Random(0)
    texts = " ".join(first), " ".join(following)
    return [second_text(*texts, rng).split() for _ in range(times)]


def test_the_sentence_that_follows():
    share = sum(x == FOLLOWING for x in drawn()) / 2000
    assert 0.27 < share < 0.33


def test_from_nearly_the_same_to_hardly_alike():
    changed = [x for x in drawn() if x != FOLLOWING]
    shares = [len(set(x) & set(FIRST)) / len(FIRST) for x in changed]
    assert max(shares) > 0.95
    assert min(shares) < 0.4
    assert 0.5 < sum(shares) / len(shares) < 0.62  # 0.75 kept, 0.75 of them as is
    assert all(set(x) <= {*FIRST, *FOLLOWING} for x in changed)


def test_order_of_what_is_not_swapped():
    orders = [[FIRST.index(y) for y in x if y in FIRST] for x in drawn()]
    in_order = [x == sorted(x) for x in orders]
    assert 0.7 < sum(in_order) / len(in_order) < 0.85


def test_never_without_a_word():
    assert all(drawn(first=["a"], following=["b"]))
    assert all(drawn(first=["a"], following=["a"]))


def test_a_random_share_of_the_words_is_replaced():
    rng = random.Random(0)
    text = "a0, " * 50
    found = [with_replaced_words(text, ["new"], 0.5, rng) for _ in range(500)]
    shares = [x.count("new") / 50 for x in found]
    assert 0.2 < sum(shares) / 500 < 0.3
    assert max(shares) > 0.5 > 0.05 > min(shares)
    assert all(x.count(",") == 50 for x in found)
    assert with_replaced_words(text, ["new"], 0.0, rng) == text
