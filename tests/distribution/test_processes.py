import http.server
import importlib.util
import threading

import pytest

from keras_bert_lite.distribution import processes
from keras_bert_lite.distribution.processes import find_processes

SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_STEP_NODELIST": "node[01-04]",
    "SLURM_NTASKS": "4",
    "SLURM_PROCID": "2",
    "SLURM_LOCALID": "0",
}
NAMES = (
    *SLURM,
    *processes.KERAS.values(),
    processes.TPU_HOSTS,
    processes.TPU_SLICES,
    "KUBERNETES_SERVICE_HOST",
    "JOB_COMPLETION_INDEX",
)


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def found(*arguments):
    return find_processes(*(arguments or (None, None, None)))


def set_all(environment, values):
    for name, value in values.items():
        environment.setenv(name, value)


def test_one_alone():
    assert found() is None


def test_arguments():
    result = found("node01:1234,node02:1234", 2, 1)
    assert result.source == "the arguments"
    assert result.arguments["coordinator_address"] == "node01:1234"
    assert result.arguments["num_processes"] == 2
    assert result.arguments["process_id"] == 1


def test_variables_of_keras(environment):
    values = dict(zip(processes.KERAS.values(), ("node01:1234", "2", "0"), strict=True))
    set_all(environment, values)
    result = found()
    assert result.source == "the environment variables of Keras"
    assert result.arguments["process_id"] == 0


def test_slurm(environment):
    set_all(environment, SLURM)
    result = found()
    assert result.source == "Slurm"
    assert result.arguments == {
        "coordinator_address": "node01:61447",
        "num_processes": 4,
        "process_id": 2,
        "local_device_ids": [0],
    }
    assert found(None, 1, None) is None  # told to be alone
    environment.setenv("SLURM_NTASKS", "1")
    assert found() is None


@pytest.mark.parametrize(
    ("nodes", "first"),
    [("a1", "a1"), ("a1,b2", "a1"), ("a[07,09]", "a07"), ("a[1-4],b[1-2]", "a1")],
)
def test_first_node_of_slurm(environment, nodes, first):
    set_all(environment, {**SLURM, "SLURM_STEP_NODELIST": nodes})
    assert found().arguments["coordinator_address"].split(":")[0] == first


def test_shell_on_a_node_of_slurm(environment):
    """What `salloc` gives is no step of `srun`, so there is no other process."""
    set_all(environment, SLURM)
    environment.delenv("SLURM_STEP_NODELIST")
    assert found() is None


@pytest.mark.parametrize(
    "values",
    [
        {processes.TPU_HOSTS: "host-0,host-1"},
        {processes.TPU_HOSTS: "host-0", processes.TPU_SLICES: "2"},
    ],
)
def test_cloud_tpu(environment, values):
    set_all(environment, values)
    assert found().source == "Cloud TPU"


def test_one_host_of_cloud_tpu(environment):
    environment.setenv(processes.TPU_HOSTS, "localhost")
    assert found() is None


class Metadata(http.server.BaseHTTPRequestHandler):
    """Answers like a virtual machine of four workers."""

    def do_GET(self):
        assert self.path.endswith("/worker-network-endpoints")
        assert self.headers["Metadata-Flavor"] == "Google"
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"a:1:10.0.0.1,b:1:10.0.0.2,c:1:10.0.0.3,d:1:10.0.0.4")

    def log_message(self, *arguments):
        pass


def test_metadata_of_cloud_tpu(environment):
    environment.delenv("TPU_SKIP_MDS_QUERY", raising=False)
    environment.setattr(processes, "_has_tpu", lambda: True)
    with http.server.HTTPServer(("localhost", 0), Metadata) as server:
        environment.setenv("GCE_METADATA_IP", f"localhost:{server.server_port}")
        threading.Thread(target=server.handle_request, daemon=True).start()
        assert found().source == "Cloud TPU"
    assert found() is None  # nobody answers: one host, as in Colab


def test_kubernetes(environment):
    set_all(environment, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"})
    assert found() is None  # a pod by itself
    environment.setenv("JOB_COMPLETION_INDEX", "0")
    environment.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"jax\[k8s\]"):
        found()
    assert found(None, 1, None) is None
    environment.setattr(importlib.util, "find_spec", lambda name: object())
    assert found().source == "Kubernetes"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("node01:1", 2, None), "`process_id` must be given if the others are"),
        ((None, 2, 0), "`job_addresses` must be given if the others are"),
        (("node01:1", 2, 2), "`process_id` must be from 0 to 1. Received: 2"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        found(*arguments)
