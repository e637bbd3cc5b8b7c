"""The names of the encoder's modules in Hugging Face checkpoints.

They lack the prefix (`bert.`) that models with a head add. See `core.name_table`.
"""

from keras_bert_lite.checkpoints.core.name_table import Fused, Table

EMBEDDINGS = {
    "embeddings.word_embeddings": "embeddings.token_embedding",
    "embeddings.position_embeddings": "embeddings.position_embedding",
    "embeddings.token_type_embeddings": "embeddings.segment_embedding",
    "embeddings.LayerNorm": "embeddings.layer_norm",
}
_BLOCK = "encoder.layer.{i}."
BERT = {
    **EMBEDDINGS,
    "embeddings_project": "encoder.projection",  # ELECTRA
    f"{_BLOCK}attention.self.query": "blocks.{i}.attention.query",
    f"{_BLOCK}attention.self.key": "blocks.{i}.attention.key",
    f"{_BLOCK}attention.self.value": "blocks.{i}.attention.value",
    f"{_BLOCK}attention.output.dense": "blocks.{i}.attention.output_dense",
    f"{_BLOCK}attention.output.LayerNorm": "blocks.{i}.attention_norm",
    f"{_BLOCK}intermediate.dense": "blocks.{i}.feed_forward.intermediate_dense",
    f"{_BLOCK}output.dense": "blocks.{i}.feed_forward.output_dense",
    f"{_BLOCK}output.LayerNorm": "blocks.{i}.output_norm",
    "pooler.dense": "pooler.dense",
}
ERNIE = {
    **BERT,
    "embeddings.task_type_embeddings": "embeddings.task_embedding",
}
MPNET = {
    **{name: path for name, path in BERT.items() if "attention" not in name},
    f"{_BLOCK}attention.attn.q": "blocks.{i}.attention.query",
    f"{_BLOCK}attention.attn.k": "blocks.{i}.attention.key",
    f"{_BLOCK}attention.attn.v": "blocks.{i}.attention.value",
    f"{_BLOCK}attention.attn.o": "blocks.{i}.attention.output_dense",
    f"{_BLOCK}attention.LayerNorm": "blocks.{i}.attention_norm",
    "encoder.relative_attention_bias": "encoder.relative_bias.embedding",
}
_BLOCK = "transformer.layer.{i}."
DISTILBERT = {
    **EMBEDDINGS,
    f"{_BLOCK}attention.q_lin": "blocks.{i}.attention.query",
    f"{_BLOCK}attention.k_lin": "blocks.{i}.attention.key",
    f"{_BLOCK}attention.v_lin": "blocks.{i}.attention.value",
    f"{_BLOCK}attention.out_lin": "blocks.{i}.attention.output_dense",
    f"{_BLOCK}sa_layer_norm": "blocks.{i}.attention_norm",
    f"{_BLOCK}ffn.lin1": "blocks.{i}.feed_forward.intermediate_dense",
    f"{_BLOCK}ffn.lin2": "blocks.{i}.feed_forward.output_dense",
    f"{_BLOCK}output_layer_norm": "blocks.{i}.output_norm",
}
_BLOCK = "encoder.albert_layer_groups.{i}.albert_layers.0."
ALBERT = {
    **EMBEDDINGS,
    "encoder.embedding_hidden_mapping_in": "encoder.projection",
    f"{_BLOCK}attention.query": "blocks.{i}.attention.query",
    f"{_BLOCK}attention.key": "blocks.{i}.attention.key",
    f"{_BLOCK}attention.value": "blocks.{i}.attention.value",
    f"{_BLOCK}attention.dense": "blocks.{i}.attention.output_dense",
    f"{_BLOCK}attention.LayerNorm": "blocks.{i}.attention_norm",
    f"{_BLOCK}ffn": "blocks.{i}.feed_forward.intermediate_dense",
    f"{_BLOCK}ffn_output": "blocks.{i}.feed_forward.output_dense",
    f"{_BLOCK}full_layer_layer_norm": "blocks.{i}.output_norm",
    "pooler": "pooler.dense",
}
_BLOCK = "encoder.layer.{i}."
DEBERTA = {
    **{name: path for name, path in BERT.items() if "attention.self" not in name},
    "embeddings.embed_proj": "embeddings.projection",
    f"{_BLOCK}attention.self.query_proj": "blocks.{i}.attention.query",
    f"{_BLOCK}attention.self.key_proj": "blocks.{i}.attention.key",
    f"{_BLOCK}attention.self.value_proj": "blocks.{i}.attention.value",
    f"{_BLOCK}attention.self.pos_key_proj": "blocks.{i}.attention.position_key",
    f"{_BLOCK}attention.self.pos_query_proj": "blocks.{i}.attention.position_query",
    "encoder.rel_embeddings": "encoder.relative_table.embedding",
    "encoder.LayerNorm": "encoder.relative_table.layer_norm",
    "encoder.conv.conv": "encoder.convolution.convolution",
    "encoder.conv.LayerNorm": "encoder.convolution.norm",
}
del DEBERTA["embeddings_project"], DEBERTA["pooler.dense"]
DEBERTA_V1: Table = {
    **{name: path for name, path in DEBERTA.items() if "attention.self" not in name},
    f"{_BLOCK}attention.self.in_proj.weight": Fused(
        tuple(f"blocks.{{i}}.attention.{x}.kernel" for x in ("query", "key", "value")),
        by_head=True,
    ),
    f"{_BLOCK}attention.self.q_bias": "blocks.{i}.attention.query.bias",
    f"{_BLOCK}attention.self.v_bias": "blocks.{i}.attention.value.bias",
    f"{_BLOCK}attention.self.pos_proj": "blocks.{i}.attention.position_key",
    f"{_BLOCK}attention.self.pos_q_proj": "blocks.{i}.attention.position_query",
}
ATTENTION = ("attention.query", "attention.key", "attention.value")
ACTIVATED, GATE = "feed_forward.intermediate_dense", "feed_forward.gate_dense"


def _fused(module: str, layers: tuple[str, ...]) -> dict[str, Fused]:
    """Returns the rows of a module that joins several of our layers."""
    return {
        f"{module}.{tensor}": Fused(
            tuple(f"blocks.{{i}}.{layer}.{variable}" for layer in layers)
        )
        for tensor, variable in {"weight": "kernel", "bias": "bias"}.items()
    }


_BLOCK = "layers.{i}."
MODERNBERT: Table = {
    "embeddings.tok_embeddings": "embeddings.token_embedding",
    "embeddings.norm": "embeddings.layer_norm",
    f"{_BLOCK}attn_norm": "blocks.{i}.attention_input_norm",
    **_fused(f"{_BLOCK}attn.Wqkv", ATTENTION),
    f"{_BLOCK}attn.Wo": "blocks.{i}.attention.output_dense",
    f"{_BLOCK}mlp_norm": "blocks.{i}.feed_forward_input_norm",
    **_fused(f"{_BLOCK}mlp.Wi", (ACTIVATED, GATE)),
    f"{_BLOCK}mlp.Wo": "blocks.{i}.feed_forward.output_dense",
    "final_norm": "encoder.final_norm",
}
# The modules of Nomic-BERT, GTE and Jina v3 in transformers. It stores them under the
# names of the authors, which follow.
_ROTARY = {
    **EMBEDDINGS,
    f"{_BLOCK}self_attn.q_proj": "blocks.{i}.attention.query",
    f"{_BLOCK}self_attn.k_proj": "blocks.{i}.attention.key",
    f"{_BLOCK}self_attn.v_proj": "blocks.{i}.attention.value",
    f"{_BLOCK}self_attn.o_proj": "blocks.{i}.attention.output_dense",
    f"{_BLOCK}post_attention_layernorm": "blocks.{i}.attention_norm",
    f"{_BLOCK}post_mlp_layernorm": "blocks.{i}.output_norm",
    "pooler.dense": "pooler.dense",
}
GTE_MODULES = {
    **_ROTARY,
    f"{_BLOCK}mlp.gate_proj": f"blocks.{{i}}.{ACTIVATED}",
    f"{_BLOCK}mlp.up_proj": f"blocks.{{i}}.{GATE}",
    f"{_BLOCK}mlp.down_proj": "blocks.{i}.feed_forward.output_dense",
}
JINA_MODULES = {
    **_ROTARY,
    f"{_BLOCK}mlp.fc1": f"blocks.{{i}}.{ACTIVATED}",
    f"{_BLOCK}mlp.fc2": "blocks.{i}.feed_forward.output_dense",
}
EUROBERT = {
    **{
        name: path
        for name, path in GTE_MODULES.items()
        if name.startswith(_BLOCK) and "norm" not in name
    },
    "embed_tokens": "embeddings.token_embedding",
    f"{_BLOCK}input_layernorm": "blocks.{i}.attention_input_norm",
    f"{_BLOCK}post_attention_layernorm": "blocks.{i}.feed_forward_input_norm",
    "norm": "encoder.final_norm",
}
_BLOCK = "encoder.layer.{i}."
GTE: Table = {
    **EMBEDDINGS,
    **_fused(f"{_BLOCK}attention.qkv_proj", ATTENTION),
    f"{_BLOCK}attention.o_proj": "blocks.{i}.attention.output_dense",
    f"{_BLOCK}attn_ln": "blocks.{i}.attention_norm",
    **_fused(f"{_BLOCK}mlp.up_gate_proj", (GATE, ACTIVATED)),
    f"{_BLOCK}mlp.down_proj": "blocks.{i}.feed_forward.output_dense",
    f"{_BLOCK}mlp_ln": "blocks.{i}.output_norm",
    "pooler.dense": "pooler.dense",
}
_BLOCK = "encoder.layers.{i}."
_FLASH = {
    "embeddings.word_embeddings": "embeddings.token_embedding",
    "embeddings.token_type_embeddings": "embeddings.segment_embedding",
    "emb_ln": "embeddings.layer_norm",
    f"{_BLOCK}norm1": "blocks.{i}.attention_norm",
    f"{_BLOCK}mlp.fc2": "blocks.{i}.feed_forward.output_dense",
    f"{_BLOCK}norm2": "blocks.{i}.output_norm",
    "pooler.dense": "pooler.dense",
}
NOMIC: Table = {
    **_FLASH,
    **_fused(f"{_BLOCK}attn.Wqkv", ATTENTION),
    f"{_BLOCK}attn.out_proj": "blocks.{i}.attention.output_dense",
    f"{_BLOCK}mlp.fc11": f"blocks.{{i}}.{GATE}",
    f"{_BLOCK}mlp.fc12": f"blocks.{{i}}.{ACTIVATED}",
}
JINA: Table = {
    **_FLASH,
    **_fused(f"{_BLOCK}mixer.Wqkv", ATTENTION),
    f"{_BLOCK}mixer.out_proj": "blocks.{i}.attention.output_dense",
    f"{_BLOCK}mlp.fc1": f"blocks.{{i}}.{ACTIVATED}",
}
# Prefixes of the encoder's tensors, which must all have a target in the model.
ENCODER_PARTS = (
    "embeddings.",
    "embeddings_project.",
    "embed_tokens.",
    "emb_ln.",
    "encoder.",
    "transformer.",
    "layers.",
    "final_norm.",
    "norm.",
)
