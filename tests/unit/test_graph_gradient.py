"""Gradients of ONNX graphs: every operator against differences, a whole network against PyTorch."""

import warnings

import numpy as np
import pytest
from onnx import TensorProto, helper

import surefoot as sf
from surefoot.errors import InvalidArgument
from surefoot.graph.gradient import read_gradient_graph
from surefoot.graph.operator_gradients import MULTI_INPUT, SINGLE_INPUT
from tests.refusals import refused
from tests.unit.small_models import save_graph
from tests.unit.test_graph_operators import CASES as OPERATOR_CASES
from tests.unit.test_graph_operators import FLAT, opset_of

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(11)


def noise(*shape):
    return RNG.normal(size=shape).astype(np.float32)


@pytest.fixture(autouse=True)
def the_same_noise_in_any_order():
    RNG.bit_generator.state = np.random.default_rng(7).bit_generator.state


def apart(*shape):
    """Different values, none near another."""
    size = int(np.prod(shape))
    return (RNG.permutation(size) / size * 8 - 4).reshape(shape).astype(np.float32)


def positive(x):
    return 0.5 + x**2


CASES = {}
"""Of each operator with a slope, the first case of the operators' own test."""
for _case in (*OPERATOR_CASES, ("Cast", FLAT, (), {"to": TensorProto.FLOAT})):
    if _case[0] in SINGLE_INPUT.keys() | MULTI_INPUT.keys():
        CASES.setdefault(_case[0], _case)
ROOTS, GREATEST = {"Log", "Sqrt", "Reciprocal"}, {"MaxPool", "GlobalMaxPool"}


def tape_of(path, nodes, shape, constants):
    place = ("x", TensorProto.FLOAT, ["n", *shape])
    graph = save_graph(path, nodes, [place], [("y", TensorProto.FLOAT)], constants)
    return read_gradient_graph(graph, "y")


def sum_and_gradient(graph, x, weights):
    values = graph.forward(x)
    return float((values[graph.scores_name] * weights).sum()), graph.backward(values, weights)


def agrees(graph, x):
    """The gradient along some directions is what moving along them shows."""
    weights = noise(*graph.forward(x)[graph.scores_name].shape)
    _, gradient = sum_and_gradient(graph, x, weights)
    for _ in range(4):
        way, step = noise(*x.shape), 2e-3
        ahead, behind = (sum_and_gradient(graph, x + s * step * way, weights)[0] for s in (1, -1))
        difference = (ahead - behind) / (2 * step)
        assert float((gradient * way).sum()) == pytest.approx(difference, rel=0.02, abs=0.03)


def test_every_operator_has_a_case():
    assert CASES.keys() == SINGLE_INPUT.keys() | MULTI_INPUT.keys()


@pytest.mark.parametrize("kind", sorted(CASES))
def test_an_operators_slope_is_what_small_steps_show(kind, tmp_path):
    _, shape, constants, attributes, *_ = CASES[kind]
    named = {f"c{i}": np.asarray(c) for i, c in enumerate(constants)}
    outputs = ["y", "rest"] if kind == "Split" else ["y"]
    inner = helper.make_node(kind, ["h", *named], outputs, **attributes)
    first = helper.make_node("Add", ["x", "shift"], ["h"])
    graph = saved_graph(
        tmp_path, kind, [first, inner], shape, {"shift": noise(*shape) * 0.1, **named}
    )
    agrees(graph, _clear(kind, (3, *shape)))


def _clear(kind, shape):
    """Values away from where slopes jump, or where there is none."""
    x = noise(*shape)
    if kind in ROOTS:
        return positive(x)
    return apart(*shape) if kind in GREATEST else np.where(abs(x) < 0.3, np.sign(x) * 0.35, x)


def saved_graph(folder, kind, nodes, shape, constants):
    """A last node keeps the operator from being taken for the end of a classifier."""
    if kind in {"Softmax", "LogSoftmax", "Sigmoid", "Relu", "Identity"}:
        nodes[-1].output[0] = "z"
        nodes = [*nodes, helper.make_node("Mul", ["z", "two"], ["y"])]
        constants = {**constants, "two": np.float32(2.0).reshape(1)}
    place = ("x", TensorProto.FLOAT, ["n", *shape])
    path = save_graph(folder / "m.onnx", nodes, [place], [("y", TensorProto.FLOAT)], constants)
    return read_gradient_graph(_at_opset(path, opset_of(CASES[kind])), "y")


def _at_opset(path, opset):
    import onnx

    model = onnx.load(str(path))
    model.opset_import[0].version = opset
    onnx.save(model, str(path))
    return path


def test_two_branches_of_the_input_add_up_and_broadcasting_is_undone(tmp_path):
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[1], keepdims=1),
        helper.make_node("Sub", ["x", "mean"], ["centred"]),
        helper.make_node("Mul", ["centred", "centred"], ["square"]),
        helper.make_node("Div", ["square", "mean"], ["part"]),
        helper.make_node("Transpose", ["part"], ["turned"], perm=[1, 0]),
        helper.make_node("MatMul", ["part", "turned"], ["y"]),
    ]
    agrees(tape_of(tmp_path / "b.onnx", nodes, (4,), {}), positive(noise(3, 4)))


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_padding_by_name_is_followed(mode, tmp_path):
    shape, weights = (2, 6, 7), {"w": noise(3, 2, 4, 3)}
    how = {"auto_pad": mode, "strides": [2, 2]}
    for node in (
        helper.make_node("Conv", ["x", "w"], ["y"], **how),
        helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[3, 2], **how),
        helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 2], **how),
    ):
        agrees(tape_of(tmp_path / "p.onnx", [node], shape, weights), apart(2, *shape))


def test_what_has_no_slope_is_named(tmp_path):
    nodes = [helper.make_node("Sin", ["x"], ["h"]), helper.make_node("Neg", ["h"], ["y"])]
    refused("the operator Sin is not known", tape_of, tmp_path / "s.onnx", nodes, (4,), {})
    nodes = [helper.make_node("Pow", ["c", "x"], ["y"])]
    with pytest.raises(InvalidArgument, match="Pow is not known for a second input"):
        tape_of(tmp_path / "q.onnx", nodes, (4,), {"c": np.float32(2.0).reshape(1)})


def test_what_only_squeezes_or_names_the_scores_is_left_out(tmp_path):
    nodes = [
        helper.make_node("Gemm", ["x", "w"], ["z"]),
        helper.make_node("Softmax", ["z"], ["p"]),
        helper.make_node("Identity", ["p"], ["q"]),
        helper.make_node("ZipMap", ["q"], ["y"], domain="ai.onnx.ml", classlabels_int64s=[0, 1]),
    ]
    weights = noise(4, 2)
    place = ("x", TensorProto.FLOAT, ["n", 4])
    path = save_graph(tmp_path / "z.onnx", nodes, [place], [], {"w": weights})
    graph = read_gradient_graph(path, "y")
    assert (graph.scores_name, graph.gives_logits) == ("z", True)
    x = noise(3, 4)
    sides = np.array([[1, -1], [-1, 1], [1, -1]], np.float32)
    scores, slope = graph.logits_and_gradient(x, lambda scores: sides, logits=True)
    lead = weights[:, 0] - weights[:, 1]
    assert np.allclose((scores * sides).sum(axis=1), x @ lead * [1, -1, 1], atol=1e-5)
    assert np.allclose(slope, lead * np.array([[1], [-1], [1]]), atol=1e-6)


class Residual(torch.nn.Module):
    """Convolutions, pools, a norm, an attention and a skip: most of what networks are made of."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(8)
        self.second = torch.nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.layer, self.last = torch.nn.LayerNorm(8), torch.nn.Linear(8, 5)
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        h = torch.relu(self.norm(self.first(x)))
        h = torch.nn.functional.max_pool2d(h + torch.tanh(self.second(h)), 3, 2, 1)
        h = torch.nn.functional.gelu(torch.nn.functional.avg_pool2d(h, 2))
        h = self.layer(torch.cat([h[:, 4:], h[:, :4]], 1).mean((2, 3)))
        paid = torch.softmax(h[:, None, :] * h[:, :, None], -1)
        return self.last((h + (paid @ h[:, :, None])[:, :, 0]).clamp(-2, 3))


def test_a_network_has_the_gradients_that_pytorch_finds(tmp_path):
    torch.manual_seed(4)
    module, x = Residual().eval(), torch.rand(6, 3, 17, 19)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, (x,), str(tmp_path / "r.onnx"), input_names=["x"], opset_version=17,
            dynamic_axes={"x": {0: "n"}}, dynamo=False,
        )  # fmt: skip
    options = {"bounds": (0, 1), "mean": (0.1, 0.2, 0.3), "std": (0.5, 0.6, 0.7)}
    graph = sf.load_model(tmp_path / "r.onnx", **options)
    net = sf.load_model(module, shape=(3, 17, 19), **options)
    sides = torch.randn(6, 5)
    mine = graph.logits_and_gradient(x.numpy(), lambda logits, rows: sides.numpy()[rows])
    theirs = net.logits_and_gradient(x, lambda logits, rows: sides[rows])
    assert np.abs(theirs[1].numpy()).max() > 0.01
    for ours, known in zip(mine, theirs, strict=True):
        assert np.abs(ours - known.numpy()).max() < 1e-5
