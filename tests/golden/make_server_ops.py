"""Writes keras_bert_lite/serving/check/server_ops.json from TensorFlow's own wheels.

A server has the operations of the TensorFlow it was built on and those of the
tensorflow-text that its BUILD files link. A wheel stands for a server: the
TensorFlow of the same number (2.17.1 for every 2.17), and tensorflow-text
2.12.1 for the servers up to 2.19.1, 2.20.0 for 2.20.0. (Servers also link the
inference operations of TensorFlow Decision Forests, which are not noted.)

Of each wheel this notes the operations that run on a CPU, their attributes,
and the types that a CPU kernel takes. Run `dump` once under each version, and
under the one that writes the SavedModels, so that what only it has is known:

    python tests/golden/make_server_ops.py dump facts

`tensorflow-cpu` does as well as `tensorflow`; tensorflow-text is needed beside
TensorFlow 2.12.1 and 2.20.0, and must be absent or of the same version
elsewhere. Then:

    python tests/golden/make_server_ops.py merge facts
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

TARGET = Path("keras_bert_lite/serving/check/server_ops.json")
# TF Serving: (tensorflow, tensorflow-text)
SERVERS = {
    **{v: (v, "2.12.1") for v in ("2.12.1", "2.13.1", "2.14.1", "2.15.1", "2.16.1")},
    **{v: (v, "2.12.1") for v in ("2.17.1", "2.18.1", "2.19.1")},
    "2.20.0": ("2.20.0", "2.20.0"),
}
# The wheels register these for Python's sake; the server's binary does not have
# PyFunc and its kin, and needs a compiler that is off by default for XLA's.
PYTHON_OPS = {"EagerPyFunc", "PyFunc", "PyFuncStateless"}
COMPILER_PREFIXES = ("Xla", "_Xla", "TRT")
TYPES = (
    *("BFLOAT16", "BOOL", "COMPLEX64", "COMPLEX128", "DOUBLE", "FLOAT", "HALF"),
    *("INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"),
    *("RESOURCE", "STRING", "VARIANT"),
)


def operations():
    """What is registered now: {operation: {attribute: type names or None}}."""
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session
    from tensorflow.python.framework import kernels

    found = pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
    by_name = defaultdict(list)
    for kernel in kernels.get_all_registered_kernels().kernel:
        if kernel.device_type in ("CPU", "DEFAULT") and not kernel.label:
            by_name[kernel.op].append(kernel)
    return {
        op.name: {a.name: usable_types(a, by_name[op.name]) for a in op.attr}
        for op in op_def_pb2.OpList.FromString(found).op
        if by_name[op.name]
        and op.name not in PYTHON_OPS
        and not op.name.startswith(COMPILER_PREFIXES)
    }


def usable_types(attribute, kernels):
    """The types that the definition allows and at least one kernel takes."""
    from tensorflow.core.framework import types_pb2

    if attribute.type not in ("type", "list(type)"):
        return None
    every = {types_pb2.DataType.Value(f"DT_{name}") for name in TYPES}
    taken = set()
    for kernel in kernels:
        limits = [c for c in kernel.constraint if c.name == attribute.name]
        taken |= set(limits[0].allowed_values.list.type) if limits else every
    taken &= set(attribute.allowed_values.list.type) or every
    return sorted(types_pb2.DataType.Name(t)[3:] for t in taken & every)


def dump(folder):
    import tensorflow as tf

    core = operations()
    try:
        import tensorflow_text
    except ImportError:
        text, text_version = {}, None
    else:
        text = {k: v for k, v in operations().items() if k not in core}
        text_version = tensorflow_text.__version__
    folder.mkdir(parents=True, exist_ok=True)
    facts = {"core": core, "text": text, "text_version": text_version}
    (folder / f"{tf.__version__}.json").write_text(json.dumps(facts))
    print(tf.__version__, len(core), "operations,", len(text), "of tensorflow-text")


def entries(table):
    """{"Op", "Op.attribute", "Op.attribute:TYPE"} of a table of operations."""
    for name, attributes in table.items():
        yield name
        for attribute, types in attributes.items():
            yield f"{name}.{attribute}"
            yield from (f"{name}.{attribute}:{t}" for t in types or ())


def without_parents(missing):
    """Drops what follows from a missing operation or attribute."""
    return sorted(
        entry
        for entry in missing
        if entry.split(".")[0] not in missing - {entry}
        and (":" not in entry or entry.split(":")[0] not in missing)
    )


def merge(folder):
    facts = {f.stem: json.loads(f.read_text()) for f in folder.glob("*.json")}
    text = {f["text_version"]: f["text"] for f in facts.values()}
    tables = {v: facts[tf]["core"] | text[t] for v, (tf, t) in SERVERS.items()}
    others = [f["core"] | f["text"] for f in facts.values()]
    known = {e for table in others for e in entries(table)}
    has = {v: set(entries(table)) for v, table in tables.items()}
    attributes = defaultdict(set)
    for entry in set().union(*has.values()):
        name, _, attribute = entry.partition(".")
        attributes[name] |= {attribute} - {""} if ":" not in entry else set()
    served = {e for e in known if e.split(".")[0] in attributes}
    result = {
        "operations": {k: " ".join(sorted(v)) for k, v in sorted(attributes.items())},
        "missing": {v: without_parents(served - has[v]) for v in SERVERS},
    }
    TARGET.write_text(json.dumps(result, indent=0) + "\n")
    print(len(attributes), {v: len(x) for v, x in result["missing"].items()})


if __name__ == "__main__":
    {"dump": dump, "merge": merge}[sys.argv[1]](Path(sys.argv[2]))
