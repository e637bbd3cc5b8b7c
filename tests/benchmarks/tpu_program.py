"""Compiles tiny training steps for TPUs and prints what they hold, as JSON."""

import json
import os

from benchmarks.tpu.without_chip import ENVIRONMENT

ROWS, LENGTH, WORDS, WIDTH = 8, 128, 4, 64
VOCABULARY = 256


def main() -> None:
    os.environ.update(ENVIRONMENT)
    import keras
    import numpy as np

    import keras_bert_lite as kbl
    from benchmarks.tpu.compiling import MODEL_PARALLEL, compile_step, filled, mesh_of
    from benchmarks.tpu.hlo import collectives, elementwise

    keras.config.set_dtype_policy("mixed_bfloat16")
    config = kbl.EncoderConfig(
        vocabulary_size=VOCABULARY,
        num_layers=1,
        num_heads=2,
        hidden_dim=WIDTH,
        intermediate_dim=128,
        max_sequence_length=LENGTH,
    )
    model = kbl.pretraining.masked_positions_model(kbl.masked_lm(kbl.encoder(config)))
    kbl.compile(model, kbl.optimizers.bert_adamw(10))
    targets = {"prediction_logits": np.zeros((ROWS, WORDS), "int32")}
    weights = {"prediction_logits": np.ones((ROWS, WORDS), "float32")}
    batch = (filled(model, ROWS, LENGTH, WORDS), targets, weights)

    def program(data: int, model_axis: int) -> str:
        mesh = mesh_of("v5e:2x2", data, model_axis)
        layout = MODEL_PARALLEL if model_axis > 1 else None
        return compile_step(model, batch, mesh, layout).as_text()

    found = {}
    for name, shape in {"data": (4, 1), "data x model": (2, 2)}.items():
        counts = collectives(program(*shape)).items()
        found[name] = [[*key, count] for key, count in counts]
    found["threefry"] = elementwise(program(1, 1))["integer"]
    kbl.tuning.set_fast_dropout(model)
    found["rbg"] = elementwise(program(1, 1))["integer"]
    kbl.tuning.set_fast_dropout(model, False)
    kbl.tuning.set_fused_attention(model)
    for name, shape in {"kernel": (1, 1), "kernel, data x model": (2, 2)}.items():
        text = program(*shape)
        found[name] = [[*key, count] for key, count in collectives(text).items()]
        found[f"{name}: calls"] = text.count('custom_call_target="tpu_custom_call"')
    found["weights"] = [list(x.shape) for x in model.trainable_variables]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
