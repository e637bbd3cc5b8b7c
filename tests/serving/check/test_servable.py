"""What `check_servable` finds in good and bad SavedModels."""

import re

import pytest
import tensorflow as tf
import tensorflow_text as tf_text

import keras_bert_lite as kbl
from keras_bert_lite.serving.check.servable import check_servable
from keras_bert_lite.serving.check.server_operations import versions
from keras_bert_lite.serving.saved_model.warmup import write_warmup
from tests import tiny
from tests.serving.saved_models import lengths, save

pytestmark = pytest.mark.tensorflow(reason="exports need TensorFlow")
SERVERS = (
    *("2.12.1", "2.13.1", "2.14.1", "2.15.1", "2.16.1"),
    *("2.17.1", "2.18.1", "2.19.1", "2.20.0"),
)


def only_problem(path):
    report = check_servable(path)
    assert not report.ok
    assert report.versions == ()
    assert "not servable" in str(report)
    (problem,) = report.problems
    assert problem in str(report)
    return problem


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    model = kbl.with_text(tiny.classifier(), tiny.preprocessor())
    return kbl.export_saved_model(
        model, tmp_path_factory.mktemp("export") / "m", warmup=False
    )


def test_an_export_works_with_every_version(path):
    report = check_servable(path)
    assert report.problems == report.warnings == ()
    assert report.ok
    assert report.versions == SERVERS == versions()
    assert "FastWordpieceTokenizeWithOffsets" in report.ops
    assert list(report.ops) == sorted(report.ops)
    assert str(report) == f"{path}: ok for TF Serving {', '.join(SERVERS)}"


def test_pairs_and_sequence_outputs(tmp_path):
    encoder = kbl.encoder(tiny.config(), hidden_states=True)
    model = kbl.with_text(encoder, tiny.preprocessor(), pairs=True)
    assert check_servable(kbl.export_saved_model(model, tmp_path, warmup=False)).ok


def test_a_models_directory_is_checked_at_its_newest_version(tmp_path):
    for version in ("2", "10"):
        save(tmp_path / "m" / version, lengths)
    (tmp_path / "m" / ".draft-half").mkdir()
    (tmp_path / "m" / "3").mkdir()
    report = check_servable(tmp_path / "m")
    assert report.ok
    assert report.path == str(tmp_path / "m" / "10")
    draft, half = report.warnings
    assert ".draft-half is not named by a number" in draft
    assert "3 is not a complete version" in half
    assert f"warning: {half}" in str(report)


def test_the_newest_version_is_half_written(tmp_path):
    save(tmp_path / "m" / "1", lengths)
    (tmp_path / "m" / "2" / "variables").mkdir(parents=True)
    assert "2, the newest version, is incomplete" in only_problem(tmp_path / "m")


def test_a_version_without_a_number(tmp_path):
    report = check_servable(save(tmp_path / "mine", lengths))
    assert report.ok
    assert "is not named by a number" in report.warnings[0]


def test_python_functions(tmp_path):
    def inside_a_branch(text):
        call = lambda: tf.py_function(lambda x: x, [text], tf.string)  # noqa: E731
        answer = tf.cond(tf.size(text) > 0, call, lambda: text)
        return {"answer": tf.ensure_shape(answer, [None])}

    problem = only_problem(save(tmp_path / "1", inside_a_branch))
    assert "No stock TF Serving has EagerPyFunc. It calls Python" in problem


def test_compiled_functions(tmp_path):
    numbers = tf.TensorSpec([None, 2], tf.float32, "x")
    path = save(tmp_path / "1", lambda x: {"y": x + 1}, numbers, jit_compile=True)
    assert "compiled by XLA (jit_compile)" in only_problem(path)


def test_operations_of_a_newer_tensorflow_text(tmp_path):
    def trim(text):
        tokens = tf_text.WhitespaceTokenizer().tokenize(text)
        (tokens,) = tf_text.RoundRobinTrimmer(4).trim([tokens])
        return {"count": tokens.row_lengths()}

    report = check_servable(save(tmp_path / "1", trim))
    assert report.ok
    assert report.versions == ("2.20.0",)
    assert "TFText>RoundRobinTrim" in report.ops
    (warning,) = report.warnings
    assert warning.startswith("TF Serving 2.12.1, 2.13.1, ")
    assert warning.endswith("2.19.1 cannot serve it: no TFText>RoundRobinTrim.")


def test_attributes_and_types_of_a_newer_tensorflow(tmp_path):
    def scatter(text):
        length = tf.strings.length(text)
        places = tf.range(tf.size(text))[:, None]
        shape = tf.shape(length)
        return {
            "x": tf.raw_ops.ScatterNd(
                indices=places, updates=length, shape=shape, bad_indices_policy="IGNORE"
            )
        }

    report = check_servable(save(tmp_path / "a" / "1", scatter))
    assert report.versions == ("2.18.1", "2.19.1", "2.20.0")
    assert "no ScatterNd.bad_indices_policy." in report.warnings[0]

    def gather(text):
        places = tf.cast(tf.range(tf.size(text)), tf.int16)
        return {"x": tf.gather(text, places)}

    report = check_servable(save(tmp_path / "b" / "1", gather))
    expected = "TF Serving 2.12.1 cannot serve it: no GatherV2.Tindices:INT16."
    assert report.warnings == (expected,)
    assert report.versions == SERVERS[1:]


def test_there_must_be_a_default_signature(tmp_path):
    path = save(tmp_path / "1", lengths, signature="mine")
    problem = only_problem(path)
    assert "no signature 'serving_default'" in problem
    assert "Received: ['mine']" in problem


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (lambda text: tf.size(text), r"batch first.*Received the shape: \(\)"),
        (lambda text: tf.size(text)[None], r"batch first.*\(1,\)"),
        (lambda text: tf.cast(tf.strings.length(text), tf.bfloat16), "is bfloat16"),
        (lambda text: tf.cast(tf.strings.length(text), tf.half), "is half"),
    ],
)
def test_outputs_that_clients_cannot_use(tmp_path, output, expected):
    path = save(tmp_path / "1", lambda text: {**lengths(text), "y": output(text)})
    problems = check_servable(path).problems
    assert problems[0].startswith("Output 'y' of signature 'serving_default'")
    assert re.search(expected, problems[0])


def test_bytes_are_base64(tmp_path):
    report = check_servable(save(tmp_path / "1", lambda text: {"raw_bytes": text}))
    assert report.ok
    assert "'raw_bytes' of signature 'serving_default' ends in" in report.warnings[0]


def share_of_longest(text):
    length = tf.cast(tf.strings.length(text), tf.float32)
    return {"share": length / (1 + tf.reduce_max(length))}


def first_row(text):
    return {"first": text[:1]}


def drops_doubles(text):
    return {"different": tf.unique(tf.strings.length(text) // 1000)[0]}


def cuts_to_shortest(text):
    letters = tf.strings.unicode_split(text, "UTF-8").to_tensor()
    longest = 1 + tf.reduce_min(tf.strings.length(text, unit="UTF8_CHAR"))
    return {"letters": letters[:, :longest]}


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (share_of_longest, "breaks the batching law: a text of 1 characters"),
        (first_row, r"one row for each text. Received: 5 texts"),
        (drops_doubles, r"one row for each text. Received: 5 texts"),
        (cuts_to_shortest, r"shape \(1, 11\) alone and \(1, 1\) among others"),
    ],
)
def test_rows_must_not_depend_on_their_neighbours(tmp_path, function, expected):
    problem = only_problem(save(tmp_path / "1", function))
    assert re.search(expected, problem)


def test_padding_to_the_longest_row_is_no_difference(tmp_path):
    def letters(text):
        return {"letters": tf.strings.unicode_split(text, "UTF-8").to_tensor()}

    assert check_servable(save(tmp_path / "1", letters)).ok


def test_texts_that_it_fails_on(tmp_path):
    def needs_rows(text):
        with tf.control_dependencies([tf.debugging.assert_positive(tf.size(text))]):
            return lengths(text)

    problem = only_problem(save(tmp_path / "1", needs_rows))
    assert "Signature 'serving_default' fails on 0 texts" in problem


def test_serialized_examples_are_left_out(tmp_path):
    def parse(inputs):
        feature = {"x": tf.io.FixedLenFeature([], tf.float32)}
        return {"x": tf.io.parse_example(inputs, feature)["x"]}

    examples = tf.TensorSpec([None], tf.string, "inputs")
    report = check_servable(save(tmp_path / "1", parse, examples))
    assert report.ok
    assert "takes serialized tf.Examples" in report.warnings[0]


def test_a_warm_up_record_that_fails(tmp_path):
    path = save(tmp_path / "1", lengths)
    write_warmup(path, [("serving_default", {"text": ["a"]})])
    assert check_servable(path).ok
    write_warmup(path, [("serving_default", {"words": ["a"]})])
    problem = only_problem(path)
    assert "Warm-up record 0" in problem
    assert "A server would not load the model" in problem


def test_path_must_be_a_path():
    with pytest.raises(TypeError, match=r"`path` must be a path\. Received: 7"):
        check_servable(7)


def test_weights_that_are_no_numbers(tmp_path):
    module = tf.Module()
    module.weight = tf.Variable([1.0, float("nan")], name="kernel")

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def call(x):
        return {"y": x * module.weight}

    tf.saved_model.save(module, str(tmp_path / "1"), {"serving_default": call})
    assert "weight 'kernel:0' holds NaN" in only_problem(tmp_path)
