"""`smooth`: up to which distance does a vote over noise keep the class of each input?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from surefoot.commands import options as o
from surefoot.commands import values as v
from surefoot.errors import InvalidArgument
from surefoot.records.options import option, refused_value

if TYPE_CHECKING:
    from surefoot.commands.caller import Caller
    from surefoot.statistics import SmoothedRadius
    from surefoot.study import Result
    from surefoot.subject.inputs import Inputs
    from surefoot.subject.protocols import Model, Perturbation

_CONFIDENCE = 0.999
"""That of the published certificates."""
_WITHOUT_RADIUS = 10_000
"""Trials an input without --radius, where all of them are used: a radius up to 3.2 σ."""


@dataclass(frozen=True)
class SmoothOptions:
    """The noise, the radii, and how many trials each input may take."""

    sigma: v.Number | None = option(
        None,
        "Standard deviation of Gaussian noise, for L2 distances: 0.25, in the unit of the inputs.",
        common=True,
    )
    uniform: v.Number | None = option(
        None, "Instead of --sigma: half of the width of uniform noise, for L1 distances."
    )
    shift: v.Number | None = option(
        None,
        "Instead of --sigma: standard deviation in pixels of shifts of images around their edges, "
        "for shifts by whole pixels.",
    )
    radius: v.Numbers | None = option(
        None,
        "Decide whether each input is certified up to this distance: 0.5, or several: 0.25,0.5. "
        "Without, the distance of each is measured with all trials.",
        common=True,
    )
    grid: v.Number | None = option(
        None,
        "Step to which inputs and noise are rounded: 1/1024 (default: that of 8-bit images, and "
        "other inputs are refused).",
    )
    clip: bool = option(
        False, "Bring input plus noise back into the bounds before the model gets it."
    )
    confidence: v.Number = option(_CONFIDENCE, "Confidence of each certificate and of the result.")
    max_trials: int | None = option(
        None,
        "Maximum trials per input (default: 150,000 with --radius, of which most inputs take few "
        "hundred; 10,000 without, all of which are used).",
        least=1,
    )

    def method(self) -> SmoothedRadius:
        """The procedure with these settings."""
        from surefoot.statistics import SmoothedRadius

        radii = () if self.radius is None else v.as_numbers("radius", self.radius)
        if any(radius < 0 for radius in radii):
            raise refused_value("radius", self.radius, "must not be below 0: try 0.5")
        error = v.error_from(self.confidence)
        if self.max_trials is None and radii:
            return SmoothedRadius(radii, error)
        return SmoothedRadius(radii, error, self.max_trials or _WITHOUT_RADIUS)

    def noise(self, inputs: Inputs, model: Model) -> Perturbation:
        """The noise on the grid of these inputs; a model of whole numbers gets clipped sums."""
        from surefoot.perturb.grid import smoothing_noise

        named = {"sigma": self.sigma, "uniform": self.uniform, "shift": self.shift}
        levels = {k: None if one is None else v.as_number(k, one) for k, one in named.items()}
        adds = self.shift is None
        clip = self.clip or (adds and model.signature.whole_numbers)
        if clip and model.signature.bounds is None:
            raise refused_value("clip", clip, "needs the range of values: add --bounds 0,1")
        if self.grid is None:
            grid = _grid_of(inputs) if adds else None
            return smoothing_noise(levels, grid, rounds=False, clip=clip)
        return smoothing_noise(levels, v.as_number("grid", self.grid), rounds=True, clip=clip)


@dataclass(frozen=True)
class CertifiedRequirementOptions:
    """Requirements of certified accuracy at the one radius."""

    require: v.Number | None = option(
        None,
        "With one --radius: require at least this certified accuracy of the population: 0.6.",
        common=True,
    )
    require_these: v.Number | None = option(
        None, "With one --radius: require it of at least this share of these inputs: 0.6."
    )


def smooth(
    model: o.ModelArgument,
    data: o.DataArgument,
    *,
    measurement: SmoothOptions,
    requirement: CertifiedRequirementOptions,
    running: o.BatchOptions,
    caller: Caller,
) -> Result:
    """Certify the smoothed model, a vote over noise: no input nearby has another class.

    Model and data as for `sf.estimate`; the options are those of `surefoot smooth`. What is
    certified is `sf.Smoothed(model, sigma)`, not the model itself.

    Example: sf.smooth("model.onnx", "test.npz", sigma=0.25, radius=0.5)
    """
    from surefoot.commands.request import read_subjects, run_one
    from surefoot.study import Study

    method = measurement.method()
    wanted = _required(requirement, method.radii)
    running.check()
    subjects = read_subjects({"": model}, data, running, running.seed)
    loaded, chosen = subjects.models[""], subjects.inputs
    if chosen.labels is None and wanted != o.Required():
        raise InvalidArgument(
            f"a requirement is about certified accuracy, and {chosen.source} holds no labels: add "
            "them (--labels), or leave out require (--require, --require-these)"
        )
    noise = measurement.noise(chosen, loaded)
    study = Study(loaded, chosen, noise, method, seed=running.seed)
    running.check_clean(chosen)
    source = replace(subjects, kept_if=study.property.kind).source("", caller, "")
    result = run_one(study, source, caller, **running.arguments())
    return running.finish(result, caller.command, **vars(wanted))


def _required(given: CertifiedRequirementOptions, radii: tuple[float, ...]) -> o.Required:
    """What is required, where it can be: of one radius."""
    least = None if given.require is None else v.share("require", given.require)
    these = None if given.require_these is None else v.share("require_these", given.require_these)
    if (least, these) != (None, None) and len(radii) != 1:
        raise InvalidArgument(
            "a requirement is about certified accuracy at one radius: add radius (--radius 0.5), "
            "and only one"
        )
    return o.Required(least, None, these)


def _grid_of(inputs: Inputs) -> float:
    """1/255 for values up to 1, else 1: those of 8-bit images; the study refuses other inputs."""
    from surefoot.perturb.grid import BYTES

    return BYTES if inputs.holds_items or float(max(inputs.largest, -inputs.least)) <= 1 else 1.0
