"""Small classifiers for tests, in every form we read, and the same sums done by hand."""

import functools
import hashlib
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from sklearn.linear_model import LogisticRegression

from tests.onnx_models import onnx_model

IMAGE = (1, 4, 4)


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.marker,)


def weights(shape: tuple[int, ...], classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    matrix = rng.normal(0, 0.3, (int(np.prod(shape)), classes)).astype(np.float32)
    return matrix, rng.normal(0, 0.3, classes).astype(np.float32)


def by_hand(x: np.ndarray, classes: int = 3, seed: int = 0) -> np.ndarray:
    matrix, bias = weights(x.shape[1:], classes, seed)
    return x.reshape(len(x), -1).astype(np.float32) @ matrix + bias


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def batch(n: int, shape: tuple[int, ...] = IMAGE, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 1, (n, *shape)).astype(np.float32)


def margin_and_gradient(model: Any, x: Any, labels: Any, rivals: Any) -> tuple[Any, Any]:
    """How far each row's label leads its rival, in logits, and the gradient of it in x."""

    def sides(scores: Any, rows: Any) -> Any:
        weights, each = 0 * scores, list(range(len(rows)))
        weights[each, labels[rows]], weights[each, rivals[rows]] = 1.0, -1.0
        return weights

    logits, gradient = model.logits_and_gradient(x, sides)
    each = list(range(len(x)))
    return logits[each, labels] - logits[each, rivals], gradient


def save_graph(
    path: Path,
    nodes: list[Any],
    inputs: list[tuple[str, int, list[Any]]],
    outputs: list[tuple[str, int]],
    constants: dict[str, np.ndarray],
) -> Path:
    taken = [(name, shape, kind) for name, kind, shape in inputs]
    given = [(name, None, kind) for name, kind in outputs]
    onnx.save(onnx_model(nodes, taken, given, constants), path)
    return path


def linear_net(
    path: Path,
    *,
    rows: int | str = "n",
    shape: tuple[int, ...] = IMAGE,
    classes: int = 3,
    kind: int = TensorProto.FLOAT,
    tail: str = "",
    seed: int = 0,
) -> Path:
    """Flatten, multiply, add; `tail` is Softmax, Sigmoid or nothing."""
    matrix, bias = weights(shape, classes, seed)
    last = "z" if tail else "scores"
    nodes = [
        helper.make_node("Cast", ["x"], ["float"], to=TensorProto.FLOAT),
        helper.make_node("Flatten", ["float"], ["flat"], axis=1),
        helper.make_node("Gemm", ["flat", "matrix", "bias"], [last]),
    ]
    if tail:
        nodes.append(helper.make_node(tail, ["z"], ["scores"]))
    return save_graph(
        path,
        nodes,
        [("x", kind, [rows, *shape])],
        [("scores", TensorProto.FLOAT)],
        {"matrix": matrix, "bias": bias},
    )


def relu_net(path: Path, shape: tuple[int, ...] = (1, 6, 6), seed: int = 3) -> Path:
    """Flatten, five neurons with ReLU, four classes: a network that proofs can read."""
    rng, size = np.random.default_rng(seed), int(np.prod(shape))
    return save_graph(
        path,
        [
            helper.make_node("Flatten", ["x"], ["flat"], axis=1),
            helper.make_node("Gemm", ["flat", "w", "b"], ["sums"]),
            helper.make_node("Relu", ["sums"], ["hidden"]),
            helper.make_node("Gemm", ["hidden", "v", "c"], ["scores"]),
        ],
        [("x", TensorProto.FLOAT, ["n", *shape])],
        [("scores", TensorProto.FLOAT)],
        {
            "w": rng.normal(0, 0.3, (size, 5)).astype(np.float32),
            "b": rng.normal(0, 0.3, 5).astype(np.float32),
            "v": rng.normal(0, 1, (5, 4)).astype(np.float32),
            "c": rng.normal(0, 0.3, 4).astype(np.float32),
        },
    )


def pooled_net(path: Path) -> Path:
    """Any height and width; scores of shape (n, 3, 1, 1)."""
    matrix, bias = weights((2,), 3)
    nodes = [
        helper.make_node("GlobalAveragePool", ["x"], ["mean"]),
        helper.make_node("Conv", ["mean", "kernel", "bias"], ["scores"]),
    ]
    return save_graph(
        path,
        nodes,
        [("x", TensorProto.FLOAT, ["n", 2, "h", "w"])],
        [("scores", TensorProto.FLOAT)],
        {"kernel": matrix.T[:, :, None, None].copy(), "bias": bias},
    )


def module(seed: int = 0, shape: tuple[int, ...] = IMAGE) -> Any:
    """The linear net in PyTorch, with a dropout that must not act."""
    torch = pytest.importorskip("torch")
    matrix, bias = weights(shape, 3, seed)
    layer = torch.nn.Linear(*matrix.shape)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(matrix.T.copy()))
        layer.bias.copy_(torch.from_numpy(bias))
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Dropout(0.5), layer).eval()


@functools.cache
def exported() -> bytes:
    """What `torch.export.save` writes of the module; one process of many exports, in seconds."""
    torch = pytest.importorskip("torch")
    folder = Path(tempfile.gettempdir()) / f"surefoot-tests-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    made_by = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    path = folder / f"{torch.__version__}-{made_by}.pt2"
    if not path.exists():
        own = path.with_suffix(f".{os.getpid()}")
        free = ({0: torch.export.Dim("rows", min=1, max=4096)},)
        with warnings.catch_warnings(), own.open("wb") as file:
            warnings.simplefilter("ignore")
            program = torch.export.export(module(), (torch.zeros(2, *IMAGE),), dynamic_shapes=free)
            torch.export.save(program, file)
        own.replace(path)
    return path.read_bytes()


def scripted(path: Path, network: Any = None) -> Path:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces the end of TorchScript
        torch.jit.script(network or module()).save(str(path))
    return path


def estimator(seed: int = 0, classes: int = 3) -> LogisticRegression:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 4)).astype(np.float32)
    return LogisticRegression().fit(x, np.arange(60) % classes)
