"""What every tokenizer promises of any text, on texts that hypothesis draws."""

import functools
import unicodedata

import hypothesis
import hypothesis.strategies as st
import pytest

from keras_bert_lite.text.byte_pair.byte_level import BYTES
from tests.text.token_samples import MAKERS

# Pieces of the vocabularies and special tokens among arbitrary characters.
PARTS = [
    *("a", "fin", "e", "FINE", "weather", "##a", "▁", "Ġ", "é", "東京", "."),
    *("[MASK]", "[SEP]", "<unk>", "[E1]"),
    *(" ", "  ", "\u0301", "\0", "\ufffd", "\U0001f600"),
]
TEXT = st.lists(st.sampled_from(PARTS) | st.text(max_size=4), max_size=8).map("".join)
WORDS = st.lists(st.sampled_from(["a", "fin", "e", "fine", "afin"]), max_size=6)

of_each_kind = pytest.mark.parametrize("kind", MAKERS)


@functools.cache
def tokenizer_of(kind):
    return MAKERS[kind]()


def is_clean(text):
    return text and text == text.strip()


@of_each_kind
@hypothesis.given(texts=st.lists(TEXT, min_size=1, max_size=6))
def test_a_batch_is_its_texts_one_by_one(kind, texts):
    tokenizer = tokenizer_of(kind)
    rows = tokenizer(texts).to_list()
    assert rows == [tokenizer(text).numpy().tolist() for text in texts]


@of_each_kind
@hypothesis.given(texts=st.lists(TEXT, min_size=1, max_size=6))
def test_text_never_becomes_a_special_token(kind, texts):
    tokenizer = tokenizer_of(kind)
    special = {tokenizer.token_to_id(token) for token in tokenizer.special_tokens}
    ids = set(tokenizer(texts).flat_values.numpy().tolist())
    assert not ids & (special - {tokenizer.unknown_id})
    assert ids <= set(range(tokenizer.vocabulary_size()))


@of_each_kind
@hypothesis.given(first=TEXT.filter(is_clean), second=TEXT.filter(is_clean))
def test_a_space_separates(kind, first, second):
    # The space belongs to the word behind it in byte-level BPE.
    alone = f" {second}" if kind == "byte_pair" else second
    joined, *parts = tokenizer_of(kind)([f"{first} {second}", first, alone]).to_list()
    assert joined == parts[0] + parts[1]


@of_each_kind
@hypothesis.given(words=WORDS)
def test_joined_pieces_are_the_text(kind, words):
    tokenizer = tokenizer_of(kind)
    text = " ".join(words)
    assert tokenizer.detokenize(tokenizer(text)).numpy().decode() == text


@hypothesis.given(text=TEXT)
def test_joined_bytes_are_any_text(text):
    tokenizer = tokenizer_of("byte_pair")
    assert tokenizer.detokenize(tokenizer(text)).numpy().decode() == text


@of_each_kind
@hypothesis.given(text=TEXT)
def test_offsets_cut_the_pieces_out_of_the_text(kind, text):
    tokenizer = tokenizer_of(kind)
    found = tokenizer.tokenize_with_offsets(text)
    ids, starts, ends = (x.numpy().tolist() for x in found)
    assert ids == tokenizer(text).numpy().tolist()
    assert starts == sorted(starts)
    for id, start, end in zip(ids, starts, ends, strict=True):
        assert 0 <= start <= end <= len(text)
        if id != tokenizer.unknown_id:
            IS_PIECE[kind](tokenizer.id_to_token(id), text[start:end])


def check_word_piece(piece, text):
    decomposed = unicodedata.normalize("NFD", text.lower())
    kept = [c for c in decomposed if unicodedata.category(c) not in ("Mn", "Cc", "Cf")]
    assert "".join(kept) == piece.removeprefix("##")


def check_bytes(piece, text):
    found = bytes(BYTES[character] for character in piece)
    assert found.strip() in text.encode()


def check_sentence_piece(piece, text):
    # A space that is put before the text has the place of its first character.
    assert piece == "▁" or piece.lstrip("▁") == text.strip(" ▁").lower()


IS_PIECE = {
    "wordpiece": check_word_piece,
    "byte_pair": check_bytes,
    "unigram": check_sentence_piece,
}


@functools.cache
def smaller_than(kind):
    """Returns a tokenizer of every third piece, beside the whole one."""
    whole = tokenizer_of(kind)
    return whole, *whole.with_only(whole.get_vocabulary()[::3])


@of_each_kind
@hypothesis.given(texts=st.lists(TEXT, min_size=1, max_size=6))
def test_a_smaller_tokenizer_splits_what_it_knows_alike(kind, texts):
    whole, smaller, ids = smaller_than(kind)
    assert [whole.id_to_token(i) for i in ids] == smaller.get_vocabulary()
    assert smaller.vocabulary_size() < whole.vocabulary_size()
    for text, row in zip(texts, whole(texts).to_list(), strict=True):
        if {*row} <= {*ids}:
            assert [ids[i] for i in smaller(text).numpy()] == row
