"""One of two processes of `test_hosts`: runs of pretraining, one after another.

    python -m tests.pretraining.hosts_program INDEX PORT DATA FOLDER

It prints a line of JSON.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import jax
import keras
import numpy as np

import keras_bert_lite as kbl
from keras_bert_lite.training import hosts
from tests.pretraining.runs import run

index, port = int(sys.argv[1]), sys.argv[2]
data, folder = Path(sys.argv[3]), Path(sys.argv[4])


class Terminated(keras.callbacks.Callback):
    """Sends SIGTERM to the second process behind three steps."""

    def on_train_batch_end(self, batch, logs=None):
        if batch == 2:
            if index:
                os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(2.0)  # until the first one knows


def train(name, **options):
    given = {"steps": 12, "save_every": 12, **options}
    return run(data, folder / name, kbl.masked_lm, **given)


def sizes(model):
    return [float(np.abs(hosts.on_host(x)).sum(dtype="float64")) for x in model.weights]


def model_axis():
    """Divides weights among the two processes."""
    mesh = keras.distribution.DeviceMesh(
        (1, 2), ("batch", "model"), keras.distribution.list_devices()
    )
    layout = keras.distribution.LayoutMap(mesh)
    layout[".*attention/(query|key|value)/kernel"] = (None, "model")
    return keras.distribution.ModelParallel(layout_map=layout, batch_dim_name="batch")


# The same step is compiled once.
jax.config.update("jax_compilation_cache_dir", str(folder / f"compiled_{index}"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.distributed.initialize(f"127.0.0.1:{port}", 2, index)
found = {}
data_axis = keras.distribution.DataParallel()
keras.distribution.set_distribution(model_axis())
divided, history = train("divided", steps=4, save_every=2)
found["divided"], found["losses"] = sizes(divided), history.history["loss"]
keras.distribution.set_distribution(data_axis)
restored, history = train("divided", steps=4, save_every=2)
found["restored"], found["epochs"] = sizes(restored), history.epoch

try:
    train("other", seed=index)
except ValueError as error:
    found["refused"] = str(error)

whole, _ = train("whole")
found["whole"] = sizes(whole)
try:
    train("parts", callbacks=[Terminated()])
except KeyboardInterrupt:
    if index == 0:  # which has written it
        states = (folder / "parts").glob("step_*")
        found["terminated"] = [x.name for x in states]
parts, _ = train("parts")
found["parts"] = sizes(parts)
print(json.dumps(found), flush=True)
