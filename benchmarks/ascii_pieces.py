"""The last step of `make encoder`: pieces for ASCII punctuation that books lack.

    python -m benchmarks.ascii_pieces ENCODER DIRECTORY

Typographic books have no `'` and no `"`. Each ASCII mark that the vocabulary of the
sentence encoder in ENCODER lacks becomes a piece at its end; its vector is the mean of
the vectors of its typographic twins (`TWINS`), or that of `[UNK]`, which it was until
now. All other weights stay, in float16. DIRECTORY gets the files.
"""

import argparse
import string

import keras

import keras_bert_lite as kbl
from keras_bert_lite.models.encoder_model import encoder_layers, encoder_of

TWINS = {"'": "’", '"': "“”", "`": "‘"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ascii_pieces")
    parser.add_argument("encoder")
    parser.add_argument("directory")
    options = parser.parse_args()
    model = kbl.load_model(options.encoder)
    preprocessor = kbl.load_preprocessor(options.encoder)
    pieces = preprocessor.tokenizer.get_vocabulary()
    new = [mark for mark in string.punctuation if mark not in pieces]
    tokenizer = kbl.WordPieceTokenizer([*pieces, *new])
    larger = kbl.surgery.resize(model, vocabulary_size=len(pieces) + len(new))
    table = encoder_layers(encoder_of(larger))[0].token_embedding
    rows = keras.ops.convert_to_numpy(table.embeddings).copy()
    for id, mark in enumerate(new, len(pieces)):
        twins = map(tokenizer.token_to_id, TWINS.get(mark, ()))
        rows[id] = rows[list(twins) or [tokenizer.unknown_id]].mean(axis=0)
    table.embeddings.assign(rows)
    kbl.save_hugging_face(
        larger,
        kbl.Preprocessor(tokenizer, preprocessor.sequence_length),
        options.directory,
        "float16",
    )
    print(f"{options.directory}: {len(new)} pieces more: {' '.join(new)}")


if __name__ == "__main__":
    main()
