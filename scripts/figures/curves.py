"""A curve of the embedded network, and what the methods cost."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import altair as alt
import numpy as np

import surefoot as sf
from surefoot.report.figures import INK, STEADY, WEAK, svg
from surefoot.report.views.curve import curves_chart


def curves() -> str:
    """Blur on the embedded network; passes over the inputs by method."""
    found = _study(sf.methods.SequentialCurve(0.0, 3.0, (0.8, 0.6))).run()
    left = curves_chart({"": found.record}).properties(width=380, height=260)
    return svg(alt.hconcat(left, _costs()).resolve_scale(color="independent"))


def _study(method: Any) -> sf.Study:  # noqa: ANN401
    data = files("surefoot") / "data"
    with np.load(str(data / "fashion_test.npz")) as stored:
        inputs = sf.load_inputs(stored["x"], stored["y"])
    model = sf.load_model(str(data / "fashion_cnn.onnx"), bounds=(0, 1))
    blur = sf.perturb.GaussianBlur()
    return sf.Study(model, inputs, blur, method, property=sf.properties.TrueLabel())


def _costs() -> Any:  # noqa: ANN401
    """Passes over the inputs, and the distance from the crossing between 257 even levels."""
    even = _study(sf.methods.UniformCurve(0.0, 3.0, (0.8,), levels=257)).run().details.curve
    truth = even.readings[0].crossings[0].level / even.span.width
    asked = {
        "sequential": sf.methods.SequentialCurve(0.0, 3.0, (0.8,)),
        "asap, â automatic": sf.methods.AdaptiveCurve(0.0, 3.0, (0.8,)),
        "asap, â = 128": sf.methods.AdaptiveCurve(0.0, 3.0, (0.8,), 128.0),
        "uniform, 41 levels": sf.methods.UniformCurve(0.0, 3.0, (0.8,), levels=41),
        "quad": sf.methods.QuadCurve(0.0, 3.0, (0.8,)),
    }
    rows = []
    for name, method in asked.items():
        value, passes = _reading(method)
        rows.append(
            {
                "name": name,
                "passes": passes,
                "said": f"{_short(passes)}, off by {abs(value - truth):.1e}",
            }
        )
    base = alt.Chart(alt.InlineData(values=rows))
    y = alt.Y("name:N", sort=list(asked), title=None)
    x = alt.X(
        "passes:Q",
        title="passes over the inputs (log)",
        axis=alt.Axis(values=[1, 10, 100, 1000]),
        scale=alt.Scale(type="log", domain=[1, 4000]),
    )
    ours = alt.condition("datum.name == 'sequential'", alt.value(STEADY), alt.value(WEAK))
    bars = base.mark_circle(size=110, opacity=1).encode(y=y, x=x, color=ours)
    texts = base.mark_text(align="left", dx=10, color=INK).encode(y=y, x=x, text="said:N")
    return (bars + texts).properties(width=330, height=260)


def _reading(method: Any) -> tuple[float, float]:  # noqa: ANN401
    curve = _study(method).run().details.curve
    return curve.readings[0].value, curve.trials / curve.size


def _short(passes: float) -> str:
    return f"{passes:.2f}" if passes < 10 else f"{passes:,.0f}"
