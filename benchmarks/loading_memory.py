"""Memory that loading a checkpoint takes, beside transformers and KerasHub.

Writes a checkpoint of random weights in the shape of a published one, loads it in
fresh processes, and prints the peak of each above what its imports take, as a
multiple of the weights' size, and the seconds that it took.

    python -m benchmarks.loading_memory --name bert_large_uncased
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.memory import peak_memory

MIB = 1 << 20
SIDES = ("keras_bert_lite", "transformers", "keras_hub")


def write(name, directory):
    import keras_bert_lite as kbl

    config = kbl.EncoderConfig.named(name)
    kbl.save_hugging_face(kbl.encoder(config), None, directory)


def our_loader():
    import keras_bert_lite as kbl

    return kbl.load_encoder


def their_loader():
    import transformers

    return transformers.AutoModel.from_pretrained


def hub_loader():
    import keras_hub

    return keras_hub.models.Backbone.from_preset


LOADERS = dict(zip(SIDES, (our_loader, their_loader, hub_loader), strict=True))


def measure(side, directory):
    load = LOADERS[side]()
    _use_once(side)
    before, start = peak_memory(), time.perf_counter()
    load(str(directory))
    return peak_memory() - before, time.perf_counter() - start


def _use_once(side):
    """Starts the backend, whose memory is not the checkpoint's."""
    if side == "transformers":
        import torch

        torch.zeros(8) + 1
    else:
        import keras

        keras.ops.convert_to_numpy(keras.ops.zeros(8) + 1)


def child(*arguments):
    command = [sys.executable, "-m", "benchmarks.loading_memory", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--name", default="bert_large_uncased")
    parser.add_argument("--directory", type=Path)
    parser.add_argument("--side", choices=("write", *SIDES))
    options = parser.parse_args()
    if options.side == "write":
        write(options.name, options.directory)
    elif options.side:
        print(*measure(options.side, options.directory))
    else:
        with tempfile.TemporaryDirectory() as directory:
            compare(options.name, Path(directory))


def compare(name, directory):
    shared = ("--name", name, "--directory", str(directory))
    child(*shared, "--side", "write")
    size = (directory / "model.safetensors").stat().st_size
    print(f"{name}: {size / MIB:.0f} MiB of weights")
    for side in SIDES:
        taken, seconds = map(float, child(*shared, "--side", side).split()[-2:])
        print(f"{side}: {taken / size:.2f} x the weights, {seconds:.1f} s")


if __name__ == "__main__":
    main()
