"""Learning a vocabulary from text made up here."""

import lzma
import random

import pytest
import tensorflow as tf

from keras_bert_lite import WordPieceTokenizer
from keras_bert_lite.pretraining import train_wordpiece
from keras_bert_lite.text.wordpiece.training import SPECIAL_TOKENS

SYLLABLES = ["ka", "lo", "mi", "té", "ru", "Ša", "нэ", "日", "本", "한", "क़", ",", "("]


def made_up_lines(count=300):
    rng = random.Random(0)

    def word():
        return "".join(rng.choices(SYLLABLES, k=rng.randint(1, 3)))

    return [" ".join(word() for _ in range(rng.randint(1, 8))) for _ in range(count)]


LINES = made_up_lines()


def learn(texts, size=150, **options):
    return train_wordpiece(texts, size, show_progress=False, **options)


def files_of(directory):
    paths = [directory / "first.txt", directory / "second.txt"]
    paths[0].write_text("\n".join(LINES[:200]) + "\n", encoding="utf-8")
    paths[1].write_text("\n".join(LINES[200:]), encoding="utf-8")
    return paths


@pytest.fixture(scope="module")
def characters():
    return {piece for piece in learn(LINES) if len(piece.removeprefix("##")) == 1}


class TestSources:
    """The order of pieces within a vocabulary differs from run to run."""

    def check(self, vocabulary, characters):
        assert vocabulary[:5] == list(SPECIAL_TOKENS)
        assert len(vocabulary) == len(set(vocabulary)) == 150
        assert characters <= set(vocabulary)

    def test_iterables(self, characters):
        for texts in (LINES, tuple(LINES), iter(LINES), (line for line in LINES)):
            self.check(learn(texts), characters)

    def test_bytes(self, characters):
        self.check(learn([line.encode() + b"\xff" for line in LINES]), characters)

    def test_files(self, tmp_path, characters):
        self.check(learn(files_of(tmp_path)), characters)

    def test_compressed_file(self, tmp_path):
        path = tmp_path / "text.xz"
        with lzma.open(path, "wt", encoding="utf-8") as file:
            file.write("\n".join(LINES[:200]))
        assert learn(path, 5000) == learn(LINES[:200], 5000)

    def test_one_file(self, tmp_path):
        whole, _ = files_of(tmp_path)
        assert set(learn(whole, 5000)) == set(learn(LINES[:200], 5000))

    @pytest.mark.parametrize("batch", [None, 32])
    def test_datasets(self, characters, batch):
        dataset = tf.data.Dataset.from_tensor_slices(LINES)
        self.check(learn(dataset.batch(batch) if batch else dataset), characters)

    def test_ragged_dataset(self):
        rows = tf.ragged.constant([["ka lo", "mi"], ["lo"]])
        dataset = tf.data.Dataset.from_tensor_slices(rows)
        assert {"k", "##a", "l", "m"} <= set(learn(dataset, min_frequency=1))


class TestUse:
    @pytest.mark.parametrize(
        "switches",
        [
            {},
            {"lowercase": False},
            {"strip_accents": False},
            {"lowercase": False, "strip_accents": True},
            {"split_cjk": False},
        ],
        ids=str,
    )
    def test_tokenizes_its_own_text_without_unknowns(self, switches):
        tokenizer = WordPieceTokenizer(learn(LINES, **switches), **switches)
        ids = tokenizer(LINES).flat_values.numpy()
        assert len(ids)
        assert tokenizer.unknown_id not in ids

    def test_frequent_words_become_pieces(self):
        vocabulary = learn(["kalomi luru kalomi", "kalomi"] * 10)
        assert "kalomi" in vocabulary
        assert "luru" in vocabulary

    def test_min_frequency(self):
        assert "kalo" in learn(["kalo kalo"], min_frequency=2)
        assert "kalo" not in learn(["kalo kalo"], min_frequency=3)

    @pytest.mark.parametrize(
        "switches", [{}, {"lowercase": False}, {"split_cjk": False}], ids=str
    )
    def test_words_over_the_tokenizers_longest_are_left_out(self, switches):
        far = ["z" * 101 + " kalo", "é" * 3000, "İ\0" * 101, "한" * 101]
        fits = ["x" * 100, "一" * 60, "a.b" * 200, "kalo " * 200]
        with pytest.warns(UserWarning, match="more than 100 .* were left out: 4"):
            pieces = learn([*fits * 2, *far * 2][: 2 * len(fits) + 4], 300, **switches)
        assert pieces == learn([*fits * 2, "kalo"], 300, **switches)
        assert not {"z", "é", "##한"} & set(pieces)
        assert "x" * 100 in pieces

    def test_other_longest_words(self):
        with pytest.warns(UserWarning, match="more than 3 .* were left out: 2"):
            pieces = learn(["kalo mi mi", "kalo"], max_characters_per_word=3)
        assert "mi" in pieces
        with pytest.warns(UserWarning, match="more than 10 .* were left out: 1"):
            learn(["각각각각 mi mi"], max_characters_per_word=10)  # 12 letters
        with pytest.raises(ValueError, match="`max_characters_per_word` must be"):
            learn(LINES, max_characters_per_word=0)

    def test_no_piece_is_over_what_the_operation_takes(self):
        pieces = learn(["क" * 100] * 2, lowercase=False)
        assert max(len(x.removeprefix("##").encode()) for x in pieces) <= 256
        tokenizer = WordPieceTokenizer(pieces, lowercase=False)
        assert tokenizer.unknown_id not in tokenizer("क" * 100)

    def test_unused_slots(self):
        vocabulary = learn(LINES, num_unused=7)
        assert vocabulary[5:12] == [f"[unused{i}]" for i in range(7)]
        assert len(vocabulary) == 150
        WordPieceTokenizer(vocabulary)

    def test_other_special_tokens(self):
        tokens = ("<pad>", "<unk>", "<s>", "</s>")
        vocabulary = learn(LINES, special_tokens=tokens)
        assert tuple(vocabulary[:4]) == tokens
        assert "[CLS]" not in vocabulary

    def test_special_tokens_in_the_text_are_text(self):
        vocabulary = learn(["[MASK] [MASK]"] * 3)
        assert vocabulary.count("[MASK]") == 1
        assert "mask" in vocabulary

    def test_small_texts_need_fewer_pieces(self):
        assert len(learn(["ka"], 1000)) < 20

    def test_progress_is_silent_when_told(self, capfd):
        learn(LINES)
        assert capfd.readouterr() == ("", "")


class TestErrors:
    @pytest.mark.parametrize("texts", [[], [""], [" ", "\n"], ["\0"]])
    def test_no_text(self, texts):
        with pytest.raises(ValueError, match=r"`texts` must hold some text\. Received"):
            learn(texts)

    @pytest.mark.parametrize(("size", "unused"), [(5, 0), (0, 0), (14, 10)])
    def test_no_room_for_reserved_tokens(self, size, unused):
        with pytest.raises(ValueError, match=f"must be at least .*Received: {size}"):
            learn(LINES, size, num_unused=unused)

    def test_same_texts_same_vocabulary(self):
        assert learn(LINES, 60) == learn(iter(LINES), 60)

    def test_no_room_for_characters(self):
        with pytest.raises(ValueError, match=r"must be at least 20: .*Received: 8"):
            learn(["abcdefgh"], 8)

    @pytest.mark.parametrize("texts", ["ka lo", b"ka lo"])
    def test_a_single_string(self, texts):
        with pytest.raises(TypeError, match=f"a single {type(texts).__name__}"):
            learn(texts)

    @pytest.mark.parametrize("texts", [[1], [None], [["ka"]]])
    def test_items_that_are_no_strings(self, texts):
        with pytest.raises(TypeError, match=r"`texts` must hold strings\. Received"):
            learn(texts)

    def test_dataset_of_pairs(self):
        dataset = tf.data.Dataset.from_tensor_slices((["ka"], ["lo"]))
        with pytest.raises(TypeError, match=r"`texts` must hold strings\. Received"):
            learn(dataset)

    def test_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"none\.txt"):
            learn([tmp_path / "none.txt"])

    def test_file_that_is_not_utf8(self, tmp_path):
        path = tmp_path / "latin.txt"
        path.write_bytes("caf\u00e9".encode("latin-1"))
        with pytest.raises(ValueError, match="utf-8"):
            learn(path)
