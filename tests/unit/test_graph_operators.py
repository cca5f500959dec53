"""Every operator of the graph against onnxruntime, by NumPy and by PyTorch, in two precisions."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from surefoot.graph.evaluate import evaluate, program, torch_graph
from surefoot.graph.graph import read_graph
from surefoot.graph.onnx_file import quiet_session
from surefoot.graph.operators import OPERATORS
from tests.refusals import refused

PLANE, FLAT = (2, 5, 6), (6,)
RNG = np.random.default_rng(5)


def noise(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def whole(*values):
    return np.array(values, np.int64)


def positive(*shape):
    return 0.5 + noise(*shape) ** 2


NONE = np.zeros(0, np.float32)
POOL = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}
EVEN = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
UP = np.array([1, 1, 2, 1.5], np.float32)
# operator, shape of one input, constants, attributes, and where it matters the opset
CASES = [
    *((op, FLAT, (), {}) for op in ("Abs", "Cos", "Exp", "Erf", "Floor", "Ceil", "Round", "Sign")),
    *((op, FLAT, (), {}) for op in ("HardSwish", "Neg", "Relu", "Selu", "Sigmoid", "Sin")),
    *((op, FLAT, (), {}) for op in ("Softplus", "Softsign", "Tanh", "Gelu")),
    *((op, FLAT, (), {}, "positive") for op in ("Log", "Sqrt", "Reciprocal")),
    *((op, FLAT, (noise(6),), {}) for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Mean")),
    *((f"Reduce{op}", PLANE, (), {"axes": [2, 3]}, 13) for op in ("Mean", "Max", "Min", "Prod")),
    *((f"Reduce{op}", PLANE, (), {"axes": [-1], "keepdims": 0}, 13) for op in ("L1", "L2")),
    ("ReduceMean", PLANE, (whole(2),), {"keepdims": 0}, 18),
    ("ReduceSumSquare", PLANE, (), {"axes": [1]}, 13),
    ("ReduceSum", PLANE, (whole(-1, 1),), {}),
    ("AveragePool", PLANE, (), POOL),
    ("AveragePool", PLANE, (), EVEN),
    ("AveragePool", PLANE, (), {**EVEN, "count_include_pad": 1}),
    ("AveragePool", PLANE, (), {**POOL, "ceil_mode": 1, "count_include_pad": 1}, 19),
    ("BatchNormalization", PLANE, (noise(2), noise(2), noise(2), positive(2)), {}),
    ("Celu", FLAT, (), {"alpha": 0.7}),
    ("Clip", FLAT, (np.float32(-0.4), np.float32(0.7)), {}),
    ("Clip", FLAT, (), {"min": -0.1}, 6),
    ("Concat", FLAT, (noise(3, 4),), {"axis": 1}),
    ("Conv", PLANE, (noise(4, 1, 3, 2), noise(4)),
     {"group": 2, "strides": [2, 1], "pads": [1, 0, 0, 1], "dilations": [1, 2]}),
    ("Conv", PLANE, (noise(4, 2, 3, 3),), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    ("Conv", (2, 7), (noise(4, 2, 3),), {"pads": [1, 1]}),
    ("ConvTranspose", PLANE, (noise(2, 3, 3, 2), noise(3)), {"strides": [2, 2]}),
    ("ConvTranspose", PLANE, (noise(2, 1, 3, 3), noise(2)),
     {"group": 2, "strides": [2, 2], "pads": [1, 0, 1, 1], "output_padding": [1, 1],
      "dilations": [1, 2]}),
    ("ConvTranspose", PLANE, (noise(2, 3, 3, 3),), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
    ("ConvTranspose", PLANE, (noise(2, 3, 3, 3),), {"strides": [2, 2], "output_shape": [10, 12]}),
    ("DepthToSpace", (8, 2, 2), (), {"blocksize": 2}),
    ("DepthToSpace", (8, 2, 2), (), {"blocksize": 2, "mode": "CRD"}),
    ("Einsum", PLANE, (noise(6, 3),), {"equation": "nchw,wd->nchd"}),
    ("Elu", FLAT, (), {"alpha": 0.7}),
    ("Expand", (1, 6), (whole(3, 4, 6),), {}),
    ("Flatten", PLANE, (), {"axis": 2}),
    ("Gather", PLANE, (whole(1, 0, -1),), {"axis": 2}),
    ("Gather", PLANE, (np.array(-2),), {"axis": 3}),
    ("Gelu", FLAT, (), {"approximate": "tanh"}),
    ("Gemm", FLAT, (noise(4, 6), noise(4)), {"transB": 1, "alpha": 0.5, "beta": 2.0}),
    ("Gemm", FLAT, (noise(6, 4), noise(4)), {}),
    ("GlobalAveragePool", PLANE, (), {}),
    ("GlobalMaxPool", PLANE, (), {}),
    ("HardSigmoid", FLAT, (), {"alpha": 0.3}),
    ("InstanceNormalization", PLANE, (noise(2), noise(2)), {}),
    ("LayerNormalization", PLANE, (noise(5, 6), noise(5, 6)), {"axis": 2}),
    ("LayerNormalization", PLANE, (noise(6),), {}),
    ("LeakyRelu", FLAT, (), {"alpha": 0.2}),
    ("LogSoftmax", PLANE, (), {}),
    ("MatMul", PLANE, (noise(6, 3),), {}),
    ("MaxPool", PLANE, (), {**POOL, "ceil_mode": 1}),
    ("MaxPool", PLANE, (), {**EVEN, "dilations": [1, 2]}),
    ("MaxPool", PLANE, (), {"kernel_shape": [3, 2], "auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    ("PRelu", PLANE, (noise(2, 1, 1),), {}),
    ("Pad", PLANE, (whole(0, 0, 1, 2, 0, 1, 0, 1), np.float32(0.3)), {}),
    ("Pad", PLANE, (whole(0, 0, 1, 2, 0, 0, 0, -1),), {"mode": "reflect"}),
    ("Pad", PLANE, (whole(1, -1, 1, 0), np.float32(0), whole(2, 3)), {"mode": "edge"}, 18),
    ("Pow", FLAT, (np.float32(3.0),), {}),
    ("Reshape", PLANE, (whole(0, -1, 3),), {}),
    ("Resize", PLANE, (NONE, UP), {"mode": "nearest"}),
    ("Resize", PLANE, (NONE, UP),
     {"nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}),
    ("Resize", PLANE, (NONE, UP), {"mode": "linear"}),
    ("Resize", PLANE, (NONE, UP),
     {"mode": "linear", "coordinate_transformation_mode": "align_corners"}),
    ("Resize", PLANE, (NONE, UP), {"mode": "cubic"}),
    ("Resize", PLANE, (NONE, UP),
     {"mode": "cubic", "cubic_coeff_a": -0.5, "exclude_outside": 1,
      "coordinate_transformation_mode": "asymmetric"}),
    ("Slice", PLANE, (whole(1, 4), whole(5, -9), whole(2, 3), whole(2, -1)), {}),
    ("Softmax", PLANE, (), {"axis": 2}),
    ("Softmax", PLANE, (), {"axis": 1}, 11),
    ("SpaceToDepth", (2, 4, 6), (), {"blocksize": 2}),
    ("Split", FLAT, (whole(2, 4),), {"axis": 1}),
    ("Squeeze", (1, 6), (whole(1),), {}),
    ("Sum", FLAT, (noise(6), noise(1, 6)), {}),
    ("Tile", FLAT, (whole(1, 3),), {}),
    ("Transpose", PLANE, (), {"perm": [0, 2, 3, 1]}),
    ("Unsqueeze", FLAT, (whole(1),), {}),
    ("Upsample", PLANE, (UP,), {}, 9),
]  # fmt: skip
ELSEWHERE = {
    "And", "ArgMax", "Cast", "ConstantOfShape", "DequantizeLinear", "Equal", "Greater",
    "GreaterOrEqual", "Less", "LessOrEqual", "Not", "Or", "QuantizeLinear", "Range", "Shape",
    "Size", "Where",
}  # fmt: skip
"""Operators whose inputs or outputs are no floats: in the graphs below."""


def model(nodes, constants, shape, opset=17, outputs=("y",), rows="n"):
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, *shape])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    return onnx.load_from_string(made.SerializeToString())


def agrees(proto, x, output="y", most=2e-5):
    """The graph gives what onnxruntime gives, in each namespace and precision."""
    graph = read_graph(proto)
    (known,) = quiet_session(proto.SerializeToString()).run([output], {"x": x})
    results = [evaluate(graph, x, output), evaluate(graph, x.astype(np.float64), output)]
    torch = pytest.importorskip("torch")
    module = torch_graph(graph, output)
    with torch.no_grad():
        results += [module(torch.from_numpy(x)).numpy()]
        results += [module.double()(torch.from_numpy(x).double()).numpy()]
    for ours in results:
        assert ours.shape == known.shape
        assert np.abs(ours - known).max() <= most * max(1, np.abs(known).max())
    if np.issubdtype(known.dtype, np.floating):
        assert [r.dtype for r in results] == [np.float32, np.float64] * 2


def test_every_operator_has_a_case():
    assert {case[0] for case in CASES} | ELSEWHERE == OPERATORS.keys()


def opset_of(case):
    return next((r for r in case[4:] if isinstance(r, int)), 20 if case[0] == "Gelu" else 17)


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)])
def test_an_operator_gives_what_onnxruntime_gives(case):
    op, shape, constants, attributes, *rest = case
    named = {f"c{i}": np.asarray(c) for i, c in enumerate(constants)}
    outputs = ["y", "rest"] if op == "Split" else ["y"]
    node = helper.make_node(op, ["x", *named], outputs, **attributes)
    x = np.random.default_rng(3).normal(size=(3, *shape)).astype(np.float32)
    agrees(
        model([node], named, shape, opset_of(case)), np.abs(x) + 0.1 if "positive" in rest else x
    )


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def test_shapes_conditions_and_casts_are_followed():
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "n"),
        node("Concat", "n rest", "to", axis=0),
        node("ConstantOfShape", "to", "full", value=numpy_helper.from_array(np.float32([0.5]))),
        node("Greater", "x low", "above"),
        node("LessOrEqual", "x high", "below"),
        node("And", "above below", "inside"),
        node("Less", "x low", "under"),
        node("GreaterOrEqual", "x high", "over"),
        node("Or", "under over", "outside"),
        node("Not", "outside", "kept"),
        node("Equal", "inside kept", "same"),
        node("Cast", "same", "ones", to=TensorProto.FLOAT),
        node("Where", "inside x full", "chosen"),
        node("Size", "s", "rank"),
        node("Range", "start rank step", "axis"),
        node("Cast", "axis", "axis_float", to=TensorProto.FLOAT),
        node("Add", "chosen axis_float", "more"),
        node("Mul", "more ones", "y"),
        node("ArgMax", "y", "best", axis=1, keepdims=0),
    ]
    constants = {
        "zero": whole(0), "rest": whole(2), "low": np.float32(-0.5), "high": np.float32(0.8),
        "start": np.array(0), "step": np.array(1),
    }  # fmt: skip
    proto = model(nodes, constants, (2,))
    agrees(proto, noise(5, 2))
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("best", TensorProto.INT64, None))
    agrees(proto, noise(5, 2), "best")


def test_copies_and_what_is_constant_are_gone():
    nodes = [
        node("Identity", "x", "same"),
        node("Dropout", "same", "kept mask"),
        node("Add", "a b", "c"),
        node("Transpose", "c", "t", perm=[1, 0]),
        node("MatMul", "kept t", "z"),
        node("Identity", "z", "y"),
    ]
    graph = read_graph(model(nodes, {"a": noise(3, 6), "b": noise(3, 1)}, FLAT))
    assert [n.op for n in graph.nodes] == ["MatMul"]
    assert graph.outputs == {"y": "z"}
    assert graph.constants["t"].shape == (6, 3)
    assert (graph.shape, graph.batch, graph.opset) == ((None, 6), None, 17)


def test_an_operator_that_is_not_known_is_named_with_the_way_out():
    graph = read_graph(model([node("Hardmax", "x", "y")], {}, FLAT))
    message = refused("Hardmax", program, graph, "y")
    assert "export the model with other operators" in message
    crop = "tf_crop_and_resize"
    resize = [node("Resize", "x none up", "y", coordinate_transformation_mode=crop)]
    graph = read_graph(model(resize, {"none": NONE, "up": UP}, PLANE))
    refused(rf"Resize .* {crop}", evaluate, graph, noise(2, *PLANE), "y")
