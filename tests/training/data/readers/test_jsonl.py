"""read_jsonl."""

import pytest

from keras_bert_lite.training.data import read_jsonl
from tests.training.data.files import write


def test_reads_objects(tmp_path):
    content = '\ufeff{"text": "é", "label": 1}\r\n\n{"text": "\\u2028", "x": [1.5]}'
    rows = read_jsonl(write(tmp_path, "a.jsonl", content), required=["text"])
    expected = [{"text": "é", "label": 1}, {"text": "\u2028", "x": [1.5]}]
    assert list(rows) == list(rows) == expected
    assert list(read_jsonl(write(tmp_path, "b.jsonl", ""))) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "a"}\n{"text": \n', "a.jsonl:2: must be JSON"),
        (
            '{"text": "a", "text": ""}',
            r"a.jsonl:1: must be JSON \(the key 'text' is there twice",
        ),
        ('{"text": "a"}\n\n["text"]\n', "a.jsonl:3: must be a JSON object"),
        ('{"text": "a"}\n{"Text": "b"}', r"a.jsonl:2: must have \['text'\]. Received"),
        (b'{"text": "\xe9"}', "a.jsonl:1: must be UTF-8"),
        ("[" * 100_000, "a.jsonl:1: must be JSON"),
    ],
)
def test_names_the_line(tmp_path, content, message):
    path = write(tmp_path, "a.jsonl", content)
    with pytest.raises(ValueError, match=message):
        list(read_jsonl(path, required=["text"]))


def test_refuses_one_name_for_a_list(tmp_path):
    with pytest.raises(TypeError, match="`required` must be a list"):
        read_jsonl(write(tmp_path, "a.jsonl", ""), required="text")
