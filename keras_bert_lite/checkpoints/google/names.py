"""The names of variables in Google's TF1 checkpoints; see `core.name_table`.

They come from `modeling.py` and `run_pretraining.py` in google-research's
repositories `bert`, `albert` and `electra`.
"""

from collections.abc import Mapping

import keras

from keras_bert_lite.checkpoints.core.name_table import Variables
from keras_bert_lite.checkpoints.hugging_face import names as family_names

Names = Mapping[str, str]


def bert_names(scope: str, embeddings: str) -> dict[str, str]:
    """Returns the name table of the encoder of BERT or ELECTRA.

    Args:
        scope: The scope of the encoder, such as `bert`.
        embeddings: The scope of the embeddings, which the two parts of ELECTRA
            may share.
    """
    names = {}
    for theirs, ours in family_names.BERT.items():
        name = theirs.replace("layer.{i}", "layer_{i}").replace(".", "/")
        outer = embeddings if name.startswith("embeddings/") else scope
        names[f"{outer}/{name}"] = ours
    return names


_TABLES = {
    f"bert/{name.replace('.', '/')}": path
    for name, path in family_names.EMBEDDINGS.items()
}
_BLOCK = "bert/encoder/transformer/group_{i}/inner_group_0/"
ALBERT: Names = {
    **_TABLES,
    "bert/encoder/embedding_hidden_mapping_in": "encoder.projection",
    f"{_BLOCK}attention_1/self/query": "blocks.{i}.attention.query",
    f"{_BLOCK}attention_1/self/key": "blocks.{i}.attention.key",
    f"{_BLOCK}attention_1/self/value": "blocks.{i}.attention.value",
    f"{_BLOCK}attention_1/output/dense": "blocks.{i}.attention.output_dense",
    f"{_BLOCK}LayerNorm": "blocks.{i}.attention_norm",
    f"{_BLOCK}ffn_1/intermediate/dense": "blocks.{i}.feed_forward.intermediate_dense",
    f"{_BLOCK}ffn_1/intermediate/output/dense": "blocks.{i}.feed_forward.output_dense",
    f"{_BLOCK}LayerNorm_1": "blocks.{i}.output_norm",
    "bert/pooler/dense": "pooler.dense",
}
POOLER = "bert/pooler/"

WORDS = "cls/predictions/"
PAIR = "cls/seq_relationship/"
GENERATOR = "generator_predictions/"
DISCRIMINATOR = "discriminator_predictions/"
WORD_NAMES: Names = {
    f"{WORDS}transform/dense": "prediction_transform.dense",
    f"{WORDS}transform/LayerNorm": "prediction_transform.layer_norm",
    f"{WORDS}output_bias": "prediction_bias",
}
GENERATOR_NAMES: Names = {
    f"{GENERATOR}dense": "prediction_transform.dense",
    f"{GENERATOR}LayerNorm": "prediction_transform.layer_norm",
    f"{GENERATOR}output_bias": "prediction_bias",
}
DISCRIMINATOR_NAMES: Names = {
    f"{DISCRIMINATOR}dense": "head.hidden_dense",
    f"{DISCRIMINATOR}dense_1": "head.dense",
}
# The only layer that is not a `tf.layers.dense`: its kernel is stored as (2, H).
PAIR_NAMES: Names = {PAIR.removesuffix("/"): "pair_head.dense"}
PAIR_VARIABLES: Variables = {
    keras.layers.Dense: {
        "output_weights": ("kernel", (1, 0)),
        "output_bias": ("bias", None),
    }
}
