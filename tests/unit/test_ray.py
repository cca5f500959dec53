"""Ray on a cluster of two nodes: the record of one worker, whatever is killed on the way."""

import os
import shutil
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import surefoot as sf
from surefoot.cli.main import app
from surefoot.errors import InvalidArgument, MissingPackage, WorkerFailed
from surefoot.executors import dispatch, ray_connection
from tests.refusals import raised
from tests.unit.small_models import batch, relu_net
from tests.unit.test_executors import NOISE, masked
from tests.worlds import SHAPE, linear, study

Ray = sf.executors.Ray
SMALL = {"num_cpus": 1, "object_store_memory": 80 * 2**20, "include_log_monitor": False}
SECONDS = 60
"""For a process to start or to end, on a busy machine."""

MODEL = """
import os, signal, time
from pathlib import Path
import numpy as np

DRIVER, FOLDER, NODE = {driver}, Path({folder!r}), {node!r}

def scores(x):
    if os.getpid() != DRIVER and len(x) == 16:
        trouble()
    total = x.astype(np.float64).sum(axis=1)
    return np.stack([total, -total], axis=1)

def trouble():
    if NODE:
        import ray
        if ray.get_runtime_context().get_node_id() == NODE:
            (FOLDER / "reached").touch()
            time.sleep(1000)
        while not (FOLDER / "reached").exists() and is_alive(ray):
            time.sleep(0.02)
    elif is_first("killed"):
        os.kill(os.getpid(), signal.SIGKILL)
    elif is_first("slow"):
        time.sleep(1000)

def is_alive(ray):
    return any(node["NodeID"] == NODE and node["Alive"] for node in ray.nodes())

def is_first(name):
    try:
        (FOLDER / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
"""


@pytest.fixture(scope="module")
def two_nodes():
    """A cluster in a folder with a short name: paths of sockets have at most 107 bytes."""
    from ray.cluster_utils import Cluster

    folder = tempfile.mkdtemp(prefix="sf", dir="/tmp")
    (Path(folder) / "ray").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_TMPDIR", folder)  # where Ray notes the address of the last cluster
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.delenv("RAY_ADDRESS", raising=False)
        head = {**SMALL, "include_dashboard": False, "temp_dir": folder}
        cluster = Cluster(initialize_head=True, head_node_args=head, shutdown_at_exit=True)
        cluster.add_node(**SMALL)
        yield cluster
        cluster.shutdown()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def cluster(two_nodes, monkeypatch):
    """The same, also where a test has taken a node away, or others keep it from answering."""
    for name in ("SECONDS_TO_REACH", "SECONDS_TO_CONNECT"):
        monkeypatch.setattr(ray_connection, name, 2 * SECONDS)
    if not two_nodes.worker_nodes:
        two_nodes.add_node(**SMALL)
    return two_nodes


def troubled(folder, node=""):
    """A study of a model in a file that makes trouble in workers, with batches of 16."""
    text = MODEL.format(driver=os.getpid(), folder=str(folder), node=node)
    file = folder / f"trouble_{'with' if node else 'without'}_a_node.py"
    file.write_text(text)
    return study(model=sf.load_model(f"{file}:scores", shape=SHAPE))


@pytest.mark.slow
def test_proofs_from_the_command_line_are_those_of_one_worker(cluster, cwd):
    relu_net(cwd / "model.onnx", (1, 4, 4))
    np.savez("test.npz", x=batch(4, (1, 4, 4)))
    words = ["critical", "model.onnx", "test.npz", "--bounds", "0,1", "--nodes-per-input", "20",
             "--samples", "5", "--quantile", "0.6", "--workers", "1", "--json",
             "--store"]  # fmt: skip
    plain = CliRunner().invoke(app, [*words, "plain.db"])
    on_ray = ["--executor", "ray", "--ray-address", cluster.address]
    printed = CliRunner().invoke(app, [*words, "ray.db", *on_ray])
    assert printed.exit_code == plain.exit_code, printed.output
    assert printed.stderr.startswith("1 worker of Ray on 2 nodes, as requested\n"), printed.stderr
    assert sf.read_result("ray.db").claims == sf.read_result("plain.db").claims


@pytest.mark.slow
def test_a_killed_worker_and_one_that_hangs_do_not_change_the_record(
    cluster, tmp_path, monkeypatch
):
    monkeypatch.setattr(dispatch, "SLOW_SECONDS", 0.5)
    setup, notes = troubled(tmp_path), []
    result = setup.run(executor=Ray(cluster.address), batch=16, on_workers=notes.append)
    assert str(notes[0]) == "2 workers of Ray on 2 nodes, as many as fit"
    assert notes[1].fallback and "a new one took over" in str(notes[1])
    assert {"killed", "slow"} <= {path.name for path in tmp_path.iterdir()}
    assert masked(result) == masked(setup.run(batch=16))


@pytest.mark.slow
def test_a_connection_of_the_caller_is_used_and_left_open(cluster, monkeypatch):
    import ray

    ray.init(address=cluster.address, log_to_driver=False, logging_level="CRITICAL")
    try:
        with pytest.raises(InvalidArgument, match=r"connected to .* not to 10\.0\.0\.5:6379"):
            study().run(executor=Ray("10.0.0.5:6379"))
        reserved = ray.util.placement_group([{"CPU": 1}] * 2)
        assert reserved.wait(SECONDS)
        until = time.monotonic() + SECONDS
        while ray.available_resources().get("CPU") and time.monotonic() < until:
            time.sleep(0.02)  # it is told of the reservation a little later
        monkeypatch.setattr(dispatch, "SECONDS_TO_PLACE", 0.5)
        with pytest.raises(WorkerFailed, match=r"each needs 1 CPU, and 0 CPU and 0 GPU .* free"):
            study().run(executor="ray")
        assert ray.is_initialized()
    finally:
        ray.shutdown()


@pytest.mark.slow
def test_what_a_cluster_cannot_do_is_refused_with_the_way_out(cluster):
    def refused(options, says, setup=None, **more):
        with pytest.raises(InvalidArgument, match=says):
            (setup or study()).run(executor=options, **more)

    refused(Ray(cluster.address, workers=3), r"3 workers do not fit .* \(--workers 2\)")
    refused(Ray(cluster.address, gpus=1), r"no machine .* has 1 CPU and 1 GPU .* 0 GPU in all\)")
    refused(Ray(cluster.address, workers=2), r"workers is 1 for the run and 2 in Ray", workers=1)
    closure = study(model=sf.load_model(lambda x: linear(x) + 0, shape=SHAPE))
    refused(Ray(cluster.address), r"mine\.py, and import them", closure)


def test_a_cluster_of_another_version_is_named():
    refusal = ray_connection._refusal("head:6379", RuntimeError("Version mismatch: 2.0.0"))
    assert "another version of Ray or Python (Version mismatch: 2.0.0)" in str(refusal)


@pytest.mark.slow
def test_a_node_that_goes_away_does_not_change_the_record(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(dispatch, "SLOW_SECONDS", SECONDS)  # the node is lost, not slow
    (node,) = cluster.worker_nodes

    def remove():
        until = time.monotonic() + SECONDS
        while not (tmp_path / "reached").exists() and time.monotonic() < until:
            time.sleep(0.02)
        cluster.remove_node(node, allow_graceful=False)

    setup = troubled(tmp_path, node.node_id)
    remover = threading.Thread(target=remove)
    remover.start()
    notes = []
    result = setup.run(executor=Ray(cluster.address), workers=2, batch=16, on_workers=notes.append)
    remover.join()
    first, *others = (note.fallback for note in notes)
    assert not first
    assert others  # one for each worker that was lost: of a busy machine's node also the next
    assert all(others)
    assert masked(result) == masked(setup.run(batch=16))


@pytest.mark.slow
def test_a_cluster_that_cannot_be_reached_is_refused_within_seconds(monkeypatch):
    monkeypatch.setattr(ray_connection, "SECONDS_TO_REACH", 0.2)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(InvalidArgument, match=rf"reached at {address} \(.*\): check address"):
            study().run(executor=Ray(address))
    with pytest.raises(InvalidArgument, match=r"reached at no\.such\.host\.invalid:6379"):
        study().run(executor=Ray("no.such.host.invalid:6379"))
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(InvalidArgument, match=f"reached at {address}"):
        study().run(executor="ray")


def test_ray_that_is_not_installed_is_named_with_its_extra(monkeypatch):
    monkeypatch.setattr(ray_connection, "find_spec", lambda _: None)
    for executor in ("ray", Ray()):
        raised(MissingPackage, r"pip install 'surefoot\[ray\]'", study().run, executor=executor)


@pytest.mark.parametrize(
    "fields",
    [{"address": ""}, {"address": "head"}, {"address": "ray://head:10001"}, {"address": 6379},
     {"address": "http://head:8265"}, {"workers": 0}, {"workers": True}, {"gpus": -1},
     {"gpus": 1.5}, {"gpus": float("nan")}],
)  # fmt: skip
def test_options_of_ray_that_mean_nothing_are_refused(fields):
    with pytest.raises(InvalidArgument, match=rf"{next(iter(fields))}.* (must be|Ray Client)"):
        Ray(**fields)


@pytest.mark.parametrize("executor", [None, "threads", Ray()])
def test_an_address_of_ray_without_ray_is_refused(executor):
    with pytest.raises(InvalidArgument, match=r"ray_address .* add executor ray"):
        sf.estimate(linear, np.zeros((2, 6)), NOISE, executor=executor, ray_address="head:6379")


def test_ray_is_not_imported_before_it_is_used():
    import subprocess

    code = "import surefoot as sf, sys; sf.executors.Ray(workers=2); sys.exit('ray' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
