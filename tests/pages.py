"""A small result of every kind that a page is made of."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

import surefoot as sf
from tests.unit import small_models as small
from tests.unit.test_radii_study import write
from tests.worlds import linear, linear_model, points, study


def shades(folder: Path, bias: float = -8.0, **more: object) -> sf.Study:
    """Images of four by four pixels, lighter or darker than the middle; every radius is known."""
    path = write(folder / f"mean{-bias:g}.onnx", [([[1.0] * 16, [0.0] * 16], [bias, 0.0])])
    x = np.random.default_rng(0).random((30, 4, 4)).astype(np.float32)
    labels = (x.sum(axis=(1, 2)) <= 8).astype(np.int64)
    inputs = sf.load_inputs(x, labels, class_names=("<b>light", "dark"))
    return sf.Study(
        sf.load_model(path, bounds=(0, 1)),
        inputs,
        sf.perturb.LinfNoise(),
        sf.methods.CriticalLevel(0.01, 5, 0.3, samples=50),
        property=sf.properties.TrueLabel(),
        **more,
    )


def _curve(folder: Path, **more: object) -> sf.Study:
    known = shades(folder)
    parts = {
        "perturbation": sf.perturb.GaussianNoise(),
        "method": sf.methods.SequentialCurve(0.0, 0.5, (0.8, 0.6), resolution=0.02),
        "by_class": True,
    }
    return replace(known, **{**parts, **more})


def _attack(folder: Path) -> sf.Result:
    x = small.batch(9)
    model = sf.load_model(small.linear_net(folder / "linear.onnx"), bounds=(0, 1))
    inputs = sf.load_inputs(x, small.by_hand(x).argmax(axis=1))
    made = sf.Study(model, inputs, sf.perturb.LinfNoise(0.15), sf.methods.Attack(2, 10))
    return made.run()


def _models(folder: Path) -> sf.Result:
    other = sf.load_model(lambda x: linear(x + 0.1), shape=(6,))
    both = {"a_model_with_a_long_name.onnx": study(), "other": study(model=other)}
    return sf.compare(both).require(not_worse=("other", 0.02))


def _networks(folder: Path) -> sf.Result:
    return sf.compare({"one": shades(folder), "two": shades(folder, -7.5)}).require(0.001)


def _curves(folder: Path) -> sf.Result:
    made = {
        f"net, {name}": _curve(folder, perturbation=noise, by_class=False)
        for name, noise in (
            ("gaussian:0..0.5", sf.perturb.GaussianNoise()),
            ("brightness:0..0.5", sf.perturb.Brightness()),
        )
    }
    return sf.compare(made)


def _tail(folder: Path) -> sf.Result:
    model = sf.load_model(linear, shape=(6,), scores="logits")
    return study(
        model=model,
        method=sf.methods.NormalTail(200),
        property=sf.properties.NoConfidentMistake(0.9),
    ).run()


def outcomes(folder: Path, name: str = "outcomes.csv", shift: int = 0) -> Path:
    """120 cases in two classes; all but every seventh failed."""
    rows = [f"<b>{i},{'ab'[i % 2]},{'fail' if (i + shift) % 7 else 'pass'}" for i in range(120)]
    path = folder / name
    path.write_text("\n".join(["case,class,outcome", *rows]))
    return path


def _suite(folder: Path) -> sf.Result:
    made = shades(folder)
    data = (made.inputs.x, made.inputs.labels)
    options = {"suite": "noise", "precision": 0.2, "store": None, "workers": 1, "batch": 256}
    return sf.suite(folder / "mean8.onnx", data, bounds=(0, 1), progress=False, **options)


KINDS: dict[str, Callable[[Path], sf.Result]] = {
    "estimate": lambda _: study().run().require(0.9, of_each_class=0.5),
    "accuracy": lambda _: study(property=sf.properties.TrueLabel()).run().require(0.5),
    "certify": lambda _: study(method=sf.methods.KappaTest(0.1, 0.1, 200)).run(),
    "tail": _tail,
    "curve": lambda folder: _curve(folder).run().require(0.3),
    "curves": _curves,
    "radii": lambda folder: shades(folder, by_class=True).run().require(0.001),
    "networks": _networks,
    "attack": _attack,
    "tally": lambda folder: sf.tally(outcomes(folder), require=0.1, require_each=0.1),
    "tallies": lambda folder: sf.tally(
        outcomes(folder), outcomes(folder, "other.csv", 3), not_worse=0.3
    ),
    "models": _models,
    "suite": _suite,
    "levels": lambda _: sf.sweep(study(model=linear_model(), inputs=points()), [0.1, 0.4, 0.8]),
}
