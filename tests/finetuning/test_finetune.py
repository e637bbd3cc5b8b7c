import itertools
import json
import re
import types
import warnings

import keras
import numpy as np
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.finetuning import decide, finetune as finetuning
from keras_bert_lite.finetuning.rows import in_stages
from keras_bert_lite.finetuning.run import Run
from keras_bert_lite.finetuning.selection import Selection
from keras_bert_lite.finetuning.spec import TUNABLE
from keras_bert_lite.finetuning.trainer import Trainer
from keras_bert_lite.training.divergence import Diverged
from keras_bert_lite.training.linear_model import FOLDS, JUDGED
from tests import tiny
from tests.finetuning import samples
from tests.pretraining.interrupts import Interrupts

pytestmark = pytest.mark.tensorflow(reason="strings need TensorFlow")


def tune(task="text_classification", count=24, **options):
    options = {"encoder": samples.encoder(), "epochs": 2, "verbose": 0, **options}
    return kbl.finetune(task, samples.rows(task, count), **options)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    directory = tmp_path_factory.mktemp("run")
    return tune(directory=directory, minutes=5, epochs=6), directory


@pytest.mark.slow
def test_learns_and_answers(run):
    tuned, _ = run
    answers = tuned.text_model.predict(["fine", "weather"], verbose=0)
    assert answers["label"].tolist() == ["good", "bad"]
    assert tuned.report.scores["accuracy"] == 1
    assert tuned.report.baselines["most common label"]["accuracy"] <= 0.67


@pytest.mark.slow
def test_the_run_holds_everything(run):
    tuned, directory = run
    names = {x.name for x in directory.iterdir()}
    expected = {"model.keras", "saved_model", "README.md", "mistakes.md", "report.json"}
    assert names == expected
    report = json.loads((directory / "report.json").read_text())
    assert report == json.loads(json.dumps(tuned.report.as_dict()))
    assert report["rows"] == {"train": 18, "validation": 6}
    assert report["refitted"] is True
    card = (directory / "README.md").read_text()
    assert "TF-IDF, logistic regression" in card
    assert "fine day" not in card  # rows may be private
    loaded = keras.models.load_model(directory / "model.keras")
    a, b = (x.predict(["a fine day"], verbose=0) for x in (tuned.text_model, loaded))
    np.testing.assert_allclose(a["scores"], b["scores"], atol=1e-6)
    assert kbl.check_servable(directory / "saved_model").ok


@pytest.mark.slow
def test_a_finished_run_is_kept(run):
    with pytest.raises(FileExistsError, match="finished run"):
        tune(directory=run[1])


@pytest.mark.slow
def test_weights_of_labels_and_another_score(tmp_path):
    rows = [*samples.texts(24)[1::2], *samples.texts(8)[::2]]  # 12 good, 4 bad
    options = {"class_weight": "balanced", "metric": "macro_f1", "batch_size": 4}
    options |= {"encoder": samples.encoder(), "epochs": 2, "verbose": 0}
    options["baseline"] = False
    task = "text_classification"
    tuned = kbl.finetune(task, rows, rows, directory=tmp_path, **options)
    assert tuned.report.metric == "macro_f1"
    np.testing.assert_allclose(tuned.report.class_weight, [16 / 2 / 4, 16 / 2 / 12])
    assert "bad 2.00, good 0.67" in (tmp_path / "README.md").read_text()
    plain = kbl.finetune(task, rows, rows, **{**options, "class_weight": None})
    losses = [x.report.warm_start["logits"].loss for x in (tuned, plain)]
    assert losses[0] != losses[1]
    start = [x.report.history[1]["loss"] for x in (tuned, plain)]
    assert start[0] != start[1]


@pytest.mark.slow
def test_a_run_interrupted_twice_goes_on_exactly(tmp_path, monkeypatch):
    whole = tune(directory=tmp_path / "whole", batch_size=4)
    fit = keras.Model.fit
    for steps in (3, 7):
        interrupts = Interrupts(steps)

        def interrupted(self, *args, callbacks=(), interrupts=interrupts, **options):
            if any(isinstance(x, Selection) for x in callbacks):
                callbacks = [interrupts, *callbacks]
            return fit(self, *args, callbacks=callbacks, **options)

        with monkeypatch.context() as patch:
            patch.setattr(keras.Model, "fit", interrupted)
            with pytest.raises(KeyboardInterrupt):
                tune(directory=tmp_path / "parts", batch_size=4)
    for other in ({"epochs": 3}, {"count": 20}, {"minutes": 3}):
        with pytest.raises(ValueError, match="interrupted run of other arguments"):
            tune(directory=tmp_path / "parts", **{"batch_size": 4, **other})
    parts = tune(directory=tmp_path / "parts", batch_size=4)
    for a, b in zip(whole.model.get_weights(), parts.model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    assert whole.report.history == parts.report.history


def test_a_run_killed_after_training_is_of_its_rows(tmp_path, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(finetuning, "save_run", killed)
        with pytest.raises(KeyboardInterrupt):
            tune(directory=tmp_path, epochs=1, baseline=False)
    flip = {"good": "bad", "bad": "good"}
    rows = [{**x, "label": flip[x["label"]]} for x in samples.texts()]
    with pytest.raises(ValueError, match=r"Received: \{'train': .*'validation': "):
        kbl.finetune(
            "text_classification",
            rows,
            encoder=samples.encoder(),
            directory=tmp_path,
            epochs=1,
            verbose=0,
        )


def test_files_of_others_are_kept(tmp_path):
    notes = tmp_path / "state" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("mine")
    (tmp_path / ".hidden").write_text("")
    with pytest.raises(FileExistsError, match="which holds other files"):
        tune(directory=tmp_path)
    assert notes.read_text() == "mine"


def test_labels_in_the_scheme_of_the_rows(monkeypatch):
    def stop(run, plan, compared):
        raise KeyboardInterrupt(run.trainer.spec.labels)

    monkeypatch.setattr(Run, "train", stop)
    rows = [
        {"words": ["fine", "day", "is"], "tags": ["B-X", "E-X", "O"]},
        {"words": ["the", "weather"], "tags": ["O", "S-Y"]},
    ]
    labels = ["O", "B-X", "E-X", "S-Y"]
    bio = "['O', 'B-X', 'I-X', 'B-Y', 'I-Y']"
    with pytest.raises(KeyboardInterrupt, match=re.escape(bio)):
        kbl.finetune(
            "token_classification", rows * 4, labels=labels, encoder=samples.encoder()
        )


def test_labels_may_be_numbers(monkeypatch):
    def stop(run, plan, compared):
        raise KeyboardInterrupt(run.trainer.spec.labels)

    monkeypatch.setattr(Run, "train", stop)
    rows = [{"text": "day", "label": i % 2} for i in range(8)]
    options = {"encoder": samples.encoder(), "labels": [1, 0]}
    with pytest.raises(KeyboardInterrupt, match=r"\['1', '0'\]"):
        kbl.finetune("text_classification", rows, **options)


def test_a_column_of_second_texts_is_read(monkeypatch):
    def stop(run, plan, compared):
        raise KeyboardInterrupt(run.trainer.spec.columns["text_pair"])

    monkeypatch.setattr(Run, "train", stop)
    rows = [{**x, "text_pair": "day"} for x in samples.texts(8)]
    for columns, read in ((None, "text_pair"), ({"text_pair": None}, "None")):
        options = {"encoder": samples.encoder(), "pairs": "together"}
        with pytest.raises(KeyboardInterrupt, match=read):
            kbl.finetune("text_classification", rows, columns=columns, **options)


@pytest.mark.slow
def test_choices_are_compared_with_the_text():
    words = ("fine", "weather", "the day", "is not")
    rows = [
        {"text": words[i % 4], "choices": [words[(i + j) % 4] for j in x], "label": y}
        for i in range(16)
        for x, y in (((0, 1), 0), ((2, 0), 1))
    ]
    options = {"encoder": samples.encoder(), "epochs": 1, "verbose": 0}
    tuned = kbl.finetune("multiple_choice", rows, pairs="apart", **options)
    assert tuned.report.apart
    assert tuned.report.scores == {"accuracy": 1.0}
    assert list(tuned.report.warm_start) == ["logits"]
    pair = {"text": ["fine"], "text_pair": [["is not", "weather", "fine"]]}
    assert tuned.text_model.predict(pair, verbose=0)["answer"].tolist() == ["fine"]


@pytest.mark.parametrize(
    ("task", "count", "together", "apart"),
    [
        ("regression", 16, [2, 2], True),
        ("regression", 16, [0, 0], False),
        ("regression", 16, [0, 1], True),  # not surely better
        ("multiple_choice", 16, [2, 2], True),
        (
            "multiple_choice",
            2 * TUNABLE["multiple_choice"].together_from,
            [2, 2],
            False,
        ),
    ],
)
def test_linear_models_decide_how_pairs_are_read(
    task, count, together, apart, monkeypatch
):
    def stop(run, plan, compared):
        raise KeyboardInterrupt(run.trainer.spec.apart)

    def expected_losses(trainer, rows):
        return np.array([1.0, 1.0] if trainer.spec.apart else together)

    monkeypatch.setattr(Run, "train", stop)
    monkeypatch.setattr(Trainer, "expected_losses", expected_losses)
    columns = {"text_pair": "text"} if task == "regression" else {}
    options = {"encoder": samples.encoder(), "columns": columns}
    with pytest.raises(KeyboardInterrupt, match=str(apart)):
        kbl.finetune(task, samples.rows(task, count), **options)


@pytest.mark.parametrize("count", [1, 2])
def test_the_fewest_pairs_are_read(count, monkeypatch):
    def stop(run, plan, compared):
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "train", stop)
    rows = [{**x, "text_pair": "day"} for x in samples.texts(8)]
    options = {"encoder": samples.encoder(), "labels": ["bad", "good"]}
    with pytest.raises(KeyboardInterrupt):
        kbl.finetune("text_classification", rows[:count], rows, **options)


def test_no_more_pairs_are_compared_than_judge(monkeypatch):
    def expected_losses(trainer, rows):
        raise KeyboardInterrupt(len(rows))

    monkeypatch.setattr(Trainer, "expected_losses", expected_losses)
    columns = {"text_pair": "text"}
    options = {"encoder": samples.encoder(), "columns": columns}
    most = FOLDS * JUDGED
    with pytest.raises(KeyboardInterrupt, match=str(most)):
        kbl.finetune("regression", samples.rows("regression", most + 1), **options)


def test_a_source_that_is_none_is_told_by_its_name():
    with pytest.raises(TypeError, match="`train` must be a list of dictionaries"):
        kbl.finetune("text_classification", 5, encoder=samples.encoder())


def test_a_run_that_never_began_leaves_nothing(tmp_path):
    options = {"encoder": samples.encoder(), "labels": ["good"]}
    with pytest.raises(ValueError, match="label"):
        tune(directory=tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


def test_rows_longer_than_the_model_are_counted_and_shortened(monkeypatch):
    rows = [{"text": "day " * 400, "label": "ab"[i % 2]} for i in range(8)]

    def stop(run, plan, compared):
        for read, whole in zip(run.parts[:2], compared[:2], strict=True):
            assert len(read) == len(whole)
            assert max(len(row["text"]) for row in read) < 400
            assert {row["text"] for row in whole} == {"day " * 400}
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "train", stop)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(KeyboardInterrupt):
            kbl.finetune("text_classification", rows, encoder=samples.encoder())
    message = (
        "8 of 8 rows are longer than 24 tokens (the longest has 402): the model reads "
        "only the first 24 of them. The encoder reads no more."
    )
    assert any(message in str(x.message) for x in caught)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "classification"}, "`task` must be one of"),
        ({"encoder": "bert_mini_book"}, "`encoder` must be a directory .*mini_book'"),
        ({"train": []}, "`train` must hold records"),
        ({"train": [{"text": "a", "label": "b"}] * 3}, "at least four rows"),
        ({"train": [{"sentence": "a"}]}, r"record 0: `text` must be one of .*sentence"),
        ({"seed": -1}, "`seed` must be a whole number, from 0 to .*: -1"),
        ({"seed": 2**32}, "`seed` must be a whole number, from 0 to .*: 4294967296"),
        ({"directory": "/dev/null"}, "`directory` must not be, or be in, a file"),
        ({"minutes": 0}, "`minutes` must be"),
        ({"learning_rate": -1}, "`learning_rate` must be"),
        ({"train": [{"text": "a", "label": " "}] * 4}, "record 0: `label` must be"),
        ({"columns": {"words": "x"}}, r"reads the columns .*'words'"),
        ({"train": "ftp://rows"}, "`train` must be a file, datasets://"),
        ({"metric": "f1"}, "`metric` must be one of"),
        ({"sequence_length": 99}, "`sequence_length` must be up to 24 for this enc"),
        ({"pairs": "apart"}, r"`pairs` may be 'apart' for.*\['text'\]"),
        ({"class_weight": "even"}, "`class_weight` must be 'balanced' or a dict"),
        ({"class_weight": 3}, "`class_weight` must be 'balanced' or a dictionary"),
        ({"class_weight": {"so-so": 2, 3: 1}}, r"Received: \['so-so', 3\]"),
        ({"labels": "good"}, r"`labels` must be a list of names. Received: 'good'"),
        ({"labels": {"intents": ["good"]}}, "`labels` must be a list of names"),
        ({"labels": ["good"]}, r"`train`, record 0: its labels must be.*\['bad'\]"),
        (
            {
                "labels": ["good"],
                "train": samples.texts()[1::2],
                "validation": [
                    {"text": "fine", "label": "good"},
                    {"text": "a", "label": "bad"},
                ],
            },
            r"`validation`, record 1: its labels must be",
        ),
        (
            {
                "labels": ["a", "b"],
                "task": "intent_and_slots",
                "train": samples.rows("intent_and_slots"),
            },
            r"`labels` must be a dictionary of the lists \['intents', 'slots'\]",
        ),
        (
            {
                "labels": ["a"],
                "task": "regression",
                "train": samples.rows("regression"),
            },
            "`labels` must be `None` for a task without labels",
        ),
        ({"class_weight": {"so-so": 2}}, "must be of the labels"),
        ({"class_weight": {"bad": 0}}, "must be a positive number"),
        (
            {
                "class_weight": "balanced",
                "task": "regression",
                "train": samples.rows("regression"),
            },
            r"is for the tasks \['text_classification'\]",
        ),
        ({"prompts": {"a": "x", "b": "y"}}, "must be one prompt for 'text_class"),
        (
            {
                "prompts": {"query": "query: "},
                "task": "token_classification",
                "train": samples.rows("token_classification"),
            },
            "`prompts` must be None for tasks that locate words in a text",
        ),
    ],
)
def test_refuses(changes, message):
    given = {"train": samples.texts(), "encoder": samples.encoder(), **changes}
    task = given.pop("task", "text_classification")
    with pytest.raises(ValueError, match=message):
        kbl.finetune(task, **given)


@pytest.mark.parametrize(("size", "rows"), [(4096, 40), (None, 8), (None, 40), (4, 40)])
def test_a_batch_has_no_row_twice(size, rows):
    stub = types.SimpleNamespace(
        spec=samples.spec("text_classification"), model=tiny.classifier()
    )
    plan = decide.plan(stub, samples.texts(rows), None, None, size, 0)
    assert plan.batch_size == min(size or 16, rows)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"labels": ["good", "bad", ""]}, ValueError, "`labels` must be names that"),
        ({"labels": ["good", "bad", "x\0"]}, ValueError, "`labels` must be names that"),
        ({"epoch": 1}, TypeError, "unexpected keyword argument 'epoch'"),
        ({"delimiter": ";"}, ValueError, "`train` must be a file for the options"),
    ],
)
def test_refuses_before_work_begins(options, error, message):
    with pytest.raises(error, match=message):
        kbl.finetune("text_classification", samples.texts(8), **options)


def test_a_run_that_diverges_keeps_its_best_weights(tmp_path):
    options = {"learning_rate": 1e9, "epochs": 1, "baseline": False}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tuned = tune(directory=tmp_path, **options)
    messages = [str(x.message) for x in caught if x.category is UserWarning]
    assert any("`learning_rate` must be smaller" in x for x in messages)
    assert tuned.report.best == 0
    assert not tuned.report.refitted
    assert all(np.isfinite(x).all() for x in tuned.model.get_weights())
    text = (tmp_path / "report.json").read_text()
    report = json.loads(text, parse_constant=pytest.fail)
    assert "diverged" in report["diverged"]


def test_a_run_that_diverges_without_a_trained_start_is_refused(tmp_path):
    options = {"learning_rate": 1e9, "epochs": 1, "directory": tmp_path / "run"}
    with pytest.raises(Diverged, match="`learning_rate` must be smaller"):
        tune("question_answering", **options)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Simple models score better")
def test_vectors_of_sentences_with_prompts(tmp_path):
    """Pairs, from an encoder with a pooling of its own; prompts come with the run."""
    source = tmp_path / "source"
    own = kbl.sentence_encoder(
        kbl.encoder(tiny.config(num_layers=1, pooling=None)), "max", normalize=False
    )
    kbl.save_hugging_face(own, tiny.preprocessor(24), source)
    rows = samples.rows("sentence_embedding")
    prompts = {"query": "not ", "passage": "bad "}
    directory = tmp_path / "run"
    tuned = kbl.finetune(
        "sentence_embedding",
        rows,
        encoder=source,
        directory=directory,
        epochs=1,
        batch_size=4,
        prompts=prompts,
        verbose=0,
    )
    assert tuned.report.metric == "ndcg@10"
    assert tuned.report.baselines["BM25"].keys() == tuned.report.scores.keys()
    assert tuned.model.get_layer("pooling").pooling == "max"  # not the mean
    assert list(tuned.text_model.input) == ["text", "prompt_name"]
    loaded = keras.saving.load_model(directory / "model.keras")
    given = {"text": ["the day", "fine"], "prompt_name": ["query", "passage"]}
    found, expected = (
        x.predict(given, verbose=0)["sentence_embedding"]
        for x in (loaded, tuned.text_model)
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)
    plain = kbl.with_text(tuned.model, tiny.preprocessor(24))
    written = plain.predict(["not the day", "bad fine"], verbose=0)
    np.testing.assert_allclose(found, written["sentence_embedding"], atol=1e-6)
    scores = kbl.evaluate(directory, rows)["scores"]
    assert scores == kbl.evaluate(tuned.text_model, rows)["scores"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Simple models score better")
@pytest.mark.parametrize(
    ("column", "metric"), [("negative", "accuracy"), ("label", "spearman")]
)
def test_other_forms_of_rows_of_vectors(column, metric):
    rows = samples.rows("sentence_embedding")
    rows = [{**row, column: str(i)} for i, row in enumerate(rows)]
    options = {"encoder": samples.encoder(), "epochs": 1, "batch_size": 2}
    tuned = kbl.finetune("sentence_embedding", rows, **options, verbose=0)
    assert tuned.report.metric == metric
    assert tuned.report.scores.keys() >= {metric}
    assert tuned.report.baselines


def test_rows_of_other_tasks_begin_with_one_prompt():
    spec, rows = samples.spec("text_classification"), samples.texts(8)
    source, prompts = samples.encoder(), {"query": "bad "}
    preprocessor, lengths = decide.preprocessor(spec, source, rows, None, prompts)
    assert preprocessor.prompt == "bad "
    plain, shorter = decide.preprocessor(spec, source, rows, None, None)
    np.testing.assert_array_equal(
        preprocessor(["day"])["token_ids"], plain(["bad day"])["token_ids"]
    )
    assert lengths.highest == shorter.highest + 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Simple models score better")
def test_frozen_embeddings_stay_as_they_are():
    before = kbl.load_encoder(samples.encoder())
    tuned = tune(epochs=1, freeze_embeddings=True)
    assert tuned.report.recipe.freeze_embeddings
    pairs = zip(before.weights, kbl.encoder_of(tuned.model).weights, strict=True)
    same = {new.path: np.array_equal(old, new) for old, new in pairs}
    tables = [x for x in same if x.startswith("embeddings/")]
    assert tables
    assert all(same[x] for x in tables)
    assert not any(same[x] for x in same.keys() - tables if x.endswith("kernel"))


def test_a_checkpoint_of_the_task_is_trained_on_as_it_is(tmp_path):
    encoder = kbl.encoder(tiny.config(num_layers=1, pooling="cls_dense"))
    vectors = kbl.sentence_encoder(encoder, "max", normalize=False)
    kbl.save_hugging_face(vectors, tiny.preprocessor(24), tmp_path / "vectors")
    ranker = kbl.ranker(encoder)
    kbl.save_hugging_face(ranker, tiny.preprocessor(24), tmp_path / "ranker")
    made = {
        name: decide.trainer(samples.spec(task), tmp_path / name, tiny.preprocessor(24))
        for name, task in (("vectors", "sentence_embedding"), ("ranker", "ranking"))
    }
    answering = made["vectors"].spec.fine_tuning.answering(made["vectors"].model)
    assert answering.get_layer("pooling").pooling == "max"
    heads = (x.get_layer("head").get_weights() for x in (made["ranker"].model, ranker))
    for found, expected in zip(*heads, strict=True):
        np.testing.assert_array_equal(found, expected)
    spec, other = samples.spec("sentence_embedding"), tmp_path / "ranker"
    with pytest.warns(UserWarning, match="not used"):  # only the encoder is
        trainer = decide.trainer(spec, other, tiny.preprocessor(24))
    assert "sentence_embedding" in trainer.model.output


def test_batches_have_no_text_twice():
    stub = types.SimpleNamespace(
        spec=samples.spec("sentence_embedding"),
        model=kbl.sentence_encoder(tiny.encoder()),
    )
    row = {"text": "a", "text_pair": "b"}
    apart = [{"text": f"a{i}", "text_pair": f"b{i}"} for i in range(40)]
    sizes = [
        decide.plan(stub, rows, None, None, size, 0).batch_size
        for rows, size in (
            (apart, None),
            (apart, 4096),
            ([*apart[:10], *[row] * 30], None),  # 11 differ, of which half
            ([*apart[:10], *[row] * 30], 11),
        )
    ]
    assert sizes == [16, 40, 5, 11]
    for rows, size in (([row] * 40, None), ([*apart[:10], *[row] * 30], 12)):
        with pytest.raises(ValueError, match="as many rows with different texts"):
            decide.plan(stub, rows, None, None, size, 0)


def test_the_order_of_rows_keeps_texts_apart():
    form = samples.spec("sentence_embedding").fine_tuning
    rows = [{"text": f"a{i % 7}", "text_pair": f"b{i}"} for i in range(30)]
    found = list(itertools.islice(in_stages(rows, form, 5, 0, 0), 90))
    batches = [found[i : i + 5] for i in range(0, 90, 5)]
    assert all(len({x["text"] for x in batch}) == 5 for batch in batches)
    assert {x["text_pair"] for x in found} == {x["text_pair"] for x in rows}
    again = list(itertools.islice(in_stages(rows, form, 5, 0, 0), 90))
    assert again == found  # an interrupted run goes on with the same
