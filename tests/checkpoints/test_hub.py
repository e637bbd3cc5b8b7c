"""`hf://` names, against a small hub on loopback."""

import functools
import json
import os
import subprocess
import sys

import huggingface_hub
import numpy as np
import pytest
import safetensors.numpy

import keras_bert_lite as kbl
from tests import tiny
from tests.checkpoints import hub_server
from tests.checkpoints.directories import CLASSIFIER, assert_same, with_head, write
from tests.paths import ROOT

NAME = "hf://owner/name"
WANTED = {
    "config.json",
    "model-1.safetensors",
    "model-2.safetensors",
    "model.safetensors.index.json",
    "tokenizer_config.json",
    "vocab.txt",
}
UNWANTED = ["pytorch_model.bin", "tf_model.h5", "README.md", "model.onnx", "run.py"]
# A hub that does not answer must not hang the caller.
pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    """A classifier in two shards, with its tokenizer, and much that is unwanted."""
    directory = write(tmp_path_factory.mktemp("hub"), {}, **CLASSIFIER)
    (directory / "model.safetensors").unlink()
    names = sorted(weights := with_head())
    halves = {"model-1.safetensors": names[::2], "model-2.safetensors": names[1::2]}
    for file, half in halves.items():
        tensors = {name: weights[name] for name in half}
        safetensors.numpy.save_file(tensors, directory / file)
    index = {name: file for file, half in halves.items() for name in half}
    (directory / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": index})
    )
    (directory / "vocab.txt").write_text("\n".join(tiny.VOCABULARY))
    (directory / "tokenizer_config.json").write_text('{"model_max_length": 20}')
    for name in UNWANTED:
        (directory / name).write_bytes(b"not to be had")
    return directory


@pytest.fixture
def hub(directory):
    with hub_server.served(directory) as hub:
        yield hub


@pytest.fixture
def client(hub, tmp_path, monkeypatch):
    """Lets huggingface_hub's real download call the hub, with an empty cache."""
    download = functools.partial(
        huggingface_hub.snapshot_download, endpoint=hub.endpoint, cache_dir=tmp_path
    )
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    return tmp_path


def refusal(name=NAME):
    """The message of a refusal."""
    with pytest.raises(ValueError, match="hf://") as caught:
        kbl.load_model(name)
    return str(caught.value)


@pytest.mark.usefixtures("client")
def test_what_is_downloaded_is_what_is_there(hub, directory):
    assert_same(kbl.load_model(NAME), kbl.load_model(directory))
    assert hub.downloads() == WANTED
    assert all(method in ("GET", "HEAD") for method, _ in hub.requests)


@pytest.mark.usefixtures("client")
def test_encoder_and_preprocessor(hub, directory):
    with pytest.warns(UserWarning, match=r"not used: \['classifier.bias'"):
        encoder = kbl.load_encoder(NAME)
    with pytest.warns(UserWarning, match=r"not used: \['classifier.bias'"):
        expected = kbl.load_encoder(directory)
    assert_same(encoder, expected)
    ours, theirs = (kbl.load_preprocessor(source) for source in (NAME, directory))
    assert ours.sequence_length == theirs.sequence_length == 20
    for name, value in ours(tiny.TEXTS).items():
        np.testing.assert_array_equal(value, theirs(tiny.TEXTS)[name])


@pytest.mark.parametrize("stopped", [True, False])
def test_a_second_load_comes_from_the_cache(hub, client, stopped):
    first = kbl.load_model(NAME)
    hub.requests.clear()
    if stopped:
        hub.shutdown()
        hub.server_close()
    assert_same(first, kbl.load_model(NAME))
    assert hub.downloads() == set()


@pytest.mark.usefixtures("client", "hub")
def test_unknown_repository():
    message = refusal("hf://owner/other")
    assert "hf://owner/other could not be downloaded" in message
    assert "404" in message


@pytest.mark.parametrize("status", [401, 403, 404, 500, 503])
def test_errors_of_the_hub(hub, client, status):
    hub.status = status
    message = refusal()
    assert "hf://owner/name could not be downloaded" in message
    assert str(status) in message


@pytest.mark.usefixtures("client")
def test_a_hub_that_is_not_there(hub):
    hub.shutdown()
    hub.server_close()
    message = refusal()
    assert "hf://owner/name could not be downloaded" in message
    assert "refused" in message


@pytest.mark.usefixtures("client")
def test_a_hub_that_goes_away_in_the_middle_of_a_file(hub, monkeypatch, directory):
    """What has arrived is not taken for a checkpoint, and the next call goes on."""
    hub.cut = {"model-2.safetensors"}
    assert "hf://owner/name could not be downloaded" in refusal()
    hub.shutdown()
    hub.server_close()
    assert "hf://owner/name could not be downloaded" in refusal()
    with hub_server.served(directory) as again:
        download = functools.partial(
            huggingface_hub.snapshot_download, endpoint=again.endpoint
        )
        monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
        assert_same(kbl.load_model(NAME), kbl.load_model(directory))
        assert "model-2.safetensors" in again.downloads()


def test_a_hub_cannot_write_elsewhere(hub, client):
    hub.files["../../../../evil.json"] = b"{}"
    assert "hf://owner/name could not be downloaded" in refusal()
    assert not list(client.parent.rglob("evil.json"))


@pytest.mark.usefixtures("client")
def test_a_broken_file_of_the_hub(hub):
    """A file that is whole but wrong is refused by its name in the cache."""
    hub.files["model-2.safetensors"] = b"<html>Sign in to download.</html>"
    with pytest.raises(ValueError, match=r"model-2\.safetensors cannot be read"):
        kbl.load_model(NAME)


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("answer", [b"<html></html>", b"[]", b"{}"])
def test_answers_that_are_not_those_of_a_hub(hub, monkeypatch, answer):
    monkeypatch.setattr(
        hub_server.Handler, "_send_json", lambda self, _: self._send(200, answer)
    )
    assert "hf://owner/name could not be downloaded" in refusal()


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize(
    "name",
    ["a/b/c", "", "/", "../x", "a/..", "owner/", "/name", "a b/c", "owner/na\x00me"],
)
def test_bad_names(hub, name):
    message = refusal(f"hf://{name}")
    assert "is not hf://owner/name" in message
    assert hub.requests == []


PROGRAM = """
import keras_bert_lite as kbl
print(kbl.load_preprocessor("hf://owner/name").sequence_length)
"""


def test_settings_of_the_environment(hub, tmp_path):
    """`HF_ENDPOINT` and `HF_HOME` hold as they do for `huggingface_hub` alone."""
    settings = {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(tmp_path)}
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HF_")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**kept, **settings, "TF_CPP_MIN_LOG_LEVEL": "3"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.split() == ["20"], done.stderr
    assert hub.downloads() == WANTED
    assert list(tmp_path.rglob("vocab.txt"))
