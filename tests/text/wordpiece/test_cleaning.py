"""BERT's text cleaning, character by character."""

import hashlib

import pytest

from keras_bert_lite.text.wordpiece import cleaning
from keras_bert_lite.text.wordpiece.cleaning import Normalization

SWITCHES = [
    Normalization(),
    Normalization(lowercase=False, strip_accents=False),
    Normalization(strip_accents=False),
    Normalization(split_cjk=False),
]
# sha256 of each `code_point_map()`: another Python's Unicode tables must not
# change what a trained model reads.
DIGESTS = [
    "4cd9b2004ab099012b95eaf8d966ed58ea6427294be111bd07770fb79da7abdb",
    "cd989a557384b20ec03d20b8e89a63a9fc17caef7183a42bfb5f27bec3ee516d",
    "b34e10ae9bb4abcddaaa7ee71594a0d9ef76309d7653ccafabcc6e736e253370",
    "4205e1dcedfef7d0c5c163e8c60220b8099fd11a626c35d74533f0f633e446d0",
]


def digest(images):
    lines = (f"{c:x} {images[c].encode().hex()}\n" for c in sorted(images))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


@pytest.mark.parametrize(
    ("switches", "expected"), list(zip(SWITCHES, DIGESTS, strict=True)), ids=str
)
def test_code_point_map_is_pinned(switches, expected):
    assert digest(switches.code_point_map()) == expected


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
class TestCodePointMap:
    def test_lists_changes_only(self, switches):
        images = switches.code_point_map()
        assert all(chr(c) != image for c, image in images.items())

    def test_misses_no_change(self, switches):
        images = switches.code_point_map()
        surrogates = range(0xD800, 0xE000)
        for c in (*range(0x30000), *range(0xE0000, 0xE0200)):
            if c not in surrogates:
                assert switches.map_character(c) == images.get(c, chr(c)), hex(c)

    def test_images_are_single_spaced_words(self, switches):
        for c, image in switches.code_point_map().items():
            assert "  " not in image, hex(c)
            assert len(image.encode()) <= 63, hex(c)


class TestNormalizeCharacter:
    @pytest.mark.parametrize(
        ("character", "expected"),
        [
            ("A", "a"),
            ("é", "e"),
            ("İ", "i"),
            ("ß", "ß"),
            ("ﬁ", "ﬁ"),
            ("…", "…"),
            ("Σ", "σ"),
            ("한", "\u1112\u1161\u11ab"),
            ("\u0301", ""),
            ("\0", ""),
            ("\u00ad", ""),
            ("\u200d", ""),
            ("\ufffd", ""),
            ("\ue000", ""),
            ("\u00a0", " "),
            ("\t", " "),
            ("\u2003", " "),
            ("\u2028", " "),
            ("\U0002f800", "\u4e3d"),
        ],
    )
    def test_uncased(self, character, expected):
        assert Normalization().normalize_character(ord(character)) == expected

    @pytest.mark.parametrize(
        ("character", "expected"),
        [("É", "É"), ("İ", "İ"), ("한", "한"), ("\u0301", "\u0301"), ("\x7f", "")],
    )
    def test_cased(self, character, expected):
        cased = Normalization(lowercase=False, strip_accents=False)
        assert cased.normalize_character(ord(character)) == expected

    def test_dot_above_stays_where_accents_do(self):
        kept = Normalization(strip_accents=False)
        assert kept.normalize_character(ord("İ")) == "i\u0307"

    def test_accents_go_where_case_stays(self):
        stripped = Normalization(lowercase=False, strip_accents=True)
        assert stripped.normalize_character(ord("É")) == "E"


class TestStandIns:
    def test_text_cannot_contain_them(self):
        special = range(cleaning.FIRST_SPECIAL_STAND_IN, 0xF900)
        assert cleaning.characters().deleted.issuperset(special)

    def test_text_cannot_contain_those_of_boundaries(self):
        stand_ins = {ord(x) for x in cleaning.characters().stand_ins.values()}
        assert stand_ins <= cleaning.characters().deleted

    def test_are_distinct(self):
        stand_ins = cleaning.characters().stand_ins.values()
        assert len(set(stand_ins)) == len(stand_ins)

    @pytest.mark.parametrize("split_cjk", [True, False])
    def test_pieces_change_as_text_does(self, split_cjk):
        switches = Normalization(
            lowercase=False, strip_accents=False, split_cjk=split_cjk
        )
        boundaries = (
            cleaning.characters().kernel_boundaries | cleaning.characters().punctuation
        )
        for c in boundaries:
            assert switches.map_piece(chr(c)) == switches.map_character(c).strip()
