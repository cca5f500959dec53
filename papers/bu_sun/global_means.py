"""Algorithm 4: the mean over few images of each model, for many choices of the images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.bu_sun.pairs import with_images
from papers.request import Request
from surefoot.core.claims import Claim
from surefoot.core.results import Estimate, Interval
from surefoot.errors import InvalidArgument
from surefoot.statistics.agreement import Correlation, correlation
from surefoot.study import Result

METHODS = {"ours": "exact-sequential", "bu_sun": "bu-sun"}
"""The methods that estimate each image, by their key."""
KEYS = (*METHODS, "baseline")
NAMES = {"ours": "exact sequential", "bu_sun": "Bu & Sun", "baseline": "baseline"}
LEAST_MODELS = 3
"""Two models always correlate perfectly, or not at all."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Choices:
    """All images, those that every model classifies correctly, and which of these a repeat takes.

    `orders` has one row a repeat; its first n entries are the n images of that repeat.
    """

    every: Request
    request: Request
    orders: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ModelValues:
    """Of one model: each image by each method, and the accuracy by the standard one."""

    values: Mapping[str, Floats]
    whole: Claim
    standard: Claim
    results: Mapping[str, Result]


@dataclass(frozen=True, eq=False)
class GlobalMeans:
    """All models under one perturbation."""

    perturb: str
    choices: Choices
    models: Mapping[str, ModelValues]

    def means(self, key: str, images: int) -> Floats:
        """The mean over the images of each repeat (rows), of each model (columns)."""
        rows = self.choices.orders[:, :images]
        return np.stack([m.values[key][rows].mean(axis=1) for m in self.models.values()], axis=1)

    def standard(self) -> list[float]:
        """The accuracy of each model by the standard method."""
        return [kept(model.standard)[0] for model in self.models.values()]

    def correlations(self, key: str, images: int) -> list[Correlation]:
        """With the standard method, of each repeat in which there is one."""
        each = (correlation(row.tolist(), self.standard()) for row in self.means(key, images))
        return [one for one in each if isinstance(one, Correlation)]


def kept(claim: Claim) -> tuple[float, Interval]:
    """What a claim about failing says about being kept."""
    if claim.value is None or claim.interval is None:
        raise InvalidArgument(
            f"{claim.kind} has no value: {claim.reason}; give more images (--images)"
        )
    return 1 - claim.value, Interval(1 - claim.interval.high, 1 - claim.interval.low)


def choose(request: Request, numbers: Sequence[int], repeats: int) -> Choices:
    """Draw the images of every repeat; only images that are drawn at all are measured."""
    every = with_images(request, None, right=False)
    loaded = with_images(every, None)
    size, most = len(loaded.data), max(numbers)
    if most > size:
        raise InvalidArgument(
            f"images (--images) {most}: {size} images are classified correctly by all models; "
            f"write {size} or less, or give more images"
        )
    rng = np.random.default_rng([request.seed, repeats])
    drawn = np.stack([rng.permutation(size)[:most] for _ in range(repeats)])
    used, places = np.unique(drawn, return_inverse=True)
    words = f"{len(used)} of {size} inputs, drawn for {repeats} choices of {most} at random"
    if loaded.data.selection:
        words += f", after: {loaded.data.selection}"
    chosen = replace(loaded.data, selection=words).subset(used)
    return Choices(every, replace(loaded, data=chosen), places.reshape(drawn.shape))


def measure(choices: Choices, perturb: str, width: float, confidence: float) -> GlobalMeans:
    """Every image of every choice once, by each method; and the standard method on all images."""
    models = {}
    for name, model in choices.request.models.items():
        choices.request.caller.announce(f"{name}, {perturb}")
        results = {
            key: choices.request.run(
                "estimate", model, perturb, method=method, width=width, confidence=confidence
            )
            for key, method in METHODS.items()
        }
        results["baseline"] = _one_trial_each(choices.request, model, perturb, confidence, 1)
        standard = _one_trial_each(choices.every, model, perturb, confidence, 2)
        models[name] = ModelValues(
            {key: _values(result) for key, result in results.items()},
            results["ours"].view.headline[0],
            standard.view.headline[0],
            {"mean of the images": results["ours"], "standard method": standard},
        )
    return GlobalMeans(perturb, choices, models)


def _one_trial_each(
    request: Request,
    model: Any,  # noqa: ANN401  any kind of model
    perturb: str,
    confidence: float,
    draws: int,
) -> Result:
    """One perturbed image of each image, with the true label; `draws` names the random draws.

    One trial is within 1 - error/2 of every probability with an error of at most error/2: the
    smallest fixed size of that width is 1.
    """
    width = 1 - (1 - confidence) / 2
    return request.run(
        "estimate", model, perturb, method="fixed-size", width=width, confidence=confidence,
        property="true", seed=request.seed + draws,
    )  # fmt: skip


def _values(result: Result) -> Floats:
    """The estimated probability of being kept of each image, in order."""
    rows = [row.result for row in result.inputs]
    return np.array([row.value if isinstance(row, Estimate) else np.nan for row in rows])
