"""Which SavedModels work on files, and that they are not run unasked."""

import re

import pytest
import tensorflow as tf

from keras_bert_lite.serving.check import servable, server_operations
from keras_bert_lite.serving.check.file_operations import (
    BY_ATTRIBUTE,
    CACHES,
    EFFECTS,
    file_problems,
)
from keras_bert_lite.serving.check.saved_model_files import read_meta_graph
from keras_bert_lite.serving.check.servable import check_servable
from keras_bert_lite.serving.check.server_operations import versions
from tests.serving.saved_models import lengths, save

pytestmark = pytest.mark.tensorflow(reason="exports need TensorFlow")


def problems_of(directory):
    return file_problems(read_meta_graph(directory))


def writes(path):
    def function(text):
        with tf.control_dependencies([tf.io.write_file(str(path), "seen")]):
            return lengths(text)

    return function


def reads(text):
    return {"secret": text + tf.io.read_file("/etc/hostname")}


def lists(text):
    return {"count": tf.size(tf.io.matching_files("/etc/*")) + tf.strings.length(text)}


def prints(text):
    tf.print(text)
    return lengths(text)


def restores(text):
    (value,) = tf.raw_ops.RestoreV2(
        prefix="/tmp/x", tensor_names=["a"], shape_and_slices=[""], dtypes=[tf.int32]
    )
    return {"value": value + tf.strings.length(text)}


def saves(text):
    tf.raw_ops.SaveV2(
        prefix="/tmp/x", tensor_names=["a"], shape_and_slices=[""], tensors=[text]
    )
    return lengths(text)


def reads_lines(text):
    lines = tf.data.TextLineDataset("/etc/hostname")
    count = lines.reduce(0, lambda count, _: count + 1)
    return {"count": count + tf.strings.length(text)}


def caches_on_disk(text):
    numbers = tf.data.Dataset.range(3).cache("/tmp/x")
    return {"sum": numbers.reduce(tf.constant(0, tf.int64), lambda x, y: x + y)}


def in_a_branch(text):
    read = lambda: tf.io.read_file("/etc/hostname")  # noqa: E731
    return {"secret": text + tf.cond(tf.size(text) > 1, read, lambda: "")}


def in_a_loop(text):
    step = lambda i, x: (i + 1, x + tf.io.read_file("/etc/hostname"))  # noqa: E731
    return {"secret": tf.while_loop(lambda i, _: i < 2, step, (0, text))[1]}


@pytest.mark.parametrize(
    ("function", "operation", "effect"),
    [
        (writes("/tmp/x"), "WriteFile", "writes files"),
        (reads, "ReadFile", "reads files that are not assets"),
        (in_a_branch, "ReadFile", "reads files that are not assets"),
        (in_a_loop, "ReadFile", "reads files that are not assets"),
        (lists, "MatchingFiles", "reads files"),
        (reads_lines, "TextLineDataset", "reads files"),
        (restores, "RestoreV2", "reads files"),
        (saves, "SaveV2", "writes files"),
        (caches_on_disk, "CacheDatasetV2", "writes files"),
        (prints, "PrintV2", "prints its inputs"),
    ],
)
def test_names_operations_that_reach_out(tmp_path, function, operation, effect):
    (problem,) = problems_of(save(tmp_path / "1", function))
    assert problem.startswith(f"{operation} {effect}")
    assert re.search(r"\(in (__inference|cond_true|while_body)_\w+[,)]", problem)


class Model(tf.Module):
    """Words from a file that is an asset, as tables and vocabularies are."""

    def __init__(self, path, initializer=tf.lookup.TextFileInitializer):
        super().__init__()
        index = tf.lookup.TextFileIndex
        words = initializer(
            str(path), tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
        )
        self.table = tf.lookup.StaticVocabularyTable(words, 1)
        self.asset = tf.saved_model.Asset(str(path))
        self.weight = tf.Variable([1, 2, 3])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def serve(self, text):
        file = self.asset.asset_path
        some = tf.cond(
            tf.size(text) > 0, lambda: tf.io.read_file(file), lambda: tf.constant("")
        )
        numbers = self.table.lookup(text) + tf.cast(tf.size(self.weight), tf.int64)
        cached = tf.data.Dataset.range(3).cache()
        count = cached.reduce(tf.constant(0, tf.int64), lambda x, y: x + y)
        return {"number": numbers + count, "text": text + some}


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("a\nb\n")
    return path


def test_assets_weights_and_memory_are_no_problem(words, tmp_path):
    model = Model(words)
    tf.saved_model.save(model, str(tmp_path / "1"), {"serving_default": model.serve})
    assert problems_of(tmp_path / "1") == []
    report = check_servable(tmp_path / "1")
    assert report.problems == report.warnings == ()


def test_a_graph_of_tensorflow_1(tmp_path):
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        text = tf.compat.v1.placeholder(tf.string, [None])
        weight = tf.compat.v1.get_variable("weight", [], tf.int32)
        session.run(weight.initializer)
        tf.compat.v1.saved_model.simple_save(
            session,
            str(tmp_path / "1"),
            {"text": text},
            {"length": tf.strings.length(text) + weight},
        )
    assert problems_of(tmp_path / "1") == []


def test_an_answer_that_comes_from_the_saver(tmp_path):
    """It restores what a client names, by an operation that the saver uses too."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        weight = tf.compat.v1.get_variable("weight", [], tf.float32)
        session.run(weight.initializer)
        saver = tf.compat.v1.train.Saver()
        graph = tf.compat.v1.get_default_graph()
        builder = tf.compat.v1.saved_model.Builder(str(tmp_path / "1"))
        info = tf.compat.v1.saved_model.build_tensor_info
        signature = tf.compat.v1.saved_model.build_signature_def(
            {"text": info(graph.get_tensor_by_name("save/Const:0"))},
            {"value": info(graph.get_tensor_by_name("save/RestoreV2:0"))},
        )
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": signature}, saver=saver
        )
        builder.save()
    (problem,) = problems_of(tmp_path / "1")
    assert problem.startswith("RestoreV2 reads files")
    assert "(in the graph)" in problem


def test_an_initializer_that_writes(words, tmp_path):
    class Writes(tf.lookup.TextFileInitializer):
        def initialize(self, table):
            with tf.control_dependencies([tf.io.write_file(str(seen), "loaded")]):
                return super().initialize(table)

    seen = tmp_path / "seen"
    model = Model(words, Writes)
    tf.saved_model.save(model, str(tmp_path / "1"), {"serving_default": model.serve})
    seen.unlink(missing_ok=True)  # written when the table was made
    (problem,) = check_servable(tmp_path / "1").problems
    assert problem.startswith("WriteFile writes files (in __inference__initializer_")
    assert not seen.exists()


def test_a_table_of_a_file_that_is_no_asset(tmp_path, words):
    def looks_up(text):
        table = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
        filled = tf.raw_ops.InitializeTableFromTextFileV2(
            table_handle=table, filename=str(words), key_index=-2, value_index=-1
        )
        with tf.control_dependencies([filled]):
            default = tf.constant(-1, tf.int64)
            return {
                "x": tf.raw_ops.LookupTableFindV2(
                    table_handle=table, keys=text, default_value=default
                )
            }

    (problem,) = problems_of(save(tmp_path / "1", looks_up))
    assert problem.startswith("InitializeTableFromTextFileV2 reads files")


def test_is_run_only_if_told_to(tmp_path):
    seen = tmp_path / "seen"
    path = save(tmp_path / "1", writes(seen))
    report = check_servable(path)
    assert not report.ok
    assert not seen.exists()
    assert "It was not run here" in report.warnings[0]
    again = check_servable(path, run=True)
    assert seen.read_text() == "seen"
    assert again.problems == report.problems
    assert again.warnings == ()


def test_is_not_run_if_told_not_to(tmp_path):
    def fails(text):
        with tf.control_dependencies([tf.debugging.assert_negative(tf.size(text))]):
            return lengths(text)

    path = save(tmp_path / "1", fails)
    report = check_servable(path, run=False)
    assert report.ok
    assert report.versions == versions()
    assert "pass run=True" in report.warnings[0]
    assert not check_servable(path).ok
    with pytest.raises(TypeError, match=r"`run` must be a boolean.*Received: 1"):
        check_servable(path, run=1)


def test_what_no_server_has_is_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr(servable.tf.saved_model, "load", None)  # or it would fail here
    numbers = tf.TensorSpec([None, 2], tf.float32, "x")
    path = save(tmp_path / "1", lambda x: {"y": x + 1}, numbers, jit_compile=True)
    (problem,) = check_servable(path).problems
    assert "compiled by XLA" in problem
    loading = check_servable(path, run=True).problems
    assert "It does not load here" in loading[-1]


def test_operations_have_their_names():
    """A misspelt one would be passed over."""
    in_servers, _ = server_operations._facts()
    assert {*EFFECTS, *BY_ATTRIBUTE, *CACHES} <= set(in_servers)
