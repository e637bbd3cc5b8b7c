"""Indexes: SavedModels that search a corpus."""

import importlib
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite._tensorflow import tf
from keras_bert_lite.search import encoding
from keras_bert_lite.training.bm25 import BM25
from tests import tiny
from tests.conformance import randomize

pytestmark = pytest.mark.tensorflow(reason="an index is a SavedModel")
LETTERS = "abcdefghij"
WORDS = [f"{x}{y} {y}{z} the {x}" for x in LETTERS for y in LETTERS for z in "xyz"]
CORPUS = [*dict.fromkeys([*tiny.TEXTS[:1], *tiny.TEXTS[2:], *WORDS])][:150]
QUERIES = ["a fine day", "bad weather", "ab bz the a", "jj", "not the weather, is it"]


def text_model(build, **preprocessing):
    model = build(tiny.encoder())
    randomize(model)
    for x in model.weights:  # or all vectors would be nearly the same
        if x.path.endswith(("beta", "gamma")):
            x.assign(np.full(x.shape, x.path.endswith("gamma")))
    return kbl.with_text(model, tiny.preprocessor(**preprocessing))


@pytest.fixture(scope="module")
def encoder():
    return text_model(kbl.sentence_encoder)


@pytest.fixture(scope="module")
def ranker():
    return text_model(kbl.ranker)


def vectors_of(encoder, texts):
    return encoder.predict(texts, verbose=0)["sentence_embedding"]


def indexed(encoder, folder, texts=CORPUS, **options):
    path = kbl.search.index(encoder, texts, folder, verbose=0, **options)
    return kbl.search.load(path)


def test_finds_the_nearest_texts(encoder, tmp_path):
    index = indexed(encoder, tmp_path / "index", k=5)
    assert index.path == tmp_path / "index" / "1"
    assert len(index) == len(CORPUS)
    cosines = vectors_of(encoder, QUERIES) @ vectors_of(encoder, CORPUS).T
    places = np.argsort(-cosines, 1)[:, :5]
    found = index.search(QUERIES, batch_size=2)
    np.testing.assert_allclose(
        found["scores"], np.take_along_axis(cosines, places, 1), atol=1e-5
    )
    np.testing.assert_array_equal(found["ids"], places)
    assert found["ids"].dtype == np.int64
    np.testing.assert_array_equal(found["texts"], np.array(CORPUS)[places])
    assert index.search([])["ids"].shape == (0, 5)
    with pytest.raises(TypeError, match="`texts` must be a list of strings"):
        index.search("a fine day")


def test_an_encoder_in_int8(encoder, tmp_path):
    folder = tmp_path / "index"
    index = indexed(encoder, folder, k=5, int8=True, precision="int8")
    plain = indexed(encoder, tmp_path / "plain", k=5)
    loaded = tf.saved_model.load(str(index.path))
    found = loaded.signatures["embed"](text=tf.constant(CORPUS))["sentence_embedding"]
    exact = vectors_of(encoder, CORPUS)
    assert ((found * exact).numpy().sum(1)).min() > 0.99
    assert np.abs(found - exact).max() > 1e-5  # it is another encoder
    scores = [x.search(QUERIES)["scores"] for x in (index, plain)]
    np.testing.assert_allclose(*scores, atol=0.05)
    again = index.add(["the zy zz a"])
    assert len(kbl.search.load(again)) == len(CORPUS) + 1
    with pytest.raises(ValueError, match="`int8` must be False for fewer than 16"):
        indexed(encoder, tmp_path / "small", CORPUS[:9], int8=True)


def both_scores(encoder, queries, weight):
    """The sum of standardized scores of all texts, `(B, N)`."""
    cosines = vectors_of(encoder, queries) @ vectors_of(encoder, CORPUS).T
    words = np.array([*BM25(CORPUS).all_scores(queries)])

    def standardized(x):
        deviation = x.std(1, keepdims=True)
        return (x - x.mean(1, keepdims=True)) / np.where(deviation, deviation, np.inf)

    return weight * standardized(cosines) + (1 - weight) * standardized(words)


@pytest.mark.parametrize("options", [{}, {"weight": 0.2}, {"probes": 12}])
def test_vectors_and_words_count(encoder, tmp_path, options):
    index = indexed(encoder, tmp_path / "index", hybrid=True, k=3, **options)
    scores = both_scores(encoder, QUERIES, options.get("weight", 0.6))
    found = index.search(QUERIES)
    expected = -np.sort(-scores, 1)[:, :3]
    np.testing.assert_allclose(found["scores"], expected, atol=1e-3)
    again = np.take_along_axis(scores, found["ids"], 1)
    np.testing.assert_allclose(again, expected, atol=1e-3)


def test_the_ranker_orders_the_best(encoder, ranker, tmp_path):
    plain = indexed(encoder, tmp_path / "plain", k=8)
    options = {"ranker": ranker, "rerank": 8, "k": 3}
    index = indexed(encoder, tmp_path / "index", ranker_weight=1, **options)
    found, before = index.search(QUERIES), plain.search(QUERIES)
    candidates = before["texts"].tolist()
    answers = ranker.predict({"text": QUERIES, "candidates": candidates}, verbose=0)
    order = answers["order"][:, :3]
    expected = np.take_along_axis(before["ids"], order, 1)
    np.testing.assert_array_equal(found["ids"], expected)
    scores = np.take_along_axis(answers["scores"], order, 1)
    np.testing.assert_allclose(found["scores"], scores, atol=1e-5)
    loaded = tf.saved_model.load(str(index.path))
    again = loaded.signatures["rerank"](
        text=tf.constant(QUERIES), candidates=tf.constant(candidates)
    )
    np.testing.assert_array_equal(again["order"], answers["order"])


FORMS = [{}, {"hybrid": True}, {"hybrid": True, "probes": 2, "precision": "int8"}]


@pytest.mark.parametrize("weight", [0.5, 0.2, 0])
def test_ranker_and_search_count(encoder, ranker, tmp_path, weight):
    before = indexed(encoder, tmp_path / "plain", k=8).search(QUERIES)
    share = {} if weight == 0.5 else {"ranker_weight": weight}
    options = {"ranker": ranker, "rerank": 8, "k": 3, **share}
    found = indexed(encoder, tmp_path / "index", **options).search(QUERIES)
    candidates = {"text": QUERIES, "candidates": before["texts"].tolist()}
    by_ranker = ranker.predict(candidates, verbose=0)["scores"]
    by_ranker, by_search = (
        (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
        for x in (by_ranker, before["scores"])
    )
    both = weight * by_ranker + (1 - weight) * by_search
    order = np.argsort(-both, 1)[:, :3]
    np.testing.assert_array_equal(
        found["ids"], np.take_along_axis(before["ids"], order, 1)
    )
    np.testing.assert_allclose(
        found["scores"], np.take_along_axis(both, order, 1), atol=1e-3
    )


@pytest.mark.parametrize("options", FORMS)
@pytest.mark.parametrize("ids", [None, ["x", "y"]])
def test_few_texts_and_empty_queries(encoder, ranker, tmp_path, options, ids):
    texts = ["a fine day", "bad weather"]
    judge = {"ranker": ranker, "rerank": 5} if options else {}
    index = indexed(encoder, tmp_path / "i", texts, ids=ids, k=4, **judge, **options)
    found = index.search(["bad weather", " \n", "", "\u3000\xa0\v"])
    names, absent = ids or [0, 1], "" if ids else -1
    assert {*found["ids"][0][:2].tolist()} <= {*names}
    assert found["ids"][0, 2:].tolist() == [absent] * 2
    assert found["texts"][0, 2:].tolist() == [""] * 2
    assert np.isneginf(found["scores"][0, 2:]).all()
    for row in (1, 2, 3):
        assert found["ids"][row].tolist() == [absent] * 4
        assert np.isneginf(found["scores"][row]).all()
    assert index.best_ids(["bad weather"])[0] == [
        str(x) for x in found["ids"][0] if x != absent
    ]


@pytest.fixture(scope="module", params=FORMS, ids=str)
def index(encoder, ranker, tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("index")
    return indexed(encoder, folder, ranker=ranker, rerank=4, k=4, **request.param)


def test_a_batch_answers_as_its_parts_do(index):
    whole = index.search([*QUERIES, ""])
    parts = [index.search(x) for x in (QUERIES[:1], QUERIES[1:], [""])]
    for name, values in whole.items():
        joined = np.concatenate([x[name] for x in parts])
        if values.dtype.kind == "f":
            np.testing.assert_allclose(values, joined, atol=1e-4)
        else:
            np.testing.assert_array_equal(values, joined)


def test_servers_can_run_it(index):
    report = kbl.check_servable(index.path)
    assert report.ok, report.problems
    loaded = tf.saved_model.load(str(index.path))
    names = {"search", "serving_default", "embed", "rerank"}
    assert {*loaded.signatures} == names


def test_it_answers_without_this_package(encoder, tmp_path):
    index = indexed(encoder, tmp_path / "index", hybrid=True, k=2)
    program = (
        "import sys, tensorflow as tf, tensorflow_text\n"
        "found = tf.saved_model.load(sys.argv[1]).signatures['search']\n"
        "print(found(text=tf.constant(['bad weather']))['ids'].numpy().tolist())\n"
        "assert 'keras_bert_lite' not in sys.modules\n"
    )
    command = [sys.executable, "-c", program, str(index.path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/")
    assert json.loads(ran.stdout) == index.search(["bad weather"])["ids"].tolist()


def test_texts_and_queries_have_their_prompts(tmp_path):
    prompts = {"query": "bad: ", "passage": "fine: "}
    body = kbl.sentence_encoder(tiny.encoder())
    randomize(body)
    preprocessor = tiny.preprocessor(prompts=prompts)
    encoder = kbl.with_text(body, preprocessor, prompt_name=True)
    index = indexed(encoder, tmp_path / "index", k=150)
    plain = kbl.with_text(body, tiny.preprocessor())
    asked = vectors_of(plain, [f"bad: {x}" for x in QUERIES])
    cosines = asked @ vectors_of(plain, [f"fine: {x}" for x in CORPUS]).T
    found = index.search(QUERIES)
    again = np.take_along_axis(cosines, found["ids"], 1)
    np.testing.assert_allclose(found["scores"], again, atol=1e-5)
    new = kbl.search.load(index.add(["the finest"]))
    scores = new.search(QUERIES)
    expected = asked @ vectors_of(plain, ["fine: the finest"])[0]
    for row, score in enumerate(expected):
        place = scores["ids"][row].tolist().index(len(CORPUS))
        np.testing.assert_allclose(scores["scores"][row][place], score, atol=1e-5)


CHANGED = [
    {"weight": 0.2, "hybrid": True, "precision": "float16"},
    {"hybrid": True, "probes": 12, "precision": "int8"},
    {"ranker_weight": 0.3},
]


@pytest.mark.parametrize("options", CHANGED)
@pytest.mark.parametrize("named", [False, True])
def test_changed_indexes_equal_new_ones(encoder, ranker, tmp_path, options, named):
    if "ranker_weight" in options:
        options = {"ranker": ranker, "rerank": 10, **options}
    names = [f"t{i}" for i in range(len(CORPUS) + 1)] if named else None
    first = indexed(
        encoder, tmp_path / "i", CORPUS[:-20], ids=names and names[:130], **options
    )
    before = first.search(QUERIES)
    path = first.add(CORPUS[-20:], ids=names and names[130:150])
    assert path == tmp_path / "i" / "2"
    path = kbl.search.load(path).remove(["t3", "t0"] if named else [3, 0])
    assert path == tmp_path / "i" / "3"
    changed = kbl.search.load(path)
    kept = [i for i in range(150) if i not in (0, 3)]
    ids = [names[i] for i in kept] if names else kept
    new = indexed(
        encoder, tmp_path / "n", [CORPUS[i] for i in kept], ids=ids, **options
    )
    found, expected = changed.search(QUERIES), new.search(QUERIES)
    np.testing.assert_allclose(found["scores"], expected["scores"], atol=1e-3)
    if not options.get("probes"):
        np.testing.assert_array_equal(found["ids"], expected["ids"])
        np.testing.assert_array_equal(found["texts"], expected["texts"])
    for name, values in kbl.search.load(tmp_path / "i" / "1").search(QUERIES).items():
        np.testing.assert_array_equal(values, before[name])
    assert kbl.check_servable(path).ok
    both = [tf.saved_model.load(str(x.path)).signatures for x in (changed, new)]
    assert {*both[0]} == {*both[1]}


@pytest.mark.parametrize("removed", [0, 2])
def test_the_number_of_a_removed_text_is_not_given_again(encoder, tmp_path, removed):
    index = indexed(encoder, tmp_path / "index", ["a fine day", "bad", "weather"])
    path = kbl.search.load(index.remove([removed])).add(["the day"])
    found = kbl.search.load(path).search(["the day"])["ids"][0]
    assert {*found.tolist()} == {0, 1, 2, 3, -1} - {removed}


def test_only_the_newest_version_is_changed(encoder, tmp_path):
    first = indexed(encoder, tmp_path / "index", ["a fine day", "bad weather"])
    first.add(["the day"], verbose=0)
    for change in (
        lambda: first.add(["the weather"]),
        lambda: first.remove([0]),
        lambda: first.replace(["the weather"]),
    ):
        with pytest.raises(FileExistsError, match=r"newest version, 2, .* version 1"):
            change()
    shutil.copytree(first.path, tmp_path / "copied" / "one")
    path = kbl.search.load(tmp_path / "copied" / "one").add(["the day"], verbose=0)
    assert path == tmp_path / "copied" / "1"


@pytest.fixture
def encoded(monkeypatch):
    """Texts that a loaded index encodes."""
    module, texts = importlib.import_module("keras_bert_lite.search.load"), []

    def encoder_of_texts(*arguments):
        encode = encoding_of(*arguments)
        return lambda part: texts.extend(part) or encode(part)

    encoding_of = module.encoder_of_texts
    monkeypatch.setattr(module, "encoder_of_texts", encoder_of_texts)
    return texts


def test_replaced_texts_keep_their_vectors(encoder, tmp_path, encoded):
    index = indexed(encoder, tmp_path / "i", CORPUS[:100], hybrid=True)
    texts = [*CORPUS[120:50:-1], CORPUS[60]]
    path = index.replace(texts, verbose=0)
    assert path == tmp_path / "i" / "2"
    assert {*encoded} == {*CORPUS[100:121]}
    assert len(encoded) == 21
    new = indexed(encoder, tmp_path / "n", texts, hybrid=True)
    found, expected = kbl.search.load(path).search(QUERIES), new.search(QUERIES)
    np.testing.assert_array_equal(found["ids"], expected["ids"])
    np.testing.assert_allclose(found["scores"], expected["scores"], atol=1e-4)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_fewer_texts_than_lists(encoder, tmp_path, precision):
    index = indexed(encoder, tmp_path / "i", probes=2, k=5, precision=precision)
    index = kbl.search.load(index.replace(CORPUS[:4], verbose=0))
    found = index.search(QUERIES)
    cosines = vectors_of(encoder, QUERIES) @ vectors_of(encoder, CORPUS[:4]).T
    assert (np.sort(found["ids"], 1) == [-1, 0, 1, 2, 3]).all()
    np.testing.assert_allclose(found["scores"][:, :4], -np.sort(-cosines), atol=0.01)


def test_texts_are_added_from_where_it_was_interrupted(encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "PART", 10)
    index = indexed(encoder, tmp_path / "i", CORPUS[:100])
    module, calls = importlib.import_module("keras_bert_lite.search.index"), []
    unit = module.unit

    def stops(vectors):
        calls.append(len(vectors))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return unit(vectors)

    monkeypatch.setattr(module, "unit", stops)
    with pytest.raises(KeyboardInterrupt):
        index.add(CORPUS[100:], verbose=0)
    index = kbl.search.load(kbl.search.load(tmp_path / "i").add(CORPUS[100:]))
    assert calls == [10] * 6  # of which the third made nothing
    assert [x.name for x in sorted((tmp_path / "i").iterdir())] == ["1", "2"]
    new = indexed(encoder, tmp_path / "n")
    np.testing.assert_array_equal(
        index.search(QUERIES)["ids"], new.search(QUERIES)["ids"]
    )


def test_prompts_count_in_the_length_of_texts(tmp_path):
    body = kbl.sentence_encoder(tiny.encoder())
    preprocessor = tiny.preprocessor(
        sequence_length=8, prompts={"passage": "the day is "}
    )
    encoder = kbl.with_text(body, preprocessor, prompt_name=True)
    fits, too_long = "fine fine fine", "fine fine fine fine"
    index = indexed(encoder, tmp_path / "index", [fits])
    with pytest.warns(
        kbl.data.TruncationWarning, match="1 of 2 texts are longer than 8"
    ):
        indexed(encoder, tmp_path / "other", [fits, too_long])
    with pytest.warns(
        kbl.data.TruncationWarning, match="1 of 1 texts are longer than 8"
    ):
        index.add([too_long], verbose=0)


def test_changes_that_are_refused(encoder, tmp_path):
    index = indexed(encoder, tmp_path / "index", ["a fine day", "bad weather"])
    for change, message in (
        (lambda: index.add(["fine"], ids=[1]), r"must differ. Received twice: \[1\]"),
        (
            lambda: index.add(["fine"], ids=["x"]),
            "`ids` must be numbers, as in the index. Received: strings",
        ),
        (lambda: index.add([]), "`texts` must hold a text"),
        (lambda: index.remove([2]), r"`ids` must be of texts in the index.*\[2\]"),
        (lambda: index.remove([0, 1]), "`texts` must hold a text"),
        (lambda: index.remove([]), "`ids` must hold an id"),
        (lambda: index.replace([]), "`texts` must hold a text"),
        (
            lambda: index.add(["fine"], batch_size=0),
            "`batch_size` must be a positive integer",
        ),
        (
            lambda: index.replace({"x": "fine"}),
            "`ids` must be numbers, as in the index. Received: strings",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            change()
    assert [x.name for x in (tmp_path / "index").iterdir()] == ["1"]


def test_vectors_made_elsewhere(encoder, tmp_path):
    made = vectors_of(encoder, CORPUS)
    index = indexed(encoder, tmp_path / "index", vectors=made)
    again = indexed(encoder, tmp_path / "again")
    found, expected = index.search(QUERIES), again.search(QUERIES)
    np.testing.assert_array_equal(found["ids"], expected["ids"])
    with pytest.raises(ValueError, match="whose cosine with the encoder's is"):
        indexed(encoder, tmp_path / "index", vectors=made[::-1])
    assert [x.name for x in (tmp_path / "index").iterdir()] == ["1"]


def test_an_interrupted_index_goes_on(encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "PART", 40)
    expected = indexed(encoder, tmp_path / "whole")
    module = importlib.import_module("keras_bert_lite.search.index")
    unit, calls = module.unit, []

    def stops(vectors):
        calls.append(len(vectors))
        if sum(calls) > 90:
            raise KeyboardInterrupt
        return unit(vectors)

    with monkeypatch.context() as patch:
        patch.setattr(module, "unit", stops)
        with pytest.raises(KeyboardInterrupt):
            indexed(encoder, tmp_path / "index")
    assert not [x for x in (tmp_path / "index").iterdir() if x.name.isdigit()]
    index = indexed(encoder, tmp_path / "index")
    for name in ("table", "rows"):
        ours, theirs = (x._loaded.index["vectors"][name] for x in (index, expected))
        np.testing.assert_array_equal(ours, theirs)
    assert [x.name for x in (tmp_path / "index").iterdir()] == ["1"]


JUDGED = kbl.data.RetrievalSet(
    {"a": "the weather", "b": "jj jx"},
    {str(i): x for i, x in enumerate(CORPUS)},
    {"a": {"1": 1}, "b": {"2": 1}},
)


def test_judged_queries_choose_the_weight(encoder, tmp_path):
    index = indexed(encoder, tmp_path / "i", hybrid=True, judged=JUDGED)
    weight = float(index._loaded.index["weight"])
    scores = kbl.evaluate(index, JUDGED)["scores"]
    for other in (0.05, 0.6, 0.95):
        path = tmp_path / f"{other}"
        compared = indexed(encoder, path, hybrid=True, weight=other)
        assert kbl.evaluate(compared, JUDGED)["scores"]["ndcg@10"] <= scores["ndcg@10"]
    assert 0 < weight < 1


def test_judgements_of_other_texts_are_refused(encoder, tmp_path):
    with pytest.raises(ValueError, match=r"judge texts of the index, .* \['1', '2'\]"):
        indexed(encoder, tmp_path / "i", ["a"], hybrid=True, judged=JUDGED, ids=["x"])
    few = kbl.data.RetrievalSet(JUDGED.queries, {"1": "a", "2": "b"}, JUDGED.judgements)
    index = indexed(encoder, tmp_path / "few", hybrid=True, judged=few)
    whole = indexed(encoder, tmp_path / "whole", hybrid=True, judged=JUDGED)
    weights = [float(x._loaded.index["weight"]) for x in (index, whole)]
    assert weights[0] == weights[1]


def test_scores_of_an_index_stop_where_it_does(encoder, tmp_path):
    index = indexed(encoder, tmp_path / "index", k=3)
    found = kbl.evaluate(index, JUDGED)
    names = {"ndcg@3", "mrr@3", "map@3", "recall@3", "accuracy@1"}
    assert {*found["scores"]} == {*found["baselines"]["BM25"]} == names


def test_indexes_are_scored(encoder, tmp_path):
    names = [f"t{i}" for i in range(len(CORPUS))]
    data = kbl.data.RetrievalSet(
        JUDGED.queries,
        dict(zip(names, CORPUS, strict=True)),
        {"a": {"t1": 2, "t5": 1}, "b": {"t2": 1}},
    )
    index = indexed(encoder, tmp_path / "index", dict(data.corpus))
    found = kbl.evaluate(index, data)
    expected = kbl.evaluate(encoder, data)
    for name in ("ndcg@10", "mrr@10", "recall@10", "accuracy@1"):
        assert found["scores"][name] == pytest.approx(expected["scores"][name])
    by_words, expected = (x["baselines"]["BM25"] for x in (found, expected))
    shared = by_words.keys() - {"map@10"}
    assert {x: by_words[x] for x in shared} == {x: expected[x] for x in shared}
    assert kbl.evaluate(tmp_path / "index", data) == found
    with pytest.raises(ValueError, match="by the same ids"):
        kbl.evaluate(index, JUDGED)
    with pytest.raises(ValueError, match="must be a retrieval set for an index"):
        kbl.evaluate(index, [{"text": "a"}])


def test_another_pooling_does_not_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(encoding, "PART", 40)
    module = importlib.import_module("keras_bert_lite.search.index")
    body, keys = tiny.encoder(), []
    corpus_vectors = module.corpus_vectors
    monkeypatch.setattr(
        module, "corpus_vectors", lambda *x: keys.append(x[3]) or corpus_vectors(*x)
    )
    for pooling in ("mean", "max", "max"):
        model = kbl.with_text(kbl.sentence_encoder(body, pooling), tiny.preprocessor())
        indexed(model, tmp_path / "index", QUERIES)
    assert keys[0] != keys[1] == keys[2]


def test_long_texts_are_told(encoder, tmp_path):
    texts = [*QUERIES, "day " * 15, "day " * 14, "a day " * 50_000]
    with pytest.warns(UserWarning, match="2 of 8 texts are longer than 16 tokens"):
        index = indexed(encoder, tmp_path / "index", texts, k=8)
    assert np.isfinite(index.search(["a day " * 50_000])["scores"]).all()


def test_a_search_in_a_line(encoder, tmp_path):
    index = indexed(encoder, tmp_path / "index", ["a fine day", "bad weather"])
    (best, other) = kbl.search.search(tmp_path / "index", "fine day")
    found = index.search(["fine day"])
    assert best["id"] == found["ids"][0, 0]
    assert best["score"] == pytest.approx(found["scores"][0, 0])
    assert {best["text"], other["text"]} == {"a fine day", "bad weather"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "`k` must be"),
        ({"probes": 0}, "`probes` must be"),
        ({"precision": "int4"}, "`precision` must be one of"),
        ({"weight": 1.5}, "`weight` must be in"),
        ({"batch_size": 0}, "`batch_size` must be"),
        ({"version": -1}, "`version` must be"),
        ({"texts": []}, "`texts` must hold a text"),
        ({"judged": JUDGED}, "`judged` must be None unless `hybrid`"),
        ({"weight": 0.5}, "`weight` must be None unless `hybrid` is True"),
        ({"ranker_weight": 1.5}, r"`ranker_weight` must be in \[0, 1\]"),
        ({"judged": JUDGED, "hybrid": True, "weight": 0.5}, "`judged` must be None"),
        ({"judged": "no path", "hybrid": True}, "`judged` must be a `data.Retr"),
    ],
)
def test_refuses(encoder, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        indexed(encoder, tmp_path / "index", **{"texts": CORPUS, **options})
    assert not (tmp_path / "index").exists()


def test_refuses_other_models(encoder, ranker, tmp_path):
    for options, message in (
        ({"encoder": ranker}, "`encoder` must be a model of the task 'sentence_emb"),
        ({"ranker": encoder}, "`ranker` must be a model of the task 'ranking'"),
        ({"ranker": ranker, "rerank": 5}, "`rerank` must be at least `k`, 10"),
    ):
        with pytest.raises(ValueError, match=message):
            indexed(folder=tmp_path / "index", **{"encoder": encoder, **options})
    path = kbl.export_saved_model(encoder, tmp_path / "embed")
    with pytest.raises(ValueError, match="`path` must be an index made by `index`"):
        kbl.search.load(path)


@pytest.mark.parametrize("kind", ["run", "directory"])
def test_sources_are_loaded(encoder, tmp_path, kind):
    source = tmp_path / "source"
    if kind == "run":
        source.mkdir()
        encoder.save(source / "model.keras")
    else:
        body = encoder.get_layer("sentence_encoder")
        kbl.save_hugging_face(body, tiny.preprocessor(), source)
    found = indexed(source, tmp_path / "index").search(QUERIES)
    expected = indexed(encoder, tmp_path / "again").search(QUERIES)
    np.testing.assert_allclose(found["scores"], expected["scores"], atol=1e-5)
