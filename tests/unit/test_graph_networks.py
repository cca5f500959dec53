"""Whole networks through the graph: values, gradients, a fixed batch made free."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from surefoot.graph.evaluate import evaluate, largest_share, torch_graph
from surefoot.graph.free_batch import BatchStays, free_batch
from surefoot.graph.graph import read_graph
from surefoot.graph.onnx_file import quiet_session
from tests.refusals import raised, refused
from tests.unit.exported_networks import NETWORKS, Net

torch = pytest.importorskip("torch")


def inputs(proto, n=5):
    shape = [d.dim_value for d in proto.graph.input[0].type.tensor_type.shape.dim][1:]
    return np.random.default_rng(1).random((n, *shape), dtype=np.float32)


def one_by_one(proto, rows):
    """The file as it is, on any number of rows."""
    session = quiet_session(proto.SerializeToString())

    def run(x):
        full = np.concatenate([x, x[-1:].repeat(-len(x) % rows, 0)])
        parts = [full[i : i + rows] for i in range(0, len(full), rows)]
        return np.concatenate([session.run(["y"], {"x": p})[0] for p in parts])[: len(x)]

    return run


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_gives_what_onnxruntime_gives(name):
    proto = NETWORKS[name]("n")
    graph, x = read_graph(proto), inputs(proto)
    (known,) = quiet_session(proto.SerializeToString()).run(["y"], {"x": x})
    module = torch_graph(graph, "y")
    batch = torch.from_numpy(x)
    shares = [
        largest_share(evaluate(graph, x, "y"), known),
        largest_share(evaluate(graph, x.astype(np.float64), "y"), known),
        largest_share(module(batch).numpy(), known),
        largest_share(module.double()(batch.double()).numpy(), known),
    ]
    assert max(shares) < 2e-6


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_fixed_batch_is_made_free(name, rows):
    proto = NETWORKS[name](rows)
    x = inputs(proto)
    free = free_batch(proto, "y", x, one_by_one(proto, rows))
    assert free.difference < 1e-6
    graph = read_graph(onnx.load_from_string(free.content))
    assert graph.batch is None
    assert largest_share(evaluate(graph, x, "y"), one_by_one(proto, rows)(x)) < 2e-6


def mixing(rows, *steps):
    net = Net((4,), rows)
    net.linear(4, 5)
    for op, attributes in steps:
        net.op(op, **attributes)
    return net.model()


@pytest.mark.parametrize(
    "proto",
    [
        mixing(2, ("Softmax", {"axis": 0})),
        mixing(2, ("ReduceMean", {"axes": [0]}), ("Relu", {})),
        mixing(2, ("LpNormalization", {"axis": 0})),
        mixing(1, ("Transpose", {"perm": [1, 0]}), ("Transpose", {"perm": [0, 1]})),
        mixing(2, ("Flatten", {"axis": 0})),
    ],
)
def test_what_mixes_rows_keeps_its_batch(proto):
    rows = proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value
    raised(BatchStays, "", free_batch, proto, "y", inputs(proto), one_by_one(proto, rows))


def turned_round(net):
    net.op("Slice", *(net.whole(n) for n in (-1, -100, 0, -1)))


def cut(net):
    net.op("Slice", net.whole(0), net.whole(net.rows), net.whole(0))


def moved_on(net):
    net.op("Pad", net.whole(1, 0, -1, 0))


def summed(net):
    net.op("CumSum", net.whole(0))


def in_training(net):
    one = net.const(np.ones(4, np.float32))
    net.op("BatchNormalization", one, one, one, one, outputs=3, training_mode=1)


def times_the_batch(net):
    gate = net.v
    net.op("Shape")
    net.op("Gather", net.whole(0))
    net.op("Cast", to=TensorProto.FLOAT)
    net.op("Mul", gate)


def all_pairs(net):
    gate = net.v
    first = net.op("Unsqueeze", net.whole(0))
    net.v = gate
    net.op("Unsqueeze", net.whole(1))
    net.op("Add", first)
    net.op("ReduceMax", axes=[1], keepdims=0)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize(
    "mix", [turned_round, cut, moved_on, summed, in_training, times_the_batch, all_pairs]
)
def test_rows_that_mix_where_no_comparison_looks_keep_their_batch(mix, rows):
    net = Net((4,), rows)
    net.op("ReduceMin", axes=[1])
    net.op("Sub", net.const(np.float32(0.99)))
    net.op("Relu")
    net.op("Mul", "x")
    mix(net)
    net.op("Add", "x")
    net.linear(4, 5)
    proto = net.model()
    raised(BatchStays, "", free_batch, proto, "y", inputs(proto), one_by_one(proto, rows))


def test_constants_that_no_memory_holds_are_refused():
    net = Net((4,), 1)
    net.op("ConstantOfShape", None, net.whole(10**6, 10**6))
    net.op("ReduceSum", keepdims=0)
    net.op("Add", "x")
    net.linear(4, 5)
    refused("1,000,000,000,000 numbers", read_graph, net.model())


def test_a_constant_of_each_row_keeps_the_batch():
    net = Net((4,), 2)
    net.linear(4, 3)
    net.op("Concat", net.w(2, 2), axis=1)
    proto = net.model()
    with pytest.raises(BatchStays, match="values for each of 2 rows"):
        free_batch(proto, "y", inputs(proto), one_by_one(proto, 2))


@pytest.mark.parametrize("name", sorted(NETWORKS.keys() - {"quantised"}))
def test_gradients_are_what_small_steps_show(name):
    proto = NETWORKS[name]("n")
    graph, x = read_graph(proto), inputs(proto, 2).astype(np.float64)
    rng = np.random.default_rng(2)
    weights = rng.normal(size=(2, 5))
    at = torch.from_numpy(x).requires_grad_()
    (torch_graph(graph, "y").double()(at) * torch.from_numpy(weights)).sum().backward()
    for _ in range(3):
        way, step = rng.normal(size=x.shape), 1e-6
        ahead, behind = (
            (evaluate(graph, x + s * step * way, "y") * weights).sum() for s in (1, -1)
        )
        slope = float((at.grad.numpy() * way).sum())
        assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-4, abs=1e-6)


def test_what_follows_from_shapes_has_the_precision_of_the_batch():
    """The first token of the transformer is a constant, as often as the batch has rows."""
    proto = NETWORKS["transformer"]("n")
    graph, x = read_graph(proto), inputs(proto)
    half = torch_graph(graph, "y").half()(torch.from_numpy(x).half())
    assert half.dtype is torch.float16
    assert largest_share(half.float().numpy(), evaluate(graph, x, "y")) < 5e-2


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_gives_the_same_on_a_gpu(name):
    proto = NETWORKS[name]("n")
    graph, x = read_graph(proto), inputs(proto)
    known = evaluate(graph, x.astype(np.float64), "y")
    module = torch_graph(graph, "y").cuda()
    batch = torch.from_numpy(x).cuda()
    assert largest_share(module.double()(batch.double()).cpu().numpy(), known) < 1e-6
    assert largest_share(module.float()(batch).cpu().numpy(), known) < 5e-3
    assert largest_share(module.half()(batch.half()).float().cpu().numpy(), known) < 5e-2
