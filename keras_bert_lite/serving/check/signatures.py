"""Checks of a SavedModel's signatures, and calls to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from keras_bert_lite._tensorflow import meta_graph_pb2, tf, types_pb2

# Types that TF Serving's REST API can read and print (util/json_tensor.cc).
PRINTABLE = frozenset(
    {"BOOL", "DOUBLE", "FLOAT", "INT16", "INT32", "INT64", "INT8", "STRING"}
    | {"UINT32", "UINT64", "UINT8"}
)

EXAMPLE_METHODS = ("tensorflow/serving/classify", "tensorflow/serving/regress")


def public_signatures(meta_graph: meta_graph_pb2.MetaGraphDef) -> dict[str, Any]:
    """Returns the signatures by name, except those used for loading."""
    return {
        name: signature
        for name, signature in sorted(meta_graph.signature_def.items())
        if not name.startswith("__saved_model")
    }


def signature_problems(meta_graph: meta_graph_pb2.MetaGraphDef) -> list[str]:
    """Describes what prevents clients from calling a SavedModel."""
    signatures = public_signatures(meta_graph)
    problems = []
    if "serving_default" not in signatures:
        problems.append(
            "There is no signature 'serving_default', which requests use unless "
            f"they name another. Received: {sorted(signatures)}"
        )
    for name, signature in signatures.items():
        if not signature.outputs:
            problems.append(f"Signature {name!r} has no outputs.")
        for kind, tensors in _tensors(signature):
            problems += [
                f"{kind} {key!r} of signature {name!r} {problem}"
                for key, info in sorted(tensors.items())
                for problem in _tensor_problems(info)
            ]
    return problems


def signature_warnings(meta_graph: meta_graph_pb2.MetaGraphDef) -> list[str]:
    """Describes what may surprise clients."""
    return [
        f"Output {key!r} of signature {name!r} ends in '_bytes', so REST answers "
        "encode it as base64. Rename it to send text."
        for name, signature in public_signatures(meta_graph).items()
        for key, info in sorted(signature.outputs.items())
        if info.dtype == types_pb2.DT_STRING and key.endswith("_bytes")
    ]


def takes_strings(signature: meta_graph_pb2.SignatureDef) -> bool:
    """Returns whether every input is a list of strings, not of `tf.Example`s."""
    if signature.method_name in EXAMPLE_METHODS:
        return False
    return bool(signature.inputs) and all(
        info.dtype == types_pb2.DT_STRING and len(info.tensor_shape.dim) == 1
        for info in signature.inputs.values()
    )


def run(loaded: Any, signature: str, inputs: dict[str, Any]) -> dict[str, tf.Tensor]:
    """Calls a signature by name with exactly its inputs, as a server does.

    Args:
        loaded: The result of `tf.saved_model.load`.
        signature: The signature's name.
        inputs: Arrays or tensors by name.

    Returns:
        The outputs by name.

    Raises:
        ValueError: If the signature does not exist, takes other inputs or fails.
    """
    if signature not in loaded.signatures:
        raise ValueError(
            f"There is no signature {signature!r}, only {sorted(loaded.signatures)}."
        )
    function = loaded.signatures[signature]
    specs = function.structured_input_signature[1]
    if set(specs) != set(inputs):
        raise ValueError(f"It takes {sorted(specs)}. Received: {sorted(inputs)}")
    tensors = {name: tf.convert_to_tensor(x) for name, x in inputs.items()}
    for name, spec in specs.items():
        if not spec.is_compatible_with(tensors[name]):
            raise ValueError(
                f"{name!r} must be {spec.dtype.name} of shape {spec.shape}. Received: "
                f"{tensors[name].dtype.name} of shape {tensors[name].shape}"
            )
    try:
        return function(**tensors)
    except tf.errors.OpError as error:
        raise ValueError(cause(error)) from error


def cause(error: Exception) -> str:
    """Returns an error's message in one line, or its type if it has none."""
    text = getattr(error, "message", None) or str(error)
    lines = [
        line.strip()
        for line in text.splitlines()
        if line.strip() and not line.lstrip().startswith("[[")
    ]
    if not lines:
        return type(error).__name__
    # TensorFlow's own errors in a graph end with the cause.
    return lines[-1 if lines[0].startswith("Graph execution error") else 0]


def _tensors(signature: meta_graph_pb2.SignatureDef) -> Iterator[tuple[str, Any]]:
    yield "Input", signature.inputs
    yield "Output", signature.outputs


def _tensor_problems(info: meta_graph_pb2.TensorInfo) -> Iterator[str]:
    if info.WhichOneof("encoding") != "name":
        yield "is ragged or sparse; servers take dense tensors only."
        return
    dtype = types_pb2.DataType.Name(info.dtype)[3:]
    if dtype in ("RESOURCE", "VARIANT"):
        yield f"is a {dtype.lower()}, which cannot leave the server. Leave it out."
    elif dtype not in PRINTABLE:
        yield f"is {dtype.lower()}, which REST cannot carry. Cast it, to float32 say."
    if info.tensor_shape.unknown_rank:
        return
    shape = [d.size if d.size >= 0 else None for d in info.tensor_shape.dim]
    if not shape or shape[0] is not None:
        yield (
            "must have the batch first, of any size: servers join requests along "
            f"that dimension. Received the shape: {tuple(shape)}"
        )
