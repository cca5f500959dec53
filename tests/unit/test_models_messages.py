"""What other packages say, read from the packages themselves: a new version may say it anew."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from surefoot.errors import OutOfMemory
from surefoot.graph.onnx_file import quiet_session
from surefoot.models.python import says_read_only
from surefoot.models.scores import model_errors

torch = pytest.importorskip("torch")

TOO_MANY = 10**14
"""Numbers that no machine has room for, so that nothing is taken before they are refused."""


def fill_numpy(path):
    np.empty(TOO_MANY, dtype=np.float32)


def fill_torch(path):
    torch.empty(TOO_MANY)


def fill_onnx_runtime(path):
    shape = helper.make_tensor("shape", TensorProto.INT64, [2], [1, TOO_MANY])
    graph = helper.make_graph(
        [helper.make_node("Expand", ["x", "shape"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [shape],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path / "model.onnx")
    quiet_session(path / "model.onnx").run(None, {"x": np.zeros((1, 1), np.float32)})


@pytest.mark.parametrize("fill", [fill_numpy, fill_torch, fill_onnx_runtime])
def test_memory_that_a_package_does_not_get_is_out_of_memory(fill, tmp_path):
    with pytest.raises(OutOfMemory), model_errors():
        fill(tmp_path)


def write_with_numpy(x):
    x += 1


def write_through_a_buffer(x):
    memoryview(x)[0] = 1.0


@pytest.mark.parametrize("write", [write_with_numpy, write_through_a_buffer])
def test_a_write_into_a_locked_array_is_recognised(write):
    x = np.zeros(3)
    x.flags.writeable = False
    with pytest.raises((ValueError, TypeError)) as caught:
        write(x)
    assert says_read_only(str(caught.value))


def test_the_warning_of_torch_about_a_locked_array_is_recognised():
    x = np.zeros(3)
    x.flags.writeable = False
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning) as caught:
            torch.from_numpy(x)
    finally:
        torch.set_warn_always(False)
    assert says_read_only(str(caught[0].message))
