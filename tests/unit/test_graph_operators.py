"""Every operator against onnxruntime, by NumPy and by PyTorch; quantised operators, functions."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    quantize_dynamic,
    quantize_static,
)

from surefoot.graph.evaluate import evaluate, largest_share, program, torch_graph
from surefoot.graph.free_batch import BatchStays, free_batch
from surefoot.graph.graph import read_graph
from surefoot.graph.onnx_file import quiet_session
from surefoot.graph.operators import OPERATORS
from surefoot.graph.plain_operators import _QUANTISED, load_plain
from surefoot.models import load_model
from tests.onnx_models import onnx_model
from tests.refusals import raised, refused
from tests.unit.exported_networks import NETWORKS
from tests.unit.test_graph_networks import inputs, one_by_one

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
    ends = [("x", [rows, *shape])], [(name, None) for name in outputs]
    made = onnx_model(nodes, *ends, constants, opset)
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


torch = pytest.importorskip("torch")
ONE_QUANTUM = 1e-2
"""A value on the edge between two whole numbers may round to either."""
NO_SATURATION = {"reduce_range": True}
"""Without VNNI onnxruntime adds two products in 16 bits: weights of 8 bits can saturate there."""


class Rows(CalibrationDataReader):
    def __init__(self, proto):
        self.rows = iter(inputs(proto, 4))

    def get_next(self):
        row = next(self.rows, None)
        return None if row is None else {"x": row[None]}


def static(proto, folder, **how):
    onnx.save(proto, folder / "plain.onnx")
    quantize_static(
        folder / "plain.onnx", folder / "quantised.onnx", Rows(proto),
        quant_format=QuantFormat.QOperator, **how,
    )  # fmt: skip
    return onnx.load(folder / "quantised.onnx")


def dynamic(proto, folder, **how):
    onnx.save(proto, folder / "plain.onnx")
    quantize_dynamic(folder / "plain.onnx", folder / "quantised.onnx", **how)
    return onnx.load(folder / "quantised.onnx")


def shares(file, x):
    """How far the graph is from the file as onnxruntime runs it, by NumPy and by PyTorch."""
    content = file.SerializeToString()
    graph = read_graph(load_plain(content))
    (known,) = quiet_session(content).run(["y"], {"x": x})
    assert known.std() > 0
    by_torch = torch_graph(graph, "y")(torch.from_numpy(x)).numpy()
    return [largest_share(ours, known) for ours in (evaluate(graph, x, "y"), by_torch)]


@pytest.mark.slow
@pytest.mark.parametrize("per_channel", [False, True])
def test_files_that_onnxruntime_quantises_are_read(per_channel, tmp_path):
    operators = set()
    for name, made in NETWORKS.items():
        proto = made("n")
        file = static(proto, tmp_path, per_channel=per_channel, **NO_SATURATION)
        assert max(shares(file, inputs(proto))) < ONE_QUANTUM
        operators |= {n.op_type for n in file.graph.node}
        if name == "quantised":
            continue  # quantize_dynamic takes plain weights alone
        file = dynamic(proto, tmp_path, per_channel=per_channel, **NO_SATURATION)
        assert max(shares(file, inputs(proto))) < 2e-5
        operators |= {n.op_type for n in file.graph.node}
    assert {*_QUANTISED, "DynamicQuantizeLinear", "QLinearConcat"} <= operators


def test_a_quantised_file_that_fixes_its_batch_gets_a_free_one(tmp_path):
    file = static(NETWORKS["residual"](1), tmp_path, **NO_SATURATION)
    x = inputs(file)
    free = free_batch(load_plain(file.SerializeToString()), "y", x, one_by_one(file, 1))
    assert free.difference < ONE_QUANTUM


def test_what_is_quantised_by_the_range_of_a_batch_keeps_it(tmp_path):
    file = dynamic(NETWORKS["dense"](1), tmp_path)
    plain = load_plain(file.SerializeToString())
    raised(BatchStays, "ReduceM", free_batch, plain, "y", inputs(file), one_by_one(file, 1))


def test_a_quantised_file_has_a_gradient(tmp_path):
    file = static(NETWORKS["residual"]("n"), tmp_path)
    x = inputs(file, 2)
    loaded = load_model(tmp_path / "quantised.onnx", bounds=(0, 1))
    _, gradient = loaded.logits_and_gradient(x, lambda scores, _: np.eye(5, dtype="f")[[1, 3]])
    plain = torch_graph(read_graph(NETWORKS["residual"]("n")), "y")
    at = torch.from_numpy(x).requires_grad_()
    plain(at)[[0, 1], [1, 3]].sum().backward()
    known = at.grad.numpy()
    cosine = np.vdot(gradient, known) / np.linalg.norm(gradient) / np.linalg.norm(known)
    assert cosine > 0.9


MICROSOFT = helper.make_opsetid("com.microsoft", 1)


@pytest.mark.parametrize("alpha", [1.0, 0.5])
@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("to", ["", " out_scale zero"])
def test_a_quantised_dense_layer_with_scales_of_each_column(alpha, turned, to):
    names = "whole scale zero w w_scale w_zero b" + to
    y = "y_whole" if to else "y"
    attributes = {"alpha": alpha, "transB": turned, "domain": "com.microsoft"}
    nodes = [node("QuantizeLinear", "x scale zero", "whole"), node("QGemm", names, y, **attributes)]
    nodes += [node("DequantizeLinear", "y_whole out_scale zero", "y")] if to else []
    rng = np.random.default_rng(4)
    w = rng.integers(-90, 90, (6, 4)).astype(np.int8)
    constants = {
        "scale": np.float32(0.03), "zero": np.uint8(128), "w": w.T if turned else w,
        "w_scale": 0.01 * positive(4), "w_zero": np.zeros(4, np.int8),
        "out_scale": np.float32(0.05), "b": rng.integers(-900, 900, 4).astype(np.int32),
    }  # fmt: skip
    proto = model(nodes, constants, FLAT)
    proto.opset_import.append(MICROSOFT)
    assert max(shares(proto, noise(3, 6))) < ONE_QUANTUM


@pytest.mark.parametrize("kind", ["UINT8", "INT8", "UINT16", "INT16"])
def test_without_a_zero_point_the_file_says_to_which_whole_numbers_it_rounds(kind):
    nodes = [
        node("QuantizeLinear", "x scale", "whole", output_dtype=TensorProto.DataType.Value(kind)),
        node("DequantizeLinear", "whole scale", "y"),
    ]
    proto = model(nodes, {"scale": np.float32(1e-4 if "16" in kind else 0.015)}, FLAT, 21)
    proto.ir_version = 10
    assert max(shares(proto, 3 * noise(3, 6))) < ONE_QUANTUM


def test_whole_numbers_with_zero_points_of_each_column_are_multiplied():
    nodes = [
        node("QuantizeLinear", "x scale zero", "whole"),
        node("MatMulInteger", "whole w zero w_zero", "product"),
        node("Cast", "product", "y", to=TensorProto.FLOAT),
    ]
    constants = {
        "scale": np.float32(0.03), "zero": np.uint8(120), "w_zero": np.int8([3, 0, -4, 9]),
        "w": np.random.default_rng(4).integers(-90, 90, (6, 4)).astype(np.int8),
    }  # fmt: skip
    assert max(shares(model(nodes, constants, FLAT), noise(3, 6))) == 0


@pytest.mark.parametrize(
    ("op", "constants", "attributes", "opset"),
    [
        ("Mish", (), {}, 18),
        ("GroupNormalization", (noise(2), noise(2)), {"num_groups": 2}, 21),
        ("RMSNormalization", (noise(6),), {}, 23),
        ("MeanVarianceNormalization", (), {"axes": [2, 3]}, 17),
        ("ReduceLogSumExp", (whole(2),), {"keepdims": 0}, 18),
        ("ThresholdedRelu", (), {"alpha": 0.3}, 22),
    ],
)
def test_a_function_of_onnx_is_read_by_its_body(op, constants, attributes, opset):
    named = {f"c{i}": c for i, c in enumerate(constants)}
    proto = model([helper.make_node(op, ["x", *named], ["y"], **attributes)], named, PLANE, opset)
    proto.ir_version = 10
    agrees(load_plain(proto.SerializeToString()), noise(3, *PLANE))


def test_a_function_of_the_file_is_read_by_its_body():
    body = [node("Mul", "a a", "square"), node("Add", "square b", "c")]
    own = helper.make_function(
        "mine", "Bend", ["a", "b"], ["c"], body, [helper.make_opsetid("", 17)]
    )
    proto = model([node("Bend", "x w", "y", domain="mine")], {"w": noise(6)}, FLAT)
    proto.functions.append(own)
    proto.opset_import.append(helper.make_opsetid("mine", 1))
    agrees(load_plain(proto.SerializeToString()), noise(3, 6))
