"""A stand-in for TensorFlow Serving: its Predict call, on a SavedModel in Python.

    python -m tests.serving.prediction_server DIRECTORY --port 0

serves the highest numbered version in DIRECTORY under the directory's name, moves
to a higher one when it appears, and prints its port. It ends with its parent.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers its ops)
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from tests.paths import ROOT

STATUS = {code.value[0]: code for code in grpc.StatusCode}


class PredictionServer(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Serves the newest version; refuses with the codes of TF Serving."""

    def __init__(self, directory):
        self.directory = Path(directory).resolve()
        self.version, self.model = 0, None
        self.load_newest()

    def load_newest(self):
        """Replaces the version served, once a higher one has been loaded."""
        names = [x.name for x in self.directory.iterdir() if x.name.isdigit()]
        newest = max(map(int, names), default=0)
        if newest > self.version:
            model = tf.saved_model.load(str(self.directory / str(newest)))
            self.version, self.model = newest, model

    def Predict(self, request, context):
        try:
            return self.predict(request)
        except tf.errors.OpError as error:
            context.abort(STATUS[error.error_code], error.message[:1000])

    def predict(self, request):
        version, model = self.version, self.model
        spec = request.model_spec
        wanted = spec.version.value if spec.HasField("version") else version
        if (spec.name, wanted) != (self.directory.name, version):
            raise refusal(tf.errors.NotFoundError, f"No {spec.name} version {wanted}")
        name = spec.signature_name or "serving_default"
        if name not in model.signatures:
            raise refusal(tf.errors.FailedPreconditionError, f"No signature {name}")
        signature = model.signatures[name]
        inputs = {name: tf.make_ndarray(x) for name, x in request.inputs.items()}
        check(signature.structured_input_signature[1], inputs)
        outputs = signature(**{name: tf.constant(x) for name, x in inputs.items()})
        response = predict_pb2.PredictResponse(model_spec=spec)
        response.model_spec.version.value = version
        for name, value in outputs.items():
            response.outputs[name].CopyFrom(tf.make_tensor_proto(value.numpy()))
        return response


def refusal(kind, message):
    return kind(None, None, message)


def check(specs, inputs):
    if set(inputs) != set(specs):
        message = f"Received the inputs {sorted(inputs)}, not {sorted(specs)}"
        raise refusal(tf.errors.InvalidArgumentError, message)
    for name, spec in specs.items():
        value = inputs[name]
        if not spec.shape.is_compatible_with(value.shape) or spec.dtype != value.dtype:
            message = f"{name} must be {spec}, not {value.dtype} of {value.shape}"
            raise refusal(tf.errors.InvalidArgumentError, message)


@contextlib.contextmanager
def running(directory, port=0):
    """Runs the server in a process of its own; gives it and its address."""
    command = [sys.executable, "-m", "tests.serving.prediction_server"]
    command += [str(Path(directory).resolve()), "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"{command} ended with {process.wait()}")
        yield process, f"localhost:{line.strip()}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--port", type=int, default=8500, help="0 takes a free one")
    arguments = parser.parse_args()
    parent = os.getppid()
    servicer = PredictionServer(arguments.directory)
    unlimited = [
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
    ]
    server = grpc.server(ThreadPoolExecutor(16), options=unlimited)
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        servicer, server
    )
    print(server.add_insecure_port(f"localhost:{arguments.port}"), flush=True)
    server.start()
    while os.getppid() == parent:
        time.sleep(0.2)
        servicer.load_newest()


if __name__ == "__main__":
    main()
