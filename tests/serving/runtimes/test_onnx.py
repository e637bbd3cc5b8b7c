"""ONNX files in ONNX Runtime."""

import numpy as np
import onnx
import onnxruntime
import pytest

import keras_bert_lite as kbl
from keras_bert_lite.serving.runtimes.onnx import export_onnx
from keras_bert_lite.serving.runtimes.onnx_graph import simplify
from tests import tiny
from tests.conformance import randomize

pytestmark = [
    pytest.mark.tensorflow(reason="exports need TensorFlow"),
    pytest.mark.filterwarnings("ignore:Please consider to run pre-processing"),
]


@pytest.fixture(scope="module")
def body():
    made = tiny.classifier()
    randomize(made)  # a converter drops products with ones
    return made


@pytest.fixture(scope="module")
def model(body):
    return kbl.with_text(body, tiny.preprocessor())


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    return export_onnx(model, tmp_path_factory.mktemp("onnx") / "model.onnx")


def session_of(path, optimized=None):
    options = onnxruntime.SessionOptions()
    if optimized:
        level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.graph_optimization_level = level
        options.optimized_model_filepath = str(optimized)
    return onnxruntime.InferenceSession(str(path), options)


def ids_of(texts):
    return {name: x.numpy() for name, x in tiny.preprocessor()(texts).items()}


def types_in(path):
    return [node.op_type for node in onnx.load(path).graph.node]


@pytest.mark.parametrize(
    "texts",
    [tiny.TEXTS, ["a day"], ["", ""], [], [tiny.TEXTS[i % 4] for i in range(33)]],
)
def test_the_same_values(body, path, texts):
    ids = ids_of(texts)
    (logits,) = session_of(path).run(["logits"], ids)
    expected = body(ids)["logits"]
    assert logits.dtype == np.float32
    assert logits.shape == expected.shape
    np.testing.assert_allclose(logits, expected, atol=1e-4)


def test_wider_padding_changes_nothing(path):
    ids = ids_of(tiny.TEXTS)
    wider = {name: np.pad(x, [(0, 0), (0, 3)]) for name, x in ids.items()}
    session = session_of(path)
    narrow, wide = (session.run(["logits"], x)[0] for x in (ids, wider))
    np.testing.assert_allclose(wide, narrow, atol=1e-5)


def test_an_encoders_outputs(tmp_path):
    encoder = tiny.encoder(activation="gelu_tanh")
    path = export_onnx(kbl.with_text(encoder, tiny.preprocessor()), tmp_path / "e.onnx")
    session, ids = session_of(path), ids_of(tiny.TEXTS)
    names = [output.name for output in session.get_outputs()]
    assert sorted(names) == ["pooled_output", "sequence_output"]
    expected = encoder(ids)
    for name, values in zip(names, session.run(names, ids), strict=True):
        np.testing.assert_allclose(values, expected[name], atol=1e-4)


def test_local_attention_reads_whole_rows(tmp_path):
    parts = {"rotary": {}, "local_attention": {"window": 4, "global_every": 2}}
    body = tiny.classifier(**parts)
    path = export_onnx(kbl.with_text(body, tiny.preprocessor()), tmp_path / "l.onnx")
    assert not {"If", "Loop"} & set(types_in(path))
    (logits,) = session_of(path).run(["logits"], ids_of(tiny.TEXTS))
    np.testing.assert_allclose(logits, body(ids_of(tiny.TEXTS))["logits"], atol=1e-5)


def test_int8(body, model, path, tmp_path, caplog, capfd):
    small = export_onnx(model, tmp_path / "int8.onnx", int8=True)
    # No advice of onnxruntime; TensorFlow may know of tables of other tests.
    assert not [x for x in caplog.records if x.name != "tensorflow"]
    assert "onsider" not in capfd.readouterr().err
    kinds = types_in(small)
    assert kinds.count("MatMulInteger") == 2 * 6 + 2
    weights = onnx.load(small).graph.initializer
    assert not [x.name for x in weights if x.data_type == 1 and np.prod(x.dims) > 256]
    ids = ids_of(tiny.TEXTS)
    (logits,) = session_of(small).run(["logits"], ids)
    difference = np.abs(logits - body(ids)["logits"]).max()
    assert 0 < difference < 0.1 * np.ptp(body(ids)["logits"])


def test_what_the_engine_fuses(path, tmp_path):
    kinds = types_in(path)
    assert kinds.count("LayerNormalization") == 5
    assert kinds.count("Erf") == 2
    assert not {"Erfc", "If", "Reciprocal", "BatchNormalization"} & set(kinds)
    session_of(path, optimized=tmp_path / "optimized.onnx")
    fused = types_in(tmp_path / "optimized.onnx")
    assert sum("Gelu" in kind for kind in fused) == 2


def test_simplify_leaves_other_graphs_alone():
    half = onnx.helper.make_tensor("half", 1, [], [0.5])
    nodes = [
        onnx.helper.make_node("Erf", ["x"], ["a"]),
        onnx.helper.make_node("Reciprocal", ["a"], ["b"]),
        onnx.helper.make_node("Mul", ["b", "half"], ["y"]),
    ]
    values = [onnx.helper.make_tensor_value_info(name, 1, ["n"]) for name in "xy"]
    graph = onnx.helper.make_graph(nodes, "g", values[:1], values[1:], [half])
    model = onnx.helper.make_model(graph)
    after = simplify(model)
    assert list(after.graph.node) == nodes


CHOICE = """
<ir_version: 10, opset_import: ["" : 18]>
g (bool[n] c, int32[n] a, int32[n] b) => (int32[n] y) {
    n = Not(c)
    chosen = Cast<to=6>(c)
    other = Cast<to=6>(n)
    first = Mul(a, chosen)
    second = Mul(other, b)
    y = Add(first, second)
}
"""


def test_simplify_chooses_by_where():
    after = simplify(onnx.parser.parse_model(CHOICE))
    assert [node.op_type for node in after.graph.node] == ["Where"]
    c, a, b = np.array([True, False]), *np.int32([[1, 2], [3, 4]])
    session = onnxruntime.InferenceSession(after.SerializeToString())
    np.testing.assert_array_equal(
        session.run(["y"], {"c": c, "a": a, "b": b})[0], [1, 4]
    )


GATHER = """
<ir_version: 10, opset_import: ["" : 18]>
g (int32[n] i) => (float[m, n] y)
    <float[3, 3] table = {0, 1, 2, 3, 4, 5, 6, 7, 8}, float zero = {0},
     int32 rows = {ROWS}> {
    numbers = Cast<to=1>(i)
    negative = Less(numbers, zero)
    raised = Add(i, rows)
    from_start = Where(negative, raised, i)
    y = Gather<axis=AXIS>(table, from_start)
}
"""


@pytest.mark.parametrize(("rows", "axis", "kinds"), [(3, 0, 1), (2, 0, 5), (3, 1, 5)])
def test_simplify_leaves_negative_indices_to_gather(rows, axis, kinds):
    text = GATHER.replace("ROWS", str(rows)).replace("AXIS", str(axis))
    before = onnx.parser.parse_model(text)
    after = simplify(before)
    assert len(after.graph.node) == kinds
    found = [
        onnxruntime.InferenceSession(x.SerializeToString()).run(
            ["y"], {"i": np.int32([0, 2, -1])}
        )[0]
        for x in (before, after)
    ]
    np.testing.assert_array_equal(*found)


def test_a_failed_export_leaves_the_old_file(model, tmp_path, monkeypatch):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"old")

    def fail(*args, **kwargs):
        raise OSError("No space left on device")

    monkeypatch.setattr(onnx, "save", fail)
    with pytest.raises(OSError, match="No space left"):
        export_onnx(model, path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]
    assert path.read_bytes() == b"old"


def test_what_is_refused(tmp_path):
    with pytest.raises(TypeError, match="made by `with_text`"):
        export_onnx(tiny.classifier(), tmp_path / "model.onnx")
    states = kbl.encoder(tiny.config(), hidden_states=True)
    model = kbl.with_text(states, tiny.preprocessor())
    with pytest.raises(ValueError, match=r"Received: hidden_states \(list\)"):
        export_onnx(model, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
