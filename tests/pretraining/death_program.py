"""One of two processes of `test_hosts`, of which one dies within a step.

Its arguments: INDEX PORT DATA FOLDER DYING.
"""

import os
import sys
import time
from pathlib import Path

import jax
import keras

import keras_bert_lite as kbl
from keras_bert_lite.training import hosts
from tests.pretraining.runs import run

index, port, dying = (int(sys.argv[i]) for i in (1, 2, 5))
data, folder = Path(sys.argv[3]), Path(sys.argv[4])


class Dies(keras.callbacks.Callback):
    """Ends a process behind its first save, and prints when."""

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1 and index == dying:
            print(time.time(), flush=True)
            os._exit(9)


hosts.LOST, hosts.BEAT = 3.0, 0.5
jax.distributed.initialize(f"127.0.0.1:{port}", 2, index)
keras.distribution.set_distribution(keras.distribution.DataParallel())
run(
    data,
    folder / f"dies_{dying}",
    kbl.masked_lm,
    steps=12,
    save_every=2,
    callbacks=[Dies()],
)
