"""Retrieval sets, and BEIR's files of them."""

import json
import lzma

import pytest

from keras_bert_lite.data import RetrievalSet, read_beir
from keras_bert_lite.finetuning.rows import read_rows
from keras_bert_lite.finetuning.spec import TUNABLE
from keras_bert_lite.training.data.retrieval import MOST, retrieval_set

QUERIES = {"q1": "rain today", "q2": "who sings", "q3": "nothing fits"}
CORPUS = {
    "a": "it will rain",
    "b": "she sings today",
    "c": "he sings, who else",
    "d": "today it is dry",
}
JUDGEMENTS = {"q1": {"a": 1, "d": 0}, "q2": {"c": 1, "b": 2}, "q3": {"a": 0}}


def write(folder, judgements="qrels.tsv", corpus=None, lines=None):
    """Writes BEIR's files."""
    (folder / judgements).parent.mkdir(parents=True, exist_ok=True)
    texts = corpus or [
        {"_id": name, "title": "Today" * (name == "a"), "text": text}
        for name, text in CORPUS.items()
    ]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, texts)))
    asked = [{"_id": name, "text": text} for name, text in QUERIES.items()]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)))
    judged = [
        f"{query}\t{text}\t{grade}"
        for query, texts in JUDGEMENTS.items()
        for text, grade in texts.items()
    ]
    rows = ["query-id\tcorpus-id\tscore", *judged] if lines is None else lines
    (folder / judgements).write_text("\n".join(rows))
    return folder


def test_pairs_are_those_that_are_relevant():
    data = RetrievalSet(QUERIES, CORPUS, JUDGEMENTS)
    assert data.answerable == ["q1", "q2"]
    assert data.pairs() == [
        {"text": "rain today", "text_pair": "it will rain"},
        {"text": "who sings", "text_pair": "he sings, who else"},
        {"text": "who sings", "text_pair": "she sings today"},
    ]


def test_lists_have_the_best_texts_then_judged_ones_then_those_of_bm25():
    data = RetrievalSet(QUERIES, CORPUS, JUDGEMENTS)
    first, second = data.lists()
    assert first["query"] == "rain today"
    assert first["candidates"][:2] == ["it will rain", "today it is dry"]
    # Both others share fewer words with the query; one has "today".
    assert first["candidates"][2:] == ["she sings today", "he sings, who else"]
    assert first["grades"] == [1, 0, 0, 0]
    assert second["candidates"][:2] == ["she sings today", "he sings, who else"]
    assert second["grades"][:2] == [2, 1]
    assert len(second["candidates"]) == 4


def test_lists_are_short():
    corpus = {f"d{i}": f"rain {i}" for i in range(30)}
    judged = {f"d{i}": i % 3 for i in range(20)}
    (row,) = RetrievalSet({"q": "rain"}, corpus, {"q": judged}).lists()
    assert row["grades"] == [2] * MOST + [0] * MOST
    unjudged = {"q": {f"d{i}": 1 for i in range(10)}}
    (row,) = RetrievalSet({"q": "rain"}, corpus, unjudged).lists()
    assert row["grades"] == [1] * MOST + [0] * MOST
    right = {corpus[x] for x in unjudged["q"]}
    assert not right & set(row["candidates"][MOST:])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"judgements": {"q9": {"a": 1}}}, "ids of `queries`. Received: 'q9', 1 in"),
        ({"judgements": {"q1": {"x": 1, "y": 0}}}, "`corpus`. Received: .*, 2 in all"),
        ({"judgements": {"q1": {"a": -1}}}, "from 0. Received: -1 for 'q1' and 'a'"),
        ({"judgements": {"q1": {"a": float("nan")}}}, "must be numbers from 0"),
        ({"judgements": {"q1": {"a": "1"}}}, "must be numbers from 0. Received: '1'"),
        ({"judgements": {"q1": {"a": 0}}}, "a relevant text .* 1 judged texts, none"),
        ({"judgements": {}}, "must name a relevant text"),
    ],
)
def test_refuses(changes, message):
    given = {"queries": QUERIES, "corpus": CORPUS, "judgements": JUDGEMENTS}
    with pytest.raises(ValueError, match=message):
        RetrievalSet(**{**given, **changes})


@pytest.mark.parametrize(
    ("judgements", "path"),
    [
        ("qrels.tsv", ""),
        ("qrels.tsv", "qrels.tsv"),
        ("qrels/train.tsv", ""),
        ("qrels/train.tsv", "qrels/train.tsv"),
    ],
)
def test_files(tmp_path, judgements, path):
    data = read_beir(write(tmp_path, judgements) / path)
    assert data.queries == QUERIES
    assert data.corpus == {**CORPUS, "a": "Today it will rain"}
    assert data.judgements == JUDGEMENTS


def test_one_of_several_tables_must_be_named(tmp_path):
    write(tmp_path, "qrels/train.tsv")
    write(tmp_path, "qrels/test.tsv")
    message = r"one of several itself. Received: .*\['test.tsv', 'train.tsv'\]"
    with pytest.raises(ValueError, match=message):
        read_beir(tmp_path)
    assert read_beir(tmp_path / "qrels/test.tsv").judgements == JUDGEMENTS


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"lines": ["a\tb\tc", "q1\ta\t1"]}, r"must have the columns \['query-id'"),
        ({"lines": ["query-id\tcorpus-id\tscore", "q1\ta\tx"]}, "'x' for 'q1' and 'a'"),
        ({"corpus": [{"_id": "a"}]}, r"must have \['text'\]"),
        (
            {"corpus": [{"_id": "a", "text": "x"}] * 2},
            "`_id` must differ. .* 'a' twice",
        ),
        ({"corpus": [{"_id": "a", "text": 1}]}, "`text` and `title` must be strings"),
    ],
)
def test_refuses_files(tmp_path, files, message):
    with pytest.raises(ValueError, match=message):
        read_beir(write(tmp_path, **files))


def test_refuses_judgements_without_texts(tmp_path):
    write(tmp_path)
    (tmp_path / "corpus.jsonl").unlink()
    with pytest.raises(FileNotFoundError, match=r"with corpus.jsonl and queries.jsonl"):
        read_beir(tmp_path / "qrels.tsv")


def test_other_sources_are_none(tmp_path):
    write(tmp_path)
    (tmp_path / "rows.tsv").write_text("text\tlabel\n")
    with lzma.open(tmp_path / "rows.tsv.xz", "w") as file:
        file.write(b"text\tlabel\n")
    data = RetrievalSet(QUERIES, CORPUS, JUDGEMENTS)
    assert retrieval_set(data) is data
    assert retrieval_set(tmp_path).judgements == JUDGEMENTS
    assert retrieval_set(str(tmp_path / "qrels.tsv")).judgements == JUDGEMENTS
    for other in ("rows.tsv", "rows.tsv.xz", "corpus.jsonl", "no.tsv"):
        assert retrieval_set(tmp_path / other) is None
    for other in ([], {"text": []}, "datasets://mteb/scifact:test"):
        assert retrieval_set(other) is None


@pytest.mark.parametrize(
    ("task", "first"),
    [
        ("sentence_embedding", {"text": "rain today", "text_pair": "it will rain"}),
        ("ranking", RetrievalSet(QUERIES, CORPUS, JUDGEMENTS).lists()[0]),
    ],
)
def test_rows_to_learn_from(task, first):
    data = RetrievalSet(QUERIES, CORPUS, JUDGEMENTS)
    rows, columns = read_rows(data, TUNABLE[task].rows, {}, "train")
    assert rows[0] == first
    assert {name for name, x in columns.items() if x} == set(first)


def test_refuses_tasks_that_do_not_search():
    data = RetrievalSet(QUERIES, CORPUS, JUDGEMENTS)
    with pytest.raises(ValueError, match=r"`train` must hold rows; .* of 3 queries"):
        read_rows(data, TUNABLE["regression"].rows, {}, "train")
    with pytest.raises(ValueError, match=r"for the options \['format'\]"):
        read_rows(data, TUNABLE["ranking"].rows, {}, "train", format="tsv")
