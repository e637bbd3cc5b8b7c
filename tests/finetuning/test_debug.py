import pytest

from keras_bert_lite import data
from keras_bert_lite.finetuning.debug import shown
from tests.finetuning import samples


def debug(rows, held_out=None, task="text_classification"):
    return data.debug(task, rows, held_out, samples.encoder())


def test_texts():
    rows = [
        {"text": None, "label": "a"},
        {"text": "fine day", "label": "a"},
        {"text": "fine day", "label": "b"},
        {"text": "", "label": "a"},
        {"text": "day " * 30, "label": "a"},
        {"sentence": "x"},
    ]
    held_out = [{"text": "day", "label": ""}, {"text": "fine day", "label": "c"}]
    found = debug(rows, held_out)
    assert found["rows"] == {"train": 4, "validation": 1}
    assert [x.split(":")[0] for x in found["invalid"]] == [
        "`train`, record 0",
        "`train`, record 5",
        "`validation`, record 0",
    ]
    assert found["labels"] == {"a": 3, "b": 1}
    assert found["unknown"] == ["c"]
    assert (found["empty"], found["duplicates"]) == ([3], [2])
    assert (found["contradictions"], found["shared"]) == ([2], [1])
    assert found["lengths"] == {"median": 4, "highest": 32, "limit": 24, "cut": 1}
    assert found["pieces"] == {"text": ["fine", "day"]}
    text = shown(found)
    assert "labels: a 3, b 1" in text
    assert "contradictions: 1 (2)" in text


def test_answers_that_are_not_at_their_place():
    row = samples.rows("question_answering")[1]
    wrong = {**row, "answers": {"text": ["fine"], "answer_start": [3]}}
    found = debug([row, wrong], task="question_answering")
    assert len(found["invalid"]) == 1
    assert "`answer_start`" in found["invalid"][0]
    assert found["labels"] == {"with an answer": 1}


def test_tags_that_do_not_match_the_words():
    rows = [{"words": ["a", "b"], "tags": ["O"]}, *samples.tagged(2)]
    found = debug(rows, task="token_classification")
    assert "one for each word" in found["invalid"][0]
    assert found["labels"]["O"] == 2


@pytest.mark.parametrize(
    ("task", "changes"),
    [
        ("regression", {"label": 2}),
        ("multiple_choice", {"label": 1}),
        ("question_answering", {"answers": {"text": [], "answer_start": []}}),
        ("intent_and_slots", {"tags": ["O", "O", "O"]}),
    ],
)
def test_the_same_text_with_another_answer(task, changes):
    row = samples.rows(task, 2)[task == "question_answering"]
    found = debug([row, row, {**row, **changes}], task=task)
    assert found["duplicates"] == [1, 2]
    assert found["contradictions"] == [2]


def test_several_labels_have_no_order():
    row = {"text": "fine", "label": ["a", "b"]}
    other = {**row, "label": ["b", "a"]}
    found = debug([row, other], task="multi_label_classification")
    assert found["contradictions"] == []


def test_tags_of_two_kinds():
    rows = [
        {"words": ["fine", "day"], "tags": ["B-X", "X"]},
        {"words": ["day"], "tags": [1]},
    ]
    found = debug(rows, task="token_classification")
    assert "`tags` must hold strings" in found["invalid"][0]
    assert "'X'" in found["invalid"][1]


@pytest.mark.parametrize(
    ("task", "changes"),
    [
        ("text_classification", {"text": ["a", "b"]}),
        ("text_classification", {"text": "\ud83d"}),
        ("token_classification", {"words": "the", "tags": ["O", "O", "O"]}),
        ("token_classification", {"words": ["a", 5], "tags": ["O", "O"]}),
        ("question_answering", {"question": ["a"]}),
    ],
)
def test_texts_that_are_none(task, changes):
    row = samples.rows(task, 2)[1]
    found = debug([row, {**row, **changes}], task=task)
    (invalid,) = found["invalid"]
    assert invalid.startswith("`train`, record 1: ")


def test_nothing_valid():
    found = debug([{"text": "a"}])
    assert found["rows"] == {"train": 0}
    assert shown(found).startswith("rows: train 0\ninvalid: 1\n`train`, record 0")


def test_tags_in_the_scheme_that_is_trained_on():
    train = [{"words": ["fine", "day"], "tags": ["I-X", "I-X"]}]
    validation = [{"words": ["fine", "day"], "tags": ["B-X", "I-X"]}]
    found = debug(train, validation, task="token_classification")
    assert found["labels"] == {"B-X": 1, "I-X": 1}
    assert found["unknown"] == []


def test_no_rows_are_invalid():
    for found in (debug([]), debug(samples.texts(), [])):
        (invalid,) = found["invalid"]
        assert invalid.endswith("must hold records. Received: none")


def test_a_file_is_read_up_to_its_first_wrong_line(tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("text\tlabel\na\tx\nb\tx\ty\nc\tx\n", encoding="utf-8")
    found = debug(path)
    assert found["rows"] == {"train": 1}
    (invalid,) = found["invalid"]
    assert "rows.tsv:3" in invalid
    assert invalid.endswith("What follows was not read")


def test_long_texts_are_shown_in_part():
    found = debug([{"text": "day " * 60, "label": "a"}, {"text": " ", "label": "b"}])
    assert shown(found).endswith("day ...")
    assert len(found["pieces"]["text"]) >= 60
    assert found["empty"] == [1]


def test_an_unknown_encoder_is_told_by_its_name():
    with pytest.raises(ValueError, match="`encoder` must be"):
        data.debug("text_classification", samples.texts(), encoder="nowhere")


@pytest.mark.parametrize(
    ("task", "rows", "alike"),
    [
        (
            "text_classification",
            [{"text": "a", "label": x} for x in ("bad", "bad ", "Bad", "good")],
            [["Bad", "bad", "bad "]],
        ),
        (
            "multi_label_classification",
            [{"text": "a", "label": ["x y", "xy"]}],
            [["x y", "xy"]],
        ),
        (
            "intent_and_slots",
            [
                {"words": ["a", "b"], "tags": ["NN", "nn"], "intent": x}
                for x in ("Play", "play")
            ],
            [["NN", "nn"], ["Play", "play"]],
        ),
    ],
)
def test_labels_that_differ_in_blanks_or_case(task, rows, alike):
    report = debug(rows, task=task)
    assert report["alike"] == alike
    assert f"alike: {len(alike)} (" in shown(report)


@pytest.mark.parametrize(
    ("name", "content", "finding"),
    [
        ("a.tsv", 'text\tlabel\n"Yes"\tb\nno\tb\n', "1 lines hold values in quot"),
        ("a.tsv", 'text\tlabel\n"a ""b"""\tb\nno\tb\n', None),
        ("a.conll", "# id x=1\nAnn _ _ B-X\n\n# _ _ B-X\n", "1 lines begin with #"),
        ("a.conll", "# _ _ O\nAnn _ _ O\n", None),
    ],
)
def test_what_an_option_would_read_in_another_way(name, content, finding, tmp_path):
    (tmp_path / name).write_text(content, encoding="utf-8")
    task = "token" if name == "a.conll" else "text"
    report = debug(tmp_path / name, task=f"{task}_classification")
    if finding is None:
        assert report["files"] == []
        return
    assert report["files"][0].startswith(f"`train`: {finding}")
    assert report["files"][0] in shown(report)
