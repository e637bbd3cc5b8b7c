"""What is explained here and by captum, with models that both can make.

The checkpoints are those of `tests/families`; every word of the texts is a piece.
"""

import string

import keras_bert_lite as kbl

STEPS = 200
WORDS = ["the", "day", "fine", "bad", "weather", "is", "not", "was", "it"]
TEXT = "the weather is not fine"
PAIR = ("is the day bad", "the day was not bad it is the weather")
CLASSIFIED = "ForSequenceClassification"
FAMILIES = (
    *("bert", "roberta", "distilbert", "albert", "electra", "ernie", "mpnet"),
    *("deberta", "deberta-v2"),
)
# Name -> the checkpoint in families.json, the text, the target, the span in characters.
CASES = {
    **{x: (f"{x}-{CLASSIFIED}", TEXT, "maybe", None) for x in FAMILIES},
    "pair": (f"bert-{CLASSIFIED}", PAIR, "yes", None),
    "regressor": (f"bert-{CLASSIFIED}-0", TEXT, None, None),
    "tagger": ("bert-ForTokenClassification", TEXT, "no", (4, 11)),
    "start": ("bert-ForQuestionAnswering", PAIR, "start", (4, 11)),
    "end": ("bert-ForQuestionAnswering", PAIR, "end", (4, 11)),
    "answer": ("albert-ForQuestionAnswering", PAIR, "span", (12, 19)),
}


def vocabulary(padding_id):
    """40 pieces, the padding token where the checkpoint has it."""
    pieces = ["[UNK]", "[CLS]", "[SEP]", "[MASK]", *string.ascii_lowercase, *WORDS]
    pieces.insert(padding_id, "[PAD]")
    return pieces


def preprocessor(padding_id, **options):
    tokenizer = kbl.WordPieceTokenizer(vocabulary(padding_id))
    return kbl.Preprocessor(tokenizer, 18, **options)


def rows(text, padding_id):
    """The ids, the segments and where the pieces are, made by hand."""
    texts = (text,) if isinstance(text, str) else text
    pieces, segments = ["[CLS]"], [0]
    for i, part in enumerate(texts):
        new = [*part.split(), "[SEP]"]
        pieces += new
        segments += [i] * len(new)
    ids = vocabulary(padding_id)
    real = [piece not in ("[CLS]", "[SEP]") for piece in pieces]
    return [ids.index(piece) for piece in pieces], segments, real


def column(text, place):
    """The column of the word of the last text at a character."""
    *before, last = (text,) if isinstance(text, str) else text
    words = len(last[:place].split())
    return 1 + sum(len(x.split()) + 1 for x in before) + words
