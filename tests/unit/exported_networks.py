"""Eight small networks of the shapes that people export, built by hand, with any batch."""

import numpy as np
import onnx
from onnx import helper

from tests.onnx_models import onnx_model

PLANE = (3, 8, 8)
NONE = np.zeros(0, np.float32)


class Net:
    """Nodes and weights as they come; `v` is the tensor made last."""

    def __init__(self, shape, rows, seed=3, opset=17):
        self.shape, self.rows, self.opset = shape, rows, opset
        self.rng, self.nodes, self.weights, self.v = np.random.default_rng(seed), [], {}, "x"

    @property
    def batch(self):
        """What an exporter writes for the batch in literal shapes."""
        return self.rows if isinstance(self.rows, int) else 0

    def w(self, *shape, scale=None):
        fan = np.prod(shape[1:]) if len(shape) > 1 else 4
        values = self.rng.normal(0, scale or 1 / np.sqrt(fan), shape).astype(np.float32)
        return self.const(values)

    def const(self, values):
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(values)
        return name

    def whole(self, *values):
        return self.const(np.array(values, np.int64))

    def op(self, kind, *inputs, outputs=1, **attributes):
        first = () if inputs[:1] == (None,) else (self.v,)
        names = [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        fed = [*first, *(i for i in inputs if i is not None)]
        self.nodes.append(helper.make_node(kind, fed, names, **attributes))
        self.v = names[0]
        return names if outputs > 1 else self.v

    def conv(self, before, after, size=3, stride=1, group=1):
        half = size // 2
        return self.op(
            "Conv", self.w(after, before // group, size, size), self.w(after), group=group,
            strides=[stride] * 2, pads=[half] * 4,
        )  # fmt: skip

    def norm(self, n):
        near = self.const(1 + 0.1 * self.rng.random(n).astype(np.float32))
        return self.op("BatchNormalization", near, self.w(n), self.w(n, scale=0.1), near)

    def linear(self, before, after):
        self.op("MatMul", self.w(before, after, scale=1 / np.sqrt(before)))
        return self.op("Add", self.w(after))

    def model(self):
        self.nodes[-1].output[0] = "y"
        ends = [("x", [self.rows, *self.shape])], [("y", [self.rows, 5])]
        made = onnx_model(self.nodes, *ends, self.weights, self.opset)
        return onnx.load_from_string(made.SerializeToString())


def dense(rows):
    net = Net((1, 4, 4), rows)
    net.op("Reshape", net.whole(net.batch, 16))
    net.op("Gemm", net.w(9, 16), net.w(9), transB=1)
    net.op("Relu")
    net.op("Gemm", net.w(5, 9), net.w(5), transB=1)
    return net.model()


def residual(rows):
    net = Net(PLANE, rows)
    net.conv(3, 6, stride=2)
    net.norm(6)
    skip = net.op("Relu")
    net.conv(6, 6)
    net.norm(6)
    net.op("Relu")
    net.conv(6, 6)
    net.op("Add", skip)
    net.op("Relu")
    net.op("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    net.op("GlobalAveragePool")
    net.op("Flatten", axis=1)
    net.op("Gemm", net.w(5, 6), net.w(5), transB=1)
    return net.model()


def inception(rows):
    """Branches that are joined, cut and joined again; PRelu, LeakyRelu, Elu."""
    net = Net(PLANE, rows)
    start = net.conv(3, 4)
    one = net.op("PRelu", net.w(4, 1, 1))
    net.v = start
    net.conv(4, 4, size=1)
    net.op("LeakyRelu", alpha=0.1)
    net.op("Concat", one, axis=1)
    _, right = net.op("Split", net.whole(3, 5), outputs=2, axis=1)
    left = net.op("Elu")
    net.v = right
    net.op("Slice", net.whole(0), net.whole(3), net.whole(1))
    net.op("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    net.op("Mul", left)
    net.op("Pad", net.whole(0, 0, 1, 1, 0, 0, 1, 1))
    net.op("GlobalMaxPool")
    net.op("Squeeze", net.whole(2, 3))
    net.linear(3, 5)
    net.op("LogSoftmax")
    return net.model()


def unet(rows):
    """Down and up again: ConvTranspose, Resize, a skip; the mean of each map is a score."""
    net = Net(PLANE, rows)
    skip = net.conv(3, 5)
    net.op("Relu")
    net.conv(5, 8, stride=2)
    net.op("InstanceNormalization", net.w(8), net.w(8))
    net.op("ConvTranspose", net.w(8, 5, 2, 2), net.w(5), strides=[2, 2])
    net.op("Concat", skip, axis=1)
    net.op("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    net.op("Resize", net.const(NONE), net.const(np.float32([1, 1, 2, 2])), mode="linear")
    net.conv(10, 5)
    net.op("Softplus")
    net.op("ReduceMean", axes=[2, 3], keepdims=0)
    return net.model()


def attention(net, size, heads, tokens):
    """One block of self-attention with LayerNormalization; literal shapes as exporters write."""
    batch, skip = net.batch, net.v
    normed = net.op("LayerNormalization", net.w(size), net.w(size))
    parts = []
    for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
        net.v = normed
        net.linear(size, size)
        net.op("Reshape", net.whole(batch, tokens, heads, size // heads))
        parts.append(net.op("Transpose", perm=perm))
    query, key, value = parts
    net.v = query
    net.op("MatMul", key)
    net.op("Div", net.const(np.float32(np.sqrt(size // heads))))
    net.op("Softmax", axis=-1)
    net.op("MatMul", value)
    net.op("Transpose", perm=[0, 2, 1, 3])
    net.op("Reshape", net.whole(batch, tokens, size))
    net.linear(size, size)
    return net.op("Add", skip)


def gelu(net):
    """In the parts that older exporters write."""
    x = net.v
    net.op("Div", net.const(np.float32(np.sqrt(2))))
    net.op("Erf")
    net.op("Add", net.const(np.float32(1)))
    net.op("Mul", x)
    return net.op("Mul", net.const(np.float32(0.5)))


def transformer(rows):
    """Patches, a class token beside them, attention, GELU in parts."""
    net = Net(PLANE, rows)
    net.op("Conv", net.w(8, 3, 4, 4), net.w(8), strides=[4, 4])
    net.op("Reshape", net.whole(net.batch, 8, 4))
    patches = net.op("Transpose", perm=[0, 2, 1])
    if isinstance(rows, int):
        token = net.const(net.rng.normal(size=(rows, 1, 8)).astype(np.float32)[:1].repeat(rows, 0))
    else:
        net.v = "x"
        net.op("Shape")
        net.op("Gather", net.whole(0), axis=0)
        to = net.op("Concat", net.whole(1, 8), axis=0)
        net.v = net.const(net.rng.normal(size=(1, 1, 8)).astype(np.float32))
        token = net.op("Expand", to)
    net.op("Concat", None, token, patches, axis=1)
    net.op("Add", net.w(1, 5, 8))
    skip = attention(net, 8, 2, 5)
    net.op("LayerNormalization", net.w(8), net.w(8))
    net.linear(8, 12)
    gelu(net)
    net.linear(12, 8)
    net.op("Add", skip)
    net.op("Gather", net.const(np.array(0)), axis=1)
    net.linear(8, 5)
    return net.model()


def quantised(rows):
    """Weights and values as 8-bit integers with QuantizeLinear and DequantizeLinear around."""
    net = Net(PLANE, rows)

    def around(scale):
        both = net.const(np.float32(scale)), net.const(np.uint8(128))
        net.op("QuantizeLinear", *both)
        return net.op("DequantizeLinear", *both)

    def weights(*shape):
        value = net.v
        net.v = net.const(net.rng.integers(-100, 100, shape).astype(np.int8))
        scales = net.const((0.001 + 0.002 * net.rng.random(shape[0])).astype(np.float32))
        zero = net.const(np.zeros(shape[0], np.int8))
        name = net.op("DequantizeLinear", scales, zero, axis=0)
        net.v = value
        return name

    around(0.02)
    net.op("Conv", weights(6, 3, 3, 3), net.w(6), pads=[1, 1, 1, 1])
    net.op("Relu")
    around(0.03)
    net.op("GlobalAveragePool")
    net.op("Flatten")
    net.op("Gemm", weights(5, 6), net.w(5), transB=1)
    return net.model()


def sequence(rows):
    """One-dimensional convolutions over a sound, gates, a sum over time."""
    net = Net((2, 16), rows)
    left = net.op("Conv", net.w(6, 2, 3), net.w(6), pads=[2, 2], dilations=[2])
    gate = net.op("Sigmoid")
    net.v = left
    net.op("Tanh")
    net.op("Mul", gate)
    net.op("ReduceSum", net.whole(2), keepdims=0)
    net.op("Unsqueeze", net.whole(1))
    net.op("Expand", net.whole(net.batch or 1, 3, 6))
    net.op("Flatten")
    net.linear(18, 5)
    net.op("Softmax")
    return net.model()


def encoder(rows):
    """Attention with the sequence first, heads and batch in one axis, as PyTorch writes it."""
    net, tokens, heads, each = Net((4, 6), rows), 4, 2, 3
    both = net.batch * heads or -1
    net.op("Transpose", perm=[1, 0, 2])
    values, parts = net.v, []
    for perm in ([1, 0, 2], [1, 2, 0], [1, 0, 2]):
        net.v = values
        net.linear(6, 6)
        net.op("Reshape", net.whole(tokens, both, each))
        parts.append(net.op("Transpose", perm=perm))
    query, key, value = parts
    net.v = query
    net.op("MatMul", key)
    net.op("Softmax", axis=-1)
    net.op("MatMul", value)
    net.op("Transpose", perm=[1, 0, 2])
    net.op("Reshape", net.whole(tokens, net.batch or -1, 6))
    net.op("Add", values)
    net.op("ReduceMean", axes=[0], keepdims=0)
    net.op("Gemm", net.w(5, 6), net.w(5), transB=1)
    return net.model()


NETWORKS = {
    made.__name__: made
    for made in (
        dense, residual, inception, unet, transformer, quantised, sequence, encoder,
    )
}  # fmt: skip
