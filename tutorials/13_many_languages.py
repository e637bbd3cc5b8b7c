# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Many languages
#
# How a BERT reads languages other than English: what its three kinds of tokenizers do
# with seven scripts, which strings are the same to them, how a multilingual encoder is
# loaded, and what is known of transfer from one language to another. It runs in a
# minute on a CPU and needs no download: the sentences are below, vocabularies are
# learned from them, and weights are random.
#
# On Colab, install the package first, from a copy of its repository or a wheel made
# there (it is not on PyPI yet). It replaces Colab's TensorFlow and Keras by newer ones
# (docs/guide/install.md has the list); restart the session if asked to:

# %%
import importlib.util

if importlib.util.find_spec("keras_bert_lite") is None:
    # %pip install --quiet "./keras_bert_lite[plot]"
    pass

# %%
import os
import tempfile
import unicodedata
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import matplotlib.pyplot as plt
import numpy as np
import sentencepiece
import tokenizers

import keras_bert_lite as kbl

keras.utils.set_random_seed(0)
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## Three sentences in nine languages
#
# The same three in each, English and eight others. Arabic runs from right to left,
# Hindi writes vowels as marks on consonants, a Korean character is a syllable of two or
# more letters, Thai and Chinese have no spaces between words.

# %%
SENTENCES = {
    "en": [
        "The children read a book under the old tree.",
        "The water in the river is cold today.",
        "My mother bakes bread every morning.",
    ],
    "ar": [
        "يقرأ الأطفال كتابا تحت الشجرة القديمة.",
        "الماء في النهر بارد اليوم.",
        "تخبز أمي الخبز كل صباح.",
    ],
    "de": [
        "Die Kinder lesen unter dem alten Baum ein Buch.",
        "Das Wasser im Fluss ist heute kalt.",
        "Meine Mutter backt jeden Morgen Brot.",
    ],
    "fr": [
        "Les enfants lisent un livre sous le vieil arbre.",
        "L'eau de la rivière est froide aujourd'hui.",
        "Ma mère fait du pain chaque matin.",
    ],
    "hi": [
        "बच्चे पुराने पेड़ के नीचे किताब पढ़ते हैं।",
        "आज नदी का पानी ठंडा है।",
        "मेरी माँ हर सुबह रोटी बनाती है।",
    ],
    "ko": [
        "아이들이 오래된 나무 아래에서 책을 읽는다.",
        "오늘 강물이 차갑다.",
        "어머니는 매일 아침 빵을 굽는다.",
    ],
    "ru": [
        "Дети читают книгу под старым деревом.",
        "Сегодня вода в реке холодная.",
        "Моя мама печёт хлеб каждое утро.",
    ],
    "th": [
        "เด็กๆ อ่านหนังสือใต้ต้นไม้เก่าแก่",
        "วันนี้น้ำในแม่น้ำเย็น",
        "แม่ของฉันอบขนมปังทุกเช้า",
    ],
    "zh": ["孩子们在老树下看书。", "今天河里的水很冷。", "我妈妈每天早上烤面包。"],
}
texts = [text for group in SENTENCES.values() for text in group]


def pieces(tokenizer, text):
    return [tokenizer.id_to_token(int(i)) for i in tokenizer([text])[0]]


# %% [markdown]
# ## WordPiece: BERT, and multilingual BERT
#
# Text is split at spaces and punctuation, each Chinese character is a word, and words
# are split into the longest pieces of the vocabulary. An English vocabulary knows
# little of the others. `[UNK]` is a word with a character that it does not have: what
# stood there is lost.

# %%
english = kbl.load_tokenizer("bert_mini_books")
for language, (text, *_) in SENTENCES.items():
    print(f"{language}: {' '.join(pieces(english, text))}")

# %% [markdown]
# A vocabulary of many languages is learned from texts in all of them. Ours has 500
# pieces at most, from a few sentences; that of multilingual BERT has 119,547, learned
# from the Wikipedias in 104 languages. Large ones were sampled less often than they
# come, small ones more often, so that these get pieces of their own.

# %%
learned = kbl.pretraining.train_wordpiece(
    texts, 500, lowercase=False, min_frequency=1, show_progress=False
)
wordpiece = kbl.WordPieceTokenizer(learned, lowercase=False)
for language, (text, *_) in SENTENCES.items():
    print(f"{language}: {' '.join(pieces(wordpiece, text))}")

# %% [markdown]
# ### Lower case costs more than capitals
#
# "Uncased" also means that accents are stripped, and to Unicode the vowels of Hindi and
# Thai are marks like accents. What an uncased vocabulary can still see:

# %%
uncased = kbl.WordPieceTokenizer(
    kbl.pretraining.train_wordpiece(texts, 500, min_frequency=1, show_progress=False)
)
for language in ("fr", "hi", "th", "ko"):
    text = SENTENCES[language][1]
    seen = uncased.detokenize(uncased([text])).numpy()[0].decode()
    kept = set(unicodedata.normalize("NFD", seen))
    lost = [x for x in unicodedata.normalize("NFD", text.lower()) if x not in kept]
    marks = sorted({unicodedata.name(x).lower() for x in lost})
    print(f"{language}: {text}\n    {unicodedata.normalize('NFC', seen)}")
    print(f"    lost: {', '.join(marks) or 'nothing'}")

# %% [markdown]
# So `bert-base-multilingual-cased`, which keeps them, is the one that Google
# [recommends](https://github.com/google-research/bert/blob/master/multilingual.md).
# Korean loses nothing: its syllables are only taken apart.
#
# ## SentencePiece: XLM-R, ALBERT, DeBERTa-v3
#
# No words are needed: a space is a character like others, written `▁`, and a text is
# cut into the likeliest pieces. That suits Thai. XLM-R's model has 250,002 pieces for
# 100 languages. Ours is trained by the same library; from so little text it learns
# mostly single characters.

# %%
(folder / "xlm_r").mkdir()
with open(folder / "xlm_r" / "sentencepiece.bpe.model", "wb") as file:
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=file,
        model_type="unigram",
        vocab_size=500,
        hard_vocab_limit=False,
        character_coverage=1.0,
        minloglevel=2,
    )
unigram = kbl.load_tokenizer(folder / "xlm_r")
for language, (text, *_) in SENTENCES.items():
    print(f"{language}: {' '.join(pieces(unigram, text))}")

# %% [markdown]
# ## Byte-level BPE: RoBERTa
#
# Its alphabet is the 256 bytes of UTF-8, so no text is unknown. A price is paid in
# length: a letter of Arabic or Russian is two bytes, one of Hindi, Thai, Korean or
# Chinese three, and where nothing was learned each byte is a piece. This vocabulary has
# seen English only, as RoBERTa's has. Its pieces are bytes in disguise, so they are
# counted here.

# %%
trainer = tokenizers.ByteLevelBPETokenizer(add_prefix_space=True)
trainer.train_from_iterator(
    SENTENCES["en"],
    vocab_size=400,
    min_frequency=1,
    special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
    show_progress=False,
)
trainer.save_model(str(folder))
byte_pair = kbl.BytePairTokenizer(
    str(folder / "vocab.json"), str(folder / "merges.txt"), add_prefix_space=True
)
for language in ("en", "de", "th"):
    text = SENTENCES[language][0]
    ids = byte_pair([text])
    back = byte_pair.detokenize(ids).numpy()[0].decode().strip()
    print(f"{language}: {len(text)} characters, {len(ids[0])} pieces, back: {back}")
    assert back == text

# %% [markdown]
# ## How many pieces does a language cost?
#
# The sentences say the same, so their pieces can be compared: longer rows cost time,
# and a row of 512 holds less text.

# %%
kinds = {
    "WordPiece, English": english,
    "WordPiece, all": wordpiece,
    "SentencePiece, all": unigram,
    "byte-level BPE, English": byte_pair,
}
unknown = {
    name: [
        np.mean(
            [
                piece in ("[UNK]", "<unk>")
                for text in group
                for piece in pieces(tokenizer, text)
            ]
        )
        for group in SENTENCES.values()
    ]
    for name, tokenizer in kinds.items()
}
lengths = {
    name: [np.mean(tokenizer(group).row_lengths()) for group in SENTENCES.values()]
    for name, tokenizer in kinds.items()
}

figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
places = np.arange(len(SENTENCES))
for i, (name, means) in enumerate(lengths.items()):
    colour = ("#0072B2", "#56B4E9", "#009E73", "#D55E00")[i]
    bars = axes.bar(places + (i - 1.5) * 0.2, means, 0.2, color=colour, label=name)
    for bar, share in zip(bars, unknown[name], strict=True):
        if share > 0.2:
            axes.text(bar.get_x(), bar.get_height() + 1, "?", fontweight="bold")
axes.set_xticks(places, list(SENTENCES))
axes.set_ylabel("pieces of a sentence, mean")
axes.legend()
plt.show()

# %% [markdown]
# A `?` stands where more than a fifth of the pieces are `[UNK]`: these rows are short
# because nothing is in them. The vocabularies of "all" have seen just these sentences,
# so their bars say little about real ones. Rust et al.
# ([2021](https://arxiv.org/abs/2012.15613)) counted with real ones, and found that what
# a language loses in a multilingual model has much to do with its tokenizer.
#
# ## Which strings are the same?
#
# Unicode can write a text in several ways that look alike. `é` is one character, or `e`
# and an accent; `ﬁ` is one character, or two. A tokenizer decides whether these are the
# same to the model, and each kind decides as its reference does.

# %%
PAIRS = {
    "é, composed or not": ("caf\u00e9", "cafe\u0301"),
    "가, composed or not": ("\uac00", "\u1100\u1161"),
    "ﬁ, a ligature": ("\ufb01sh", "fish"),
    "Ａ, full width": ("\uff21\uff22", "AB"),
    "a capital": ("Book", "book"),
    "an accent": ("rivière", "riviere"),
    "a no-break space": ("a\u00a0book", "a book"),
    "a soft hyphen": ("bo\u00adok", "book"),
}
alphabet = [*texts, *(text for pair in PAIRS.values() for text in pair)] * 2
rules = {
    "cased": kbl.WordPieceTokenizer(
        kbl.pretraining.train_wordpiece(
            alphabet, 700, lowercase=False, show_progress=False
        ),
        lowercase=False,
    ),
    "uncased": kbl.WordPieceTokenizer(
        kbl.pretraining.train_wordpiece(alphabet, 700, show_progress=False)
    ),
    "XLM-R": unigram,
    "RoBERTa": byte_pair,
}
print(f"{'':22}", *(f"{name:>8}" for name in rules))
for title, pair in PAIRS.items():
    same = []
    for tokenizer in rules.values():
        one, other = (tokenizer([text]).to_list()[0] for text in pair)
        same.append("same" if one == other else "-")
    print(f"{title:22}", *(f"{word:>8}" for word in same))

# %% [markdown]
# If a text comes from users, `unicodedata.normalize("NFC", text)` before a cased model
# is seldom wrong; it is for you to do, since the published models were trained without.
# Offsets always count characters of the text as it was given:

# %%
text = SENTENCES["hi"][1]
_, starts, ends = unigram.tokenize_with_offsets(text)
spans = list(zip(starts.numpy(), ends.numpy(), strict=True))
print(*(f"{start}-{end} {text[start:end]}" for start, end in spans), sep=" | ")
assert spans[-1][1] == len(text)

# %% [markdown]
# ## A multilingual encoder
#
# The encoder knows nothing of languages; it has a larger table of pieces. These are
# numbers in that table; 12 blocks of a base model have 85 million:

# %%
for name in (
    "bert_base_uncased",
    "bert_base_multilingual_cased",
    "distilbert_base_multilingual_cased",
    "xlm_roberta_base",
    "mdeberta_v3_base",
):
    config = kbl.EncoderConfig.named(name)
    table = config.vocabulary_size * config.hidden_dim
    print(f"{name:>34}: {config.vocabulary_size:>7,} pieces, {table / 1e6:.0f} million")

# %% [markdown]
# Published weights come by one line, which downloads a gigabyte and is not run here:
#
# ```
# encoder = kbl.load_encoder("hf://FacebookAI/xlm-roberta-base")
# preprocessor = kbl.load_preprocessor("hf://FacebookAI/xlm-roberta-base")
# ```
#
# The same path with an XLM-R of two layers, our own pieces and random weights: written
# as Hugging Face's files, loaded, and all nine languages in one batch.

# %%
config = kbl.EncoderConfig.named(
    "xlm_roberta_base",
    vocabulary_size=unigram.vocabulary_size(),
    num_layers=2,
    num_heads=2,
    hidden_dim=64,
    intermediate_dim=256,
)
kbl.save_hugging_face(
    kbl.encoder(config), kbl.Preprocessor(unigram), folder / "small_xlm_r"
)
encoder = kbl.load_encoder(folder / "small_xlm_r")
preprocessor = kbl.load_preprocessor(folder / "small_xlm_r")
vectors = encoder(preprocessor(texts))["sequence_output"]
print(vectors.shape)
assert (preprocessor.tokenizer(texts).to_list()) == unigram(texts).to_list()

# %% [markdown]
# ## What transfers
#
# Trained on a task in one language, a multilingual encoder does it in others too. These
# are findings of others, with published models; nothing of it is measured here.
#
# - *It works, across scripts too.* Multilingual BERT was never told which of its texts
#   mean the same, and yet taggers that learned from one language work in others, best
#   between languages that are built alike, with systematic weaknesses for some pairs.
#   Pires et al., 2019, [How multilingual is Multilingual
#   BERT?](https://arxiv.org/abs/1906.01502)
# - *More text helps, most where there is little.* XLM-R, trained on two terabytes in
#   100 languages, is on average 14.6 points better in XNLI than multilingual BERT.
#   Languages share the capacity of a model: others help at first, and then take room.
#   Conneau et al., 2020, [Unsupervised Cross-lingual Representation Learning at
#   Scale](https://arxiv.org/abs/1911.02116)
# - *Common pieces are not the reason.* How many pieces two languages share counts for
#   little; the depth of the network counts for more. K et al., 2020, [Cross-Lingual
#   Ability of Multilingual BERT](https://arxiv.org/abs/1912.07840)
#
# So there is a way to begin without labels in your language: train on those that there
# are in another, and test on some of your own.
#
# ```
# encoder = kbl.load_encoder("hf://FacebookAI/xlm-roberta-base")
# model = kbl.text_classifier(encoder, labels)
# # ... train on English as in Classify text, then
# kbl.with_text(model, preprocessor).predict(german_texts)
# ```
#
# The encoder that comes with this package is English and no use for that.
