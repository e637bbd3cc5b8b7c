"""What is done with every key of every JSON file of a checkpoint."""

import json
import warnings

import pytest

import keras_bert_lite as kbl
from keras_bert_lite.checkpoints.core.known_keys import Keys
from keras_bert_lite.checkpoints.google import config as google
from keras_bert_lite.checkpoints.hugging_face import (
    safetensors_files,
    sentence_transformers as sentences,
)
from keras_bert_lite.checkpoints.hugging_face.config import (
    SWITCHES,
    read_config,
    read_family,
)
from keras_bert_lite.checkpoints.hugging_face.families import LAYOUTS
from keras_bert_lite.checkpoints.hugging_face.loading import architecture_suffix
from keras_bert_lite.checkpoints.tokenizers import (
    added_tokens,
    loading,
    tokenizer_config,
    wordpiece,
)
from keras_bert_lite.layers.base import skip_initialization
from tests import tiny
from tests.checkpoints import directories, test_sentence_transformers
from tests.checkpoints.family_cases import CASES
from tests.checkpoints.tokenizer_json import PIECES, TOKENIZER_JSON

CONFIGURATIONS = {
    family: next(
        case["configuration"]
        for name, case in CASES.items()
        if case["configuration"]["model_type"] == family
    )
    for family in LAYOUTS
}
SPECIAL = [
    {"id": i, "content": token, "special": True} for i, token in enumerate(PIECES[:5])
]
SECTIONS = {**TOKENIZER_JSON, "added_tokens": SPECIAL}


def load_tokenizer(folder):
    (folder / "vocab.txt").write_text("\n".join(tiny.VOCABULARY))
    kbl.load_tokenizer(folder)


def load_google(folder):
    google.read_config(folder, "bert", None, 10**9, None, {})


def load_sentences(folder):
    """Loads what `sentence_file` wrote."""
    kbl.load_model(folder)
    kbl.load_preprocessor(folder)


def load_index(folder):
    safetensors_files.SafetensorsSource(folder)


def sentence_file(name):
    def write(folder, changes):
        test_sentence_transformers.write(folder, prompts={}, sentences={})
        path = folder / name
        content = json.loads(path.read_text())
        if isinstance(content, list):
            content[0] |= changes
        else:
            content |= changes
        path.write_text(json.dumps(content))

    return write


def file(name, **content):
    def write(folder, changes):
        (folder / name).write_text(json.dumps({**content, **changes}))

    return write


def index(folder, changes):
    directories.write(folder)
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    weight_map = dict.fromkeys(directories.tensors(), "part.safetensors")
    file("model.safetensors.index.json", weight_map=weight_map)(folder, changes)


def section(name):
    def write(folder, changes):
        part = SECTIONS[name]
        part = (
            [{**part[0], **changes}, *part[1:]]
            if name == "added_tokens"
            else {
                **part,
                **changes,
            }
        )
        (folder / "tokenizer.json").write_text(json.dumps({**SECTIONS, name: part}))

    return write


# Each file: its keys, and how it is written with some more and loaded.
FILES = {
    "tokenizer_config.json": (
        tokenizer_config.KEYS,
        file("tokenizer_config.json"),
        load_tokenizer,
    ),
    "special_tokens_map.json": (
        tokenizer_config.SPECIAL_KEYS,
        file("special_tokens_map.json"),
        load_tokenizer,
    ),
    "tokenizer.json": (
        loading.TOKENIZER_KEYS,
        file("tokenizer.json", **SECTIONS),
        load_tokenizer,
    ),
    "tokenizer.json, `model`": (
        wordpiece.MODEL_KEYS,
        section("model"),
        load_tokenizer,
    ),
    "tokenizer.json, `normalizer`": (
        wordpiece.PART_KEYS["normalizer"],
        section("normalizer"),
        load_tokenizer,
    ),
    "tokenizer.json, `pre_tokenizer`": (
        wordpiece.PART_KEYS["pre_tokenizer"],
        section("pre_tokenizer"),
        load_tokenizer,
    ),
    "tokenizer.json, `added_tokens`": (
        added_tokens.ENTRY_KEYS,
        section("added_tokens"),
        load_tokenizer,
    ),
    "modules.json": (
        sentences.MODULE_KEYS,
        sentence_file("modules.json"),
        load_sentences,
    ),
    "1_Pooling/config.json": (
        sentences.POOLING_KEYS,
        sentence_file("1_Pooling/config.json"),
        load_sentences,
    ),
    "config_sentence_transformers.json": (
        sentences.PROMPT_KEYS,
        sentence_file("config_sentence_transformers.json"),
        load_sentences,
    ),
    "sentence_bert_config.json": (
        sentences.SENTENCE_KEYS,
        sentence_file("sentence_bert_config.json"),
        load_sentences,
    ),
    "model.safetensors.index.json": (safetensors_files.INDEX_KEYS, index, load_index),
    "bert_config.json": (
        google.KEYS["bert"],
        file("bert_config.json", **directories.CONFIG),
        load_google,
    ),
    **{
        f"config.json of {family}": (
            LAYOUTS[family].keys,
            file("config.json", **configuration),
            read_family,
        )
        for family, configuration in CONFIGURATIONS.items()
    },
}

# What would change numbers here, and must not become a key that is ignored.
REFUSED_IN_EVERY_FAMILY = (
    *("position_embedding_type", "is_decoder", "is_encoder_decoder"),
    *("add_cross_attention", "quantization_config", "pruned_heads"),
)
REFUSED = {
    "tokenizer_config.json": ("never_split", "sp_model_kwargs", "remove_space"),
    "config_sentence_transformers.json": ("truncate_dim",),
    "sentence_bert_config.json": (
        *("processing_kwargs", "tokenizer_args"),
        *("query_length", "document_length", "query_expansion"),
        *("processor_kwargs", "config_args", "config_kwargs"),
    ),
    "config.json of albert": ("inner_group_num",),
    "config.json of mpnet": ("pad_token_id", "relative_attention_num_buckets"),
    "config.json of deberta": ("talking_head",),
    "config.json of gte": ("layer_norm_type", "logn_attention_scale"),
    "config.json of eurobert": ("pretraining_tp",),
}


@pytest.mark.parametrize("name", FILES)
class TestFiles:
    def test_what_is_refused(self, name):
        shared = REFUSED_IN_EVERY_FAMILY if name.startswith("config.json of") else ()
        assert {*FILES[name][0].only} == {*shared, *REFUSED.get(name, ())}

    def test_an_unknown_key_is_reported(self, tmp_path, name):
        _, write, load = FILES[name]
        write(tmp_path, {"a_new_key": 1})
        where = name.partition(" of ")[0]
        with pytest.warns(UserWarning, match=f"{where}: unknown .*'a_new_key'"):
            load(tmp_path)

    def test_the_others_are_ignored_in_silence(self, tmp_path, name):
        keys, write, load = FILES[name]
        ignored = {*keys.ignored} - {*keys.only, *keys.followed}
        write(tmp_path, dict.fromkeys(ignored, "odd"))
        load(tmp_path)  # tests turn warnings into errors

    def test_a_value_that_is_not_supported_is_refused(self, tmp_path, name):
        keys, write, load = FILES[name]
        for number, key in enumerate(keys.only):
            folder = tmp_path / str(number)
            folder.mkdir()
            write(folder, {key: "odd"})
            with pytest.raises(ValueError, match=f"`{key}` must be .*'odd'"):
                load(folder)


class Recording(dict):
    """A dictionary that notes which keys are looked up."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.seen = set()

    def get(self, key, default=None):
        self.seen.add(key)
        return super().get(key, default)

    def __getitem__(self, key):
        self.seen.add(key)
        return super().__getitem__(key)


@pytest.mark.parametrize("family", sorted(LAYOUTS.keys() - {"deberta"}))
def test_what_is_followed_is_read_and_nothing_else(tmp_path, family):
    row = LAYOUTS[family]
    content = {**CONFIGURATIONS[family], "architectures": None}
    content.pop("id2label", None)
    directories.write(tmp_path)
    file("config.json")(tmp_path, content)
    raw = Recording(read_family(tmp_path)[1])
    with skip_initialization():
        body = kbl.encoder(read_config(tmp_path, raw, "cls_dense", {}))
    architecture_suffix(tmp_path, row, raw)
    followed = set(row.keys.followed)
    known = {"model_type", "label2id", *SWITCHES}  # read before
    for head in row.heads.values():
        if followed <= raw.seen | known:
            break
        with skip_initialization(), warnings.catch_warnings(action="ignore"):
            head.build(body, raw, head)
    assert followed - raw.seen - known == set()
    assert raw.seen - followed - set(row.keys.only) - known == set()


def test_messages():
    keys = Keys(followed=("a",), only={"b": 1}, ignored=("c",))
    keys.check({"a": 2, "b": 1, "c": 3}, "x.json")
    keys.check({"b": None}, "x.json")
    with pytest.raises(ValueError, match=r"x.json: `b` must be 1. Received: 2"):
        keys.check({"b": 2}, "x.json")
    with pytest.warns(UserWarning, match=r"x.json: .*ignored: \['d', 'e'\]"):
        keys.check({"e": 1, "d": 1, "a": 1}, "x.json")
