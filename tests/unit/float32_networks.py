"""Small networks whose label as run in float32 changes within a radius proved in real arithmetic.

Each takes inputs in [0, 1] and is a chain of Gemm and Relu. In real arithmetic its margin is a
simple function of the mean y of some inputs, and the radius is known by hand. As run, float32 loses
what the margin needs: below the smallest number, beside a large bias, in a difference of two large
sums, or in Softmax. The failing points fill a corner of the box that uniform draws do not meet.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from onnx import helper

from tests.onnx_models import onnx_model

INPUTS = 32
_GAP = 2.0**-7  # the rival's score: the real margin is y minus this
_HALF = INPUTS // 2
_Affine = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class Float32Network:
    """A file, an input and its label, its radius in real arithmetic, a point that breaks it."""

    name: str
    source: bytes
    x: NDArray[np.float32]
    label: int
    radius: float
    point: NDArray[np.float32]

    @property
    def share(self) -> float:
        """The distance of the point as a share of the radius."""
        return float(np.abs(self.point.astype(np.float64) - self.x).max() / self.radius)


def underflow() -> Float32Network:
    """y·2⁻¹⁴⁷ is a multiple of 2⁻¹⁴⁹, so y is rounded to quarters before it is scaled up again."""
    layers = [_mean(), _times(2.0**-74), _times(2.0**-73), _times(2.0**73)]
    return _uniform("underflow", [*layers, _against(2.0**74)], level=0.75, broken=0.12)


def absorption() -> Float32Network:
    """y + 2²⁰ is rounded to eighths before 2²⁰ is taken away."""
    layers = [_mean(), _times(1.0, 2.0**20), _against(1.0, shift=-(2.0**20))]
    return _uniform("absorption", layers, level=0.6, broken=0.06)


def late_absorption() -> Float32Network:
    """y + 2¹⁷ is rounded to 1/64 and the rival's score is 1/256: it breaks close to the radius."""
    layers = [_mean(), _times(1.0, 2.0**17), _against(1.0, shift=-(2.0**17), gap=2.0**-8)]
    return _uniform("late absorption", layers, level=0.6, broken=0.006, gap=2.0**-8)


def cancellation() -> Float32Network:
    """y is the difference of two sums above 2¹⁹ whose weights differ in the last places."""
    rows = np.array([[2.0**15 + 2.0**-5] * INPUTS, [2.0**15] * INPUTS])
    layers = [(rows, np.full(2, 2.0**19)), _against(1.0, -1.0)]
    return _uniform("cancellation", layers, level=0.6, broken=0.019)


def uneven_cancellation() -> Float32Network:
    """The same with unequal weights: whether it fails depends on the last bits of the inputs."""
    weights = np.random.default_rng(5).uniform(0.5, 1.5, INPUTS)
    whole = np.round(2.0**20 * weights / weights.sum())
    rows = np.array([whole * (1 + 2.0**-20), whole]).astype(np.float32).astype(np.float64)
    layers = [(rows, np.full(2, 2.0**19)), _against(1.0, -1.0)]
    return _uniform(
        "uneven cancellation", layers, 0.6, 0.0135, slope=float((rows[0] - rows[1]).sum())
    )


def without_activation() -> Float32Network:
    """y + 2²⁰ and then − 2²⁰ with no Relu between: the reader multiplies the two layers out."""
    layers = [_mean(), _times(1.0, 2.0**20), _against(1.0, shift=-(2.0**20))]
    return _uniform("without activation", layers, level=0.6, broken=0.06, activation="Identity")


def softmax_tie() -> Float32Network:
    """Scores closer than 2⁻²⁵ are one number after Softmax, and the first class wins the tie."""
    layers = [_mean(), (np.array([[0.0], [2.0**-23]]), np.zeros(2))]
    case = _uniform("softmax tie", layers, level=0.8, broken=0.18, gap=0.0, softmax=True)
    return replace(case, label=1)


def indifferent_inputs() -> Float32Network:
    """y is absorbed where the mean z of other inputs is above 3/4; the real margin is without z."""
    return _beside("indifferent inputs", [_means([0.75])], 2.0**24, z=0.95)


def far_corner() -> Float32Network:
    """y is absorbed only where z is above 15/16: nearly all other inputs at their upper ends."""
    return _beside("far corner", [_means([0.9375])], 2.0**28, z=0.975)


def narrow_band() -> Float32Network:
    """y is absorbed only where z lies between 41/64 and 42/64, to which no gradient leads."""
    bump = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, -2.0, 1.0]]), np.zeros(2)
    kinks = [41 / 64, 41.5 / 64, 42 / 64]
    return _beside("narrow band", [_means(kinks), bump], 2.0**30, z=41.5 / 64)


Build = Callable[[], Float32Network]
BUILDERS: tuple[Build, ...] = (
    underflow,
    absorption,
    late_absorption,
    cancellation,
    uneven_cancellation,
    without_activation,
    softmax_tie,
    indifferent_inputs,
    far_corner,
    narrow_band,
)


def onnx_chain(
    layers: Sequence[_Affine],
    *,
    activation: str = "Relu",
    softmax: bool = False,
    opset: int = 13,
) -> bytes:
    """Gemm and activation in turn, in float32, for any batch; every weight must be a float32."""
    nodes, values, name = [], {}, "x"
    for k, pair in enumerate(layers):
        for what, array in zip("wb", pair, strict=True):
            if not (array.astype(np.float32) == array).all():
                raise ValueError(f"{what}{k} would be rounded")
            values[f"{what}{k}"] = array.astype(np.float32)
        nodes.append(helper.make_node("Gemm", [name, f"w{k}", f"b{k}"], [f"v{k}"], transB=1))
        name = f"v{k}"
        if k + 1 < len(layers):
            nodes.append(helper.make_node(activation, [name], [f"h{k}"]))
            name = f"h{k}"
    if softmax:
        nodes.append(helper.make_node("Softmax", [name], ["p"], axis=-1))
        name = "p"
    counts = (("x", layers[0][0].shape[1]), (name, len(layers[-1][1])))
    first, last = ([(at, ["n", count])] for at, count in counts)
    return bytes(onnx_model(nodes, first, last, values, opset).SerializeToString())


def _mean() -> _Affine:
    return np.full((1, INPUTS), 1 / INPUTS), np.zeros(1)


def _times(factor: float, shift: float = 0.0) -> _Affine:
    return np.array([[factor]]), np.array([shift])


def _against(*factors: float, shift: float = 0.0, gap: float = _GAP) -> _Affine:
    """A first score of the last layer's values, and a second that is always `gap`."""
    return np.array([factors, np.zeros(len(factors))]), np.array([shift, gap])


def _means(kinks: Sequence[float]) -> _Affine:
    """y, the mean of the first half of the inputs, and the mean z of the others above each kink."""
    rows = np.zeros((1 + len(kinks), INPUTS))
    rows[0, :_HALF] = rows[1:, _HALF:] = 1 / _HALF
    return rows, np.array([0.0, *(-kink for kink in kinks)])


def _beside(name: str, first: Sequence[_Affine], factor: float, z: float) -> Float32Network:
    """y plus and minus a large function of z; it breaks where y is small and z as given."""
    large = np.array([[1.0, factor], [0.0, factor]]), np.zeros(2)
    case = _uniform(name, [*first, large, _against(1.0, -1.0)], level=0.5, broken=0.1)
    point = np.where(np.arange(INPUTS) < _HALF, 0.05, z).astype(np.float32)
    return replace(case, point=point)


def _uniform(
    name: str,
    layers: Sequence[_Affine],
    level: float,
    broken: float,
    *,
    gap: float = _GAP,
    slope: float = 1.0,
    activation: str = "Relu",
    softmax: bool = False,
) -> Float32Network:
    """All inputs at `level`; the real margin slope·y − gap is 0 at y = gap / slope."""
    x = np.full(INPUTS, level, np.float32)
    return Float32Network(
        name,
        onnx_chain(layers, activation=activation, softmax=softmax),
        x,
        0,
        float(x[0]) - gap / slope,
        np.full(INPUTS, broken, np.float32),
    )
