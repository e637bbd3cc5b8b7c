"""Configuration fields, named by Google and kept by Hugging Face."""

from collections.abc import Mapping
from typing import Any

from keras_bert_lite.config import EncoderConfig

CONFIG = "config.json"
CHANGEABLE = ("dropout", "attention_dropout")
# Marks a field without a default.
REQUIRED = object()
# Our field -> the name in config.json, and the default.
FIELDS: dict[str, tuple[str, Any]] = {
    "vocabulary_size": ("vocab_size", REQUIRED),
    "num_layers": ("num_hidden_layers", REQUIRED),
    "num_heads": ("num_attention_heads", REQUIRED),
    "hidden_dim": ("hidden_size", REQUIRED),
    "intermediate_dim": ("intermediate_size", REQUIRED),
    "max_sequence_length": ("max_position_embeddings", 512),
    "num_segments": ("type_vocab_size", 2),
    "dropout": ("hidden_dropout_prob", 0.1),
    "attention_dropout": ("attention_probs_dropout_prob", 0.1),
    "layer_norm_epsilon": ("layer_norm_eps", 1e-12),
    "initializer_range": ("initializer_range", 0.02),
    "activation": ("hidden_act", "gelu"),
}

# What changes no number that is computed here.
IGNORED = (
    # What wrote the file, and with which weights.
    *("transformers_version", "_name_or_path", "name_or_path", "auto_map"),
    *("model_name", "language", "finetuning_task", "custom_pipelines"),
    *("torch_dtype", "dtype", "label2id", "_num_labels"),
    # How PyTorch and TensorFlow compute, and in which form they return results.
    *("torchscript", "use_bfloat16", "tf_legacy_loss", "xla_device"),
    *("attn_implementation", "_attn_implementation", "_attn_implementation_autoset"),
    *("chunk_size_feed_forward", "gradient_checkpointing", "use_cache"),
    *("output_attentions", "output_hidden_states", "output_past", "return_dict"),
    *("use_return_dict", "return_dict_in_generate", "output_scores"),
    # Of decoders, which these models are not.
    *("cross_attention_hidden_size", "tie_encoder_decoder", "decoder_start_token_id"),
    *("min_length", "max_length", "do_sample", "early_stopping", "num_beams"),
    *("num_beam_groups", "diversity_penalty", "temperature", "top_k", "top_p"),
    *("typical_p", "repetition_penalty", "length_penalty", "no_repeat_ngram_size"),
    *("encoder_no_repeat_ngram_size", "bad_words_ids", "num_return_sequences"),
    *("forced_bos_token_id", "forced_eos_token_id", "remove_invalid_values"),
    *("exponential_decay_length_penalty", "suppress_tokens"),
    *("begin_suppress_tokens", "task_specific_params", "prefix", "use_task_prefix"),
    # Of the tokenizer, whose own files have them.
    *("tokenizer_class", "bos_token_id", "eos_token_id", "sep_token_id"),
    *("cls_token_id", "mask_token_id", "unk_token_id", "pad_token_id"),
    # Of Google's first files; no code reads them.
    *("directionality", "pooler_fc_size", "pooler_num_attention_heads"),
    *("pooler_num_fc_layers", "pooler_size_per_head", "pooler_type"),
)


def changed(config: EncoderConfig, changes: dict[str, Any]) -> EncoderConfig:
    """Returns the configuration with changed dropout rates."""
    for name, value in changes.items():
        if name not in CHANGEABLE:
            raise ValueError(
                f"Only {CHANGEABLE} may differ from the checkpoint. "
                f"Received: {name}={value!r}"
            )
    return config.replace(**changes)


def their_names(error: Exception, fields: Mapping[str, tuple[str, Any]]) -> str:
    """Returns a note with the config.json names of the fields in a message."""
    names = [
        f"`{ours}` is `{theirs}`"
        for ours, (theirs, _) in fields.items()
        if ours != theirs and f"`{ours}`" in str(error)
    ]
    return f" ({', '.join(names)} in {CONFIG})" if names else ""
