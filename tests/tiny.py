"""Small real parts that the tests put together."""

import keras_bert_lite as kbl

VOCABULARY = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *"abcdefghijklmnopqrstuvwxyz.,!?",
    *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"),
    *("the", "day", "fine", "bad", "weather", "##er", "##ing", "is", "not"),
]
TEXTS = ["A fine day!", "", "bad weather, is it not?", "the finer the day the finer"]


def tokenizer(**options):
    return kbl.WordPieceTokenizer(VOCABULARY, **options)


def preprocessor(sequence_length=16, **options):
    return kbl.Preprocessor(tokenizer(), sequence_length, **options)


def config(**changes):
    sizes = {
        "vocabulary_size": len(VOCABULARY),
        "num_layers": 2,
        "num_heads": 2,
        "hidden_dim": 16,
        "intermediate_dim": 32,
        "max_sequence_length": 24,
    }
    return kbl.EncoderConfig(**{**sizes, **changes})


def encoder(**changes):
    return kbl.encoder(config(**changes))


def classifier(labels=("bad", "fine"), **changes):
    return kbl.text_classifier(kbl.encoder(config(**changes)), labels=list(labels))
