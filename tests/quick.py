"""What `make quick` runs: the promises that break most often.

A quick test neither calls `fit` nor starts a process, which `conftest.py` refuses under
`-m quick`, and traces as little as it can. Write a new promise into a file below, or
add its file; what an entry names must exist (`test_quick.py`).
"""

# Folders and files of `tests/`; classes and functions in them, with the beginning of
# their parameters.
QUICK = (
    # Configurations, public names, old files.
    "test_config.py",
    "test_golden_files.py",
    "test_progress_bar.py",
    "test_public_names.py",
    "test_quick.py",
    "test_reliability.py",
    "test_tagging.py",
    # Every tokenizer's ids and offsets, and the rows that are made of them.
    "text/byte_pair/test_pipelines.py::TestGolden",
    "text/byte_pair/test_tokenizer.py::TestGolden",
    "text/byte_pair/test_tokenizer.py::TestDetokenize",
    "text/sentence_piece/test_tokenizer.py::TestDetokenize",
    "text/sentence_piece/test_tokenizer.py::TestGolden",
    "text/test_added_tokens.py::test_found_as_the_reference_finds_them",
    "text/test_preprocessor.py",
    "text/test_ragged.py",
    "text/test_strings.py",
    "text/test_windows.py",
    "text/wordpiece/test_character_map.py",
    "text/wordpiece/test_cleaning.py::test_code_point_map_is_pinned",
    "text/wordpiece/test_tokenizer.py",
    # Layers: formulas, padding, round trips.
    "layers/attention/test_disentangled_attention.py",
    "layers/attention/test_relative_positions.py",
    "layers/attention/test_self_attention.py",
    "layers/execution/test_real_tokens.py::test_outputs_equal_those_of_padded_rows",
    "layers/heads/test_crf.py",
    "layers/heads/test_dense_heads.py",
    "layers/heads/test_tag_spans.py",
    "layers/test_conformance.py",
    "layers/test_embeddings.py",
    "layers/test_encoder.py",
    "layers/test_grouping.py",
    "layers/test_layer_mix.py",
    "layers/test_long_rows.py::test_padded_rows",
    "layers/test_long_rows.py::test_windows_of_odd_sizes",
    "layers/test_parts.py::test_padded_rows",
    "layers/test_parts.py::test_rows_without_padding",
    "layers/test_pooler.py",
    "layers/test_token_convolution.py",
    # Models and their tasks.
    "tasks/test_classification.py",
    "tasks/test_sequence_head.py",
    "models/test_encoder_model.py",
    # Checkpoints: golden outputs of every family, files that come back, refusals.
    "checkpoints/core/test_name_table.py",
    "checkpoints/test_families.py::test_outputs_of_every_family",
    "checkpoints/test_families.py::test_outputs_of_heads_and_variants[bert-",
    "checkpoints/test_fuzzed.py::TestConfig",
    "checkpoints/test_fuzzed.py::TestFiles",
    "checkpoints/test_fuzzed.py::TestShards",
    "checkpoints/test_fuzzed.py::TestTensors",
    "checkpoints/test_hugging_face.py",
    "checkpoints/test_save_hugging_face.py",
    "checkpoints/test_summary.py",
    "checkpoints/test_tokenizer_files.py",
    # Readers, labels, losses and metrics.
    "training/data/readers/",
    "training/data/test_batches.py",
    "training/data/test_questions.py::test_targets_are_the_tokens_of_the_answer",
    "training/data/test_records.py",
    "training/data/test_sequences.py::TestLabels",
    "training/data/test_sequences.py::TestNumbers",
    "training/data/test_tokens.py::test_targets_are_the_labels_of_pieces",
    "training/data/test_retrieval.py",
    "training/data/test_row_formats.py",
    "training/scores/test_scores.py",
    "training/scores/test_sentences.py",
    "training/scores/test_squad.py",
    "training/losses/",
    "training/metrics/",
    "training/test_schedules.py",
    # Search: texts and ids, vectors in parts.
    "search/test_corpus.py",
    "search/test_encoding.py",
    # Fine-tuning and the command: choices, errors, options.
    "cli/test_functions.py::test_help_has_an_example_and_every_option",
    "cli/test_signatures.py",
    "docs/test_pages.py::test_fences_say_what_they_are",
    "docs/test_pages.py::test_links",
    "finetuning/test_plan.py",
    "finetuning/test_finetune.py::test_batches_have_no_text_twice",
    "finetuning/test_finetune.py::test_refuses",
    "finetuning/test_finetune.py::test_the_order_of_rows_keeps_texts_apart",
    "finetuning/test_lengths.py",
    "finetuning/test_report.py",
    "finetuning/test_rows.py",
    "finetuning/test_run.py",
)
# What the entries above would take in too: it fits, traces or takes seconds.
NOT_QUICK = (
    "checkpoints/test_fuzzed.py::TestConfig::test_wrong_values",
    "layers/attention/test_disentangled_attention.py::test_compiles",
    "layers/attention/test_disentangled_attention.py"
    "::test_with_shared_projections_conforms",
    "layers/test_encoder.py::test_checkpointing_stack_conforms",
    "layers/test_encoder.py::test_shared_stack_with_internals_conforms",
    "tasks/test_sequence_head.py::test_compares_strings",
    "tasks/test_sequence_head.py::test_heads_read_the_vectors_of_windows",
    "tasks/test_sequence_head.py::test_trains",
    "models/test_encoder_model.py::test_quantized_models_load_in_another_process",
    "models/test_encoder_model.py::test_refuses_token_ids_outside_the_vocabulary",
    "text/sentence_piece/test_tokenizer.py::TestGolden::test_in_a_graph",
    "text/sentence_piece/test_tokenizer.py::TestGolden::test_large_batches",
    "text/test_preprocessor.py::TestGraph",
    "text/wordpiece/test_character_map.py::TestEveryCodePoint",
    "text/wordpiece/test_tokenizer.py::TestDetokenize::test_in_a_function",
    "text/wordpiece/test_tokenizer.py::TestForms",
    "text/wordpiece/test_tokenizer.py::TestGraph",
    "training/data/readers/test_random_tables.py",
    "training/data/test_batches.py::test_shuffles_every_epoch_anew_by_the_seed",
    "training/data/test_questions.py::test_targets_are_the_tokens_of_the_answer",
    "training/data/test_tokens.py::test_targets_are_the_labels_of_pieces",
    "training/losses/test_crf.py",
    "training/losses/test_ranking.py::test_training_reaches_real_candidates_only",
    "training/losses/test_sentence_pairs.py::test_training_lowers_the_loss",
    "training/metrics/test_entity_f1.py::test_in_compile",
    "training/metrics/test_multi_label.py::test_works_in_a_compiled_model",
    "training/metrics/test_pearson.py",
    "training/scores/test_squad.py::test_berts_published_numbers",
)


def is_quick(test: str) -> bool:
    """Whether `make quick` runs a test, by its id below `tests/`."""
    return _is_of(test, QUICK) and not _is_of(test, NOT_QUICK)


def may_be_quick(file: str) -> bool:
    """Whether a file below `tests/` may hold quick tests."""
    return any(x.startswith(f"{file}::") for x in QUICK) or _is_of(file, QUICK)


def _is_of(test: str, entries: tuple[str, ...]) -> bool:
    return any(
        test.startswith(x)
        and (x.endswith("/") or "[" in x or test[len(x) :][:1] in ("", ":", "["))
        for x in entries
    )
