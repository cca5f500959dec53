"""Bad input gets one sentence with the value and the way out, exit code 3, nothing half-written."""

import subprocess

import numpy as np
import pytest
from onnx import TensorProto, helper, save

from tests.system.hold import SECONDS

FILES = ("model.onnx", "test.npz")
OK = ("--perturb", "linf:8/255", "--each", "0.1", "--report", "report.html")
FINE = (*FILES, *OK)


def nan_model(path):
    """Zero over zero for every input."""
    graph = helper.make_graph(
        [
            helper.make_node("Flatten", ["x"], ["f"]),
            helper.make_node("Sub", ["f", "f"], ["zero"]),
            helper.make_node("Div", ["zero", "zero"], ["y"]),
        ],
        "nan",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, 28, 28])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 784])],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


PREPARE = {
    "corrupt": lambda d: (d.folder / "model.onnx").write_bytes(b"\x08\x07garbage"),
    "nan outputs": lambda d: nan_model(d.folder / "model.onnx"),
    "shape": lambda d: d.save("test.npz", x=d.x[:5, :20], y=d.y[:5]),
    "bounds": lambda d: d.save("test.npz", x=d.x[:5].astype(np.float32), y=d.y[:5]),
    "damaged npz": lambda d: (d.folder / "test.npz").write_bytes(b"PK\x03\x04 not a zip"),
    "": lambda d: None,
}

CASES = [  # one of each way to a refusal; what else is refused: the unit tests of each reader
    ("", ("nothing.onnx", "test.npz", *OK), "no model file nothing.onnx: check the path"),
    ("corrupt", FINE, "model.onnx cannot be read as an ONNX model"),
    ("nan outputs", FINE, "NaN"),
    ("shape", FINE, "takes inputs of shape (1, 28, 28), but test.npz holds (20, 28)"),
    ("bounds", (*FINE, "--bounds", "0,1"), "must lie within the bounds [0, 1], got 0 to 255"),
    ("damaged npz", FINE, "test.npz cannot be read"),
    ("", (*FILES, "--perturb", "linf:8"), "level must lie within [0, 1] for these bounds, got 8"),
    ("", (*FINE, "--store", "no/such/run.db"), "no folder"),
    ("", (*FINE, "--bathc", "3"), "No such option: --bathc (do you mean --batch?)"),
    ("", (*FINE, "--target", "y"), "No such option: --target (here it is --labels): try"),
    ("", ("model.onnx",), "Missing argument 'DATA'"),
    ("", ("no.such:function", "test.npz", *OK), "names nothing that can be imported"),
]  # fmt: skip


@pytest.mark.parametrize(("prepare", "words", "says"), CASES, ids=lambda v: str(v)[:40])
def test_bad_input_is_one_sentence_and_exit_code_three(workspace, refusal, prepare, words, says):
    PREPARE[prepare](workspace)
    assert says in refusal("estimate", *words)


def run_limited(workspace, blocks, *words):
    """With a limit on file size in place of a full disk: the system refuses to write more."""
    limited = f"ulimit -f {blocks}; trap '' XFSZ; exec surefoot {' '.join(words)}"
    done = subprocess.run(
        ["bash", "-c", limited], cwd=workspace.folder, text=True, capture_output=True,
        timeout=SECONDS, check=False, env=workspace.environment(),
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    return done.stderr


def test_a_full_disk_while_measuring_is_one_sentence(workspace):
    words = ("estimate", *FILES, "--perturb", "linf:8/255", "--batch", "4", "--each", "0.05")
    assert "disk is full or cannot be written" in run_limited(workspace, 96, *words)
    assert "report.html" not in workspace.files()
    workspace.succeed(*words)


def test_a_report_that_cannot_be_written_leaves_nothing_half_written(workspace):
    strong = ("--perturb", "linf:90/255", "--each", "0.2")
    assert workspace.run("estimate", *FILES, *strong).returncode == 0
    before = workspace.files()
    said = run_limited(workspace, 34, "report", "--out", "page.html")
    assert "nothing was left half-written" in said
    assert all(name.startswith("surefoot.db") for name in workspace.files() ^ before)
