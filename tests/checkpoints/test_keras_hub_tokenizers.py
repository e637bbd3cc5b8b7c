"""Tokenizers taken over from KerasHub, beside KerasHub's own."""

import keras_hub
import numpy as np
import pytest

from keras_bert_lite.checkpoints.keras_hub.tokenizers import (
    SENTENCE_PIECE,
    tokenizer_from_keras_hub,
)
from tests import tiny
from tests.checkpoints.sentence_piece_models import model


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("Bert", {"lowercase": True, "strip_accents": True}),
        ("DistilBert", {"split_on_cjk": False}),
        ("Electra", {"special_tokens_in_strings": True}),
    ],
)
def test_word_pieces_are_the_same(kind, options):
    vocabulary = [*tiny.VOCABULARY, "A", "é", "日", "##本", "本"]
    kind = getattr(keras_hub.tokenizers, f"{kind}Tokenizer")
    theirs = kind(vocabulary, **options)
    ours = tokenizer_from_keras_hub(theirs)
    texts = [*tiny.TEXTS, "A née [MASK] day 日本", "[SEP]unseen \t words-here!"]
    assert ours(texts).to_list() == [np.asarray(x).tolist() for x in theirs(texts)]


@pytest.mark.parametrize(
    ("space", "options"), [(True, {}), (False, {"unsplittable_tokens": []})]
)
def test_byte_pairs_are_the_same(byte_pairs, space, options):
    vocabulary, merges = byte_pairs
    theirs = keras_hub.tokenizers.RobertaTokenizer(
        vocabulary, merges, add_prefix_space=space, **options
    )
    ours = tokenizer_from_keras_hub(theirs)
    texts = [*tiny.TEXTS, "it's  the Ça日</s> <s>", "the\n\n day 12"]
    assert ours(texts).to_list() == [np.asarray(x).tolist() for x in theirs(texts)]


@pytest.mark.parametrize("kind", SENTENCE_PIECE)
def test_sentence_pieces_are_the_same(kind):
    """In what their model's own normalization says all that there is to do."""
    proto = model(SENTENCE_PIECE[kind])
    theirs = getattr(keras_hub.tokenizers, kind)(proto)
    ours = tokenizer_from_keras_hub(theirs)
    assert ours.vocabulary_size() == theirs.vocabulary_size()
    texts = ["kalo mi ru ta", "", "ta  kalo xyz.", "miru 12"]
    assert ours(texts).to_list() == [np.asarray(x).tolist() for x in theirs(texts)]
    with pytest.raises(ValueError, match="must have a proto"):
        tokenizer_from_keras_hub(getattr(keras_hub.tokenizers, kind)(None))
    with pytest.raises(ValueError, match="`add_eos`"):
        tokenizer_from_keras_hub(
            getattr(keras_hub.tokenizers, kind)(proto, add_eos=True)
        )


def test_other_tokenizers_are_refused(byte_pairs):
    tokenizers = keras_hub.tokenizers
    cases = {
        "the preset 'x'": "x",
        "must be one of KerasHub's": tokenizers.BytePairTokenizer(*byte_pairs),
        "must have a vocabulary": tokenizers.BertTokenizer(),
        "`sequence_length`": tokenizers.BertTokenizer(
            tiny.VOCABULARY, sequence_length=4
        ),
        "`split`": tokenizers.BertTokenizer(tiny.VOCABULARY, split=False),
        "`unsplittable_tokens`": tokenizers.RobertaTokenizer(
            *byte_pairs, unsplittable_tokens=["the"]
        ),
    }
    for reason, tokenizer in cases.items():
        with pytest.raises(ValueError, match=reason):
            tokenizer_from_keras_hub(tokenizer)


@pytest.fixture(scope="module")
def byte_pairs():
    merges = ["t h", "th e", "Ġ the", "d a", "da y", "Ġ day", "i t"]
    merged = [x.replace(" ", "") for x in merges]
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *byte_pieces(), *merged]
    return {piece: i for i, piece in enumerate(pieces)}, merges


def byte_pieces():
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [x for x in range(256) if x not in printable]
    return [chr(x) for x in printable] + [chr(256 + i) for i in range(len(others))]
