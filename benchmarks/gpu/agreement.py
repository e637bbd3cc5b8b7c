"""Whether a GPU computes what the CPU does: outputs and gradients of each family.

    KERAS_BACKEND=jax JAX_PLATFORMS=cpu python -m benchmarks.gpu.agreement cpu.npz
    KERAS_BACKEND=jax python -m benchmarks.gpu.agreement gpu.npz --against cpu.npz

An encoder of two layers of each family, as wide as its published one, reads four rows
of up to 96 tokens. Weights are random, from NumPy, so that all backends have the same.
Differences are those of the hidden states, and of the gradients of the mean square of
the real tokens' states: the norm of the difference over the norm. TensorFloat-32 is
off. `--dtype mixed_bfloat16` shows what that dtype costs beside it.
"""

import argparse
import functools
import sys
from pathlib import Path

import keras
import numpy as np
from keras import ops

import keras_bert_lite as kbl
from benchmarks.inference.tables import table

PRESETS = (
    "bert_base_uncased",
    "roberta_base",
    "albert_base_v2",
    "electra_base",
    "mpnet_base",
    "deberta_base",
    "deberta_v3_base",
    "modernbert_base",
)
ROWS, LENGTH, WORDS = 4, 96, 1000
Arrays = dict[str, np.ndarray]


def outputs(name: str) -> Arrays:
    """Returns the hidden states of a family's encoder, and its gradients."""
    config = kbl.EncoderConfig.named(
        name,
        num_layers=2,
        vocabulary_size=WORDS,
        dropout=0.0,
        attention_dropout=0.0,
    )
    model = kbl.encoder(config)
    rng = np.random.default_rng(0)
    model.set_weights([_weight(x, rng) for x in model.weights])
    lengths = np.array([LENGTH, 61, 17, 3])
    mask = np.arange(LENGTH) < lengths[:, None]
    ids = rng.integers(5, WORDS, (ROWS, LENGTH)) * mask
    inputs = {
        "token_ids": ids.astype("int32"),
        "segment_ids": np.zeros_like(ids, "int32"),
        "padding_mask": mask,
    }
    inputs = {name: ops.convert_to_tensor(inputs[name]) for name in model.input}
    real = ops.cast(inputs["padding_mask"], "float32")[..., None]

    def loss(states):
        return ops.mean(ops.square(ops.cast(states, "float32") * real))

    states, gradients = _states_and_gradients(model, inputs, loss)
    found = {"states": states * mask[..., None]}
    weights = model.trainable_weights
    return found | {
        f"gradient {x.path}": y for x, y in zip(weights, gradients, strict=True)
    }


def _weight(variable: keras.Variable, rng: np.random.Generator) -> np.ndarray:
    """Returns numbers of the size that weights have: scales are about 1."""
    near = 1.0 if variable.path.endswith(("gamma", "scale")) else 0.0
    return near + 0.03 * rng.standard_normal(variable.shape)


def _states_and_gradients(model, inputs, loss) -> tuple[np.ndarray, list[np.ndarray]]:
    name = "sequence_output"
    if keras.backend.backend() == "jax":
        import jax

        fixed = [x.value for x in model.non_trainable_variables]

        @functools.partial(jax.value_and_grad, has_aux=True)
        def of(values):
            made, _ = model.stateless_call(values, fixed, inputs, training=True)
            return loss(made[name]), made[name]

        (_, states), found = jax.jit(of)([x.value for x in model.trainable_variables])
    else:
        states = model(inputs, training=True)[name]
        loss(states).backward()
        found = [x.value.grad for x in model.trainable_weights]
        found = [
            ops.zeros(x.shape) if y is None else y
            for x, y in zip(model.trainable_weights, found, strict=True)
        ]
    numbers = [np.asarray(ops.convert_to_numpy(x), "float32") for x in (states, *found)]
    return numbers[0], numbers[1:]


def difference(got: np.ndarray, want: np.ndarray) -> float:
    return float(np.linalg.norm(got - want) / max(np.linalg.norm(want), 1e-30))


def comparison(got: Arrays, want: Arrays) -> str:
    """Returns the largest differences of each family, in Markdown."""
    lines = []
    for name in PRESETS:
        paths = [x for x in want if x.startswith(f"{name} gradient")]
        if not paths:
            continue
        norm = max(np.linalg.norm(want[x]) for x in paths)
        # A gradient that is nearly nothing has no digits to agree in.
        worst = max(np.linalg.norm(got[x] - want[x]) for x in paths) / norm
        states = f"{name} states"
        cells = [f"{difference(got[states], want[states]):.1e}", f"{worst:.1e}"]
        lines.append([name, *cells])
    return table(["encoder", "hidden states", "gradients"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.agreement")
    parser.add_argument("path", type=Path, help="of the outputs, an npz file")
    parser.add_argument("--against", type=Path, help="outputs to compare with")
    parser.add_argument("--dtype", default="float32", help="a dtype policy")
    options = parser.parse_args()
    keras.config.set_dtype_policy(options.dtype)
    if keras.backend.backend() == "jax":
        import jax

        jax.config.update("jax_default_matmul_precision", "highest")
        print("on", jax.default_backend(), file=sys.stderr)
    found: Arrays = {}
    for name in PRESETS:
        try:
            arrays = outputs(name)
        except Exception as error:  # the other families count too
            print(f"{name}: {type(error).__name__}: {str(error)[:600]}")
            continue
        found |= {f"{name} {what}": x for what, x in arrays.items()}
    np.savez(options.path, **found)
    if options.against:
        print(comparison(found, dict(np.load(options.against))))


if __name__ == "__main__":
    main()
