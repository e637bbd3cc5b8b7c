"""Strings that tokenizers disagree on, shared by golden and parity tests."""

ACCENTS = [
    "café cafe\u0301 CAFÉ CAFE\u0301",
    "e\u0301\u0301 \u0301e \u0301",
    "a\u030a å Å \u212b ạ\u0308 ệ e\u0323\u0302",
    "ñandú naïve Ångström façade",
    "Istanbul ISTANBUL istanbul A B C Σ S",
    "İstanbul İİ I ı IIİ i\u0307",
    "ΑΣ ΟΔΥΣΣΕΥΣ σς Ά ΐ \u0390",
    "ß ẞ ﬁ ﬀ ﷺ ½ ² ™ Ⅷ ⓐ ℌ",
    "Ʝ ʝ Ꟍ ɤ Ყ ყ Ა Ꭰ ꭰ Ⴀ ⴀ 𐐀 𐐨",
    "Й й И\u0306 ё Ё ї",
]

SCRIPTS = [
    "한국어 각 ᄒ\u1161\u11ab한 ㄱ ﾡ",
    "한 하 \u1112\u1161 한국어 국",
    "日本語 日本go本 中x中",
    "ガ カ\u3099 が ｶﾞ ー・、。「日」",
    "𠀀𠀁x 𪛖a\U0002a6d6 \U0002f800 \uf900 豈 \u3400 \U00030000",
    "न हिनद ही न\u094dद ביצה ע ع",
    "हिन्दी भाषा क\u093c क़ श्री।",
    "ภาษาไทย ก็ น้ำ",
    "עִבְרִית שלום שׁ",
    "العَرَبِيَّة لا ﻻ ؟ ، \u061d",
    "தமிழ் বাংলা \u09cb \u09c7\u09be ខ្មែរ",
    "αγο\u02bc x\u02d9y x\u00b7y x\u0387y",
]

SPACES = [
    "a\u00a0b\u1680a\u2000b\u2001a\u2002b\u2003a\u2004b\u2005a\u2006b\u2007a",
    "a\u2008b\u2009a\u200ab\u2028a\u2029b\u202fa\u205fb\u3000a",
    "a\tb\nb\rc\r\nd\x0be\x0cf\x85g\x1ch",
    "\u00a0a\u00a0",
    "  go  ing  ",
]

INVISIBLE = [
    "co\u00adop \u00ad",
    "go\u200ding go\u200cing go\u200bing go\u2060ing \ufeffgo",
    "👩\u200d👩\u200d👧 👍🏽 🇩🇪 ❤\ufe0f 1\ufe0f\u20e3 😀go",
    "\U0001f9d1\u200d\U0001f680 \U000e0067\U000e007f",
    "a\0b\0 \0",
    "x\x01y\x7fz\x80w\x9fv \x1b[0m",
    "\ue000a\uf8ff \U000f0000b\U000ffffd \U00100000c\U0010fffd",
    "a\ufffdb \ufffd \ufffe \uffff",
    "\u061cgo\u200e\u200f \u202ego\u202c \u2066go\u2069",
    "\u180ea \u115fb \u3164c \u2800d",
    "a\u0378b a\u0e5cb \u05ff",
    "\u00ad",
]

PUNCTUATION = [
    "go,ing! (the) [the] {the} <the> the's the\u2019s",
    "…‥ a…b ，。！ ‘go’ “go” «go» ‹go› –go—",
    "##ing ing## ## #a ##",
    "a+b=c $1 ~a^b`c|d \\ / @go #go %go &go *go _go_",
    "€5 £5 ¥5 ©a ®a °a ±a ×a ÷a ¬a ¦a",
    "¡go! ¿go? §1 ¶1 ·a a·b",
    "a\u166db a\U000111c9b a\u061db a\u0a76b a\u2e4fb a\u2e5db a\U00010eadb",
    "http://go.the/ing?a=b#c go@the.ing 1,234.56 -1e-5",
    "a\u2212b a∑b a→b ▲a █a",
]

SPECIAL = [
    "[MASK]",
    "[CLS]the[SEP]",
    "go [MASK]ing [mask] [Mask]",
    "[[MASK]] [ MASK ] [MASK][MASK]",
    "[UNK] [PAD] [PAD][UNK]x",
    "[MA\u00adSK] [MASK\u200b] \u200b[MASK]",
    "\ue000[MASK]\ue001 \x7f[MASK]\x7f\x7fa\x01[SEP]",
    "日[SEP]本\x01[MASK]é",
    "e\u0301[MASK]\u0301x",
    "[unused0] [unused1]",
]

BLANK = ["", " ", "\t\n", "\u00a0\u3000", "\0", "\u200b", "\u0301"]

# ASCII, then characters of 2, 3 and 4 bytes; some change length when cleaned.
_LONG_CHARACTERS = "aé\u0e01\U0001f600\U00010400İß"
LONG = [
    *(c * n for c in _LONG_CHARACTERS for n in (99, 100, 101, 201)),
    *("e\u0301" * n for n in (50, 51, 100, 101)),
    *("the" * n for n in (33, 34, 67)),
    *("a" * n + " b " + "c" * n + "." + "d" * n for n in (99, 100, 101, 201)),
    *("a" * (n - 1) + "\u00ad" + "a" for n in (100, 101)),
    *("日" * n for n in (100, 101)),
    *("\u0a76" * n + "a" for n in (99, 100)),
    "go " + "é" * 101 + " ing " + "😀" * 101 + "go",
    "!" * 101 + "a" * 100 + "!" * 101,
]

HARD_STRINGS = [
    *ACCENTS,
    *SCRIPTS,
    *SPACES,
    *INVISIBLE,
    *PUNCTUATION,
    *SPECIAL,
    *BLANK,
    *LONG,
]
