"""How far does the class of a smoothed model hold? One test of its probability, for all radii.

The smoothed model gives the class that the model gives most often to the input plus noise. If a
class has probability p there, it stays the most frequent one at every input nearby: under Gaussian
noise up to the distance σ·Φ⁻¹(p) in L2 (Cohen et al. 2019), under uniform noise on [-λ, λ] up to
2λ(p - ½) in L1 (Yang et al. 2020). Shifts of an image add up as values do, and so does noise on
their length (Fischer et al. 2020). So "it holds up to r" is "it fails less often than κ(r)", which
κ-tests decide as early as the evidence allows. docs/decisions/smoothing.md has the argument,
and why the noise on a grid keeps it true in floating point.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import ClassVar

from surefoot.core.counts import Counts
from surefoot.core.limits import check_fields, limit
from surefoot.core.procedure import Forecast, Needs
from surefoot.core.reasons import Why
from surefoot.core.results import Certificate, Decision, Guarantee, Undecided
from surefoot.errors import InvalidArgument
from surefoot.statistics.bounds import ERROR
from surefoot.statistics.kappa import clean_trials, log_evidence_below, supported

_ROUNDING = 1e-12
"""Relative: by so much κ is taken smaller and a radius shorter than computed."""
_SMALLEST_KAPPA, _MOST_TRIALS = 1e-9, 10**9
"""Within these the evidence of κ-tests is exact enough."""
_FIRST, _GROWTH, _OVER_GROWTH = 16, 0.5, 0.25
"""Trials of the first look, and to the next relative to those so far: fewer where more than κ
failed. A look costs time; it never lies beyond where a radius could first be shown."""
_HOPE = 2.6
"""Standard errors by which the failure rate may be lower than seen, for a radius to be given up
only where even that would not show it within the budget: one in 200, of inputs at the limit."""
_MOST_EVIDENCE = 690.0
"""Of a logarithm whose exponential is still a number."""


class Norm(StrEnum):
    """In which changes of an input are measured; a shift in pixels, by its length."""

    L2 = "L2"
    L1 = "L1"
    SHIFT = "shift"


@dataclass(frozen=True)
class Smoothing:
    """Noise on every value whose law is known to change little when the input moves.

    `scale` is the standard deviation of Gaussian noise (L2, shifts), or half of the width of
    uniform noise (L1). `slack`: the noise as it is drawn differs from that law by at most this, in
    total variation, and so does every probability under it.
    """

    norm: Norm
    scale: float
    slack: float = 0.0

    def kappa(self, radius: float) -> float:
        """The class holds up to this radius if it fails in fewer of the trials as drawn.

        Below 0 where nothing is enough.
        """
        if self.norm is Norm.L1:
            most = 0.5 - radius / (2 * self.scale)
        else:
            most = math.erfc(radius / self.scale / math.sqrt(2)) / 2
        return most * (1 - _ROUNDING) - self.slack

    def radius(self, failing: float) -> float | None:
        """Up to where the class holds if it fails in at most this share of the trials as drawn.

        None where it need not even be the most frequent one.
        """
        from scipy.special import ndtri

        most = (failing + self.slack) * (1 + _ROUNDING)
        if failing >= self.kappa(0.0) or most <= 0:
            return None
        far = 1 - 2 * most if self.norm is Norm.L1 else -float(ndtri(most))
        radius = max(0.0, self.scale * far)
        while self.kappa(radius) < failing:  # the inverse is rounded too
            radius *= 1 - _ROUNDING
        return radius

    def evidence(self, failed: int, trials: int, radius: float) -> float:
        """log of the e-value against "the class need not hold up to this radius".

        It falls with the radius, since that of a κ-test grows with κ: all radii that reach the same
        level hold together with the error of one.
        """
        return _evidence(failed, trials, self.kappa(radius))


@lru_cache(maxsize=65_536)
def _evidence(failed: int, trials: int, kappa: float) -> float:
    if trials == 0 or kappa < _SMALLEST_KAPPA:
        return -math.inf
    return log_evidence_below(failed, trials, kappa)


_BUDGET = limit(
    lambda trials: 1 <= trials <= _MOST_TRIALS,
    f"lie between 1 and {_MOST_TRIALS:,}",
    "try 150000",
    "{:,}",
)


@dataclass(frozen=True)
class SmoothedRadius:
    """The radius up to which the smoothed model keeps a class; with `radii`, whether up to each.

    Of each input wrong with at most `error`, for all radii together. With radii an input is done
    once the largest is shown, or where the smallest that is not cannot be shown within
    `max_trials`: "not shown" is no claim, and costs no error. Without, all trials are used, unless
    the class is clearly not the most frequent one.
    """

    radii: tuple[float, ...] = ()
    error: float = field(default=0.001, metadata=ERROR)
    max_trials: int = field(default=150_000, metadata=_BUDGET)
    evidence: ClassVar[type[Counts]] = Counts
    needs: ClassVar[Needs] = Needs.SMOOTHING

    def __post_init__(self) -> None:
        check_fields(self)
        radii = tuple(sorted({float(radius) for radius in self.radii}))
        object.__setattr__(self, "radii", radii)
        if radii and not (radii[0] >= 0 and radii[-1] < math.inf):
            raise InvalidArgument(
                f"a radius is a finite number from 0 on, got {self.radii}: try 0.5",
                option="radius",
                value=radii,
            )

    def under(self, noise: Smoothing) -> RadiusTest:
        """The test of one input under this noise; refused where no trials could show a radius."""
        test = RadiusTest(self, noise)
        if self.radii and self.radii[-1] > (test.limit or 0.0):
            most = "no radius at all"
            if test.limit is not None:
                most = f"at most {_rounded_down(test.limit)}"
            raise InvalidArgument(
                f"radius {self.radii[-1]:g} cannot be shown with {self.max_trials:,} trials an "
                f"input under this noise, {most} can: ask for a smaller radius (--radius), take "
                "more noise (--sigma), or allow more trials (--max-trials)",
                option="radius",
                value=self.radii[-1],
            )
        return test


def _rounded_down(radius: float) -> str:
    """Four digits of it."""
    unit = 10.0 ** (math.floor(math.log10(radius)) - 3) if radius else 1.0
    return f"{math.floor(radius / unit) * unit:.4g}"


@dataclass(frozen=True)
class RadiusTest:
    """`SmoothedRadius` of one input under a noise: a procedure that asks for trials."""

    method: SmoothedRadius
    noise: Smoothing

    @property
    def limit(self) -> float | None:
        """The largest radius that the budget can show: that of trials which all keep the class."""
        return self.noise.radius(supported(0, self.method.max_trials, self.method.error))

    def steps(self) -> Generator[int, Counts, Certificate]:
        """Look often at first; the next look is never beyond where a radius could be shown."""
        counts = Counts(0, 0)
        while more := self._more(counts):
            counts += yield more
        return self.certificate(counts)

    def certificate(self, counts: Counts) -> Certificate:
        """What these trials show; the radius is never below a given one that is shown."""
        failed, error = counts.trials - counts.kept, self.method.error
        bound = supported(failed, counts.trials, error)
        shown = tuple(radius for radius in self.method.radii if self._shown(counts, radius))
        known = [self.noise.radius(bound), *shown[-1:]]
        radius = max((one for one in known if one is not None), default=None)
        return Certificate(radius, shown, counts.kept, counts.trials, Guarantee.sound(error))

    def decision(self, found: Certificate, radius: float) -> Decision | Undecided:
        """Whether it is shown up to this radius, with the strength of the evidence."""
        if found.radius is None or found.radius < radius:
            return Undecided(Why.RADIUS_NOT_SHOWN.of(radius), found.trials)
        failed = found.trials - found.kept
        # of a radius that the trials chose the evidence may lack what was rounded
        least = math.log(1 / self.method.error)
        evidence = max(self.noise.evidence(failed, found.trials, radius), least)
        return Decision(
            f"the class holds up to {radius!r}",
            True,
            found.guarantee,
            found.trials,
            found.kept,
            math.exp(-evidence),
            e_value=math.exp(min(evidence, _MOST_EVIDENCE)),
        )

    def forecast_from(self, counts: Counts) -> Forecast:
        """As many as show the largest radius if no more fail; all of them without radii."""
        most, radii = self.method.max_trials, self.method.radii
        if not radii:
            return Forecast(most, most)
        failed = counts.trials - counts.kept
        clean = clean_trials(failed, self.noise.kappa(radii[-1]), self.method.error)
        return Forecast(min(max(clean, counts.trials), most), most)

    def _shown(self, counts: Counts, radius: float) -> bool:
        failed = counts.trials - counts.kept
        enough = math.log(1 / self.method.error)
        return self.noise.evidence(failed, counts.trials, radius) >= enough

    def _more(self, counts: Counts) -> int:
        """Trials until the next look; 0 where the input is done."""
        radii, trials = self.method.radii, counts.trials
        left = self.method.max_trials - trials
        open_ = [radius for radius in radii if not self._shown(counts, radius)]
        if left == 0 or (radii and not open_):
            return 0
        kappa = self.noise.kappa(open_[0] if open_ else 0.0)
        if trials and self._hopeless(counts, kappa):
            return 0
        failed = trials - counts.kept
        growth = _OVER_GROWTH if failed > kappa * trials else _GROWTH
        step = max(_FIRST, math.ceil(growth * trials))
        if radii:
            step = min(step, clean_trials(failed, kappa, self.method.error) - trials)
        return max(1, min(step, left))

    def _hopeless(self, counts: Counts, kappa: float) -> bool:
        """Whether a lower failure rate than the trials suggest would not show it in time either."""
        trials, most = counts.trials, self.method.max_trials
        failed = trials - counts.kept
        rate = (failed + 1) / (trials + 2)
        lowest = max(0.0, rate - _HOPE * math.sqrt(rate * (1 - rate) / trials))
        if lowest >= kappa:
            return True
        at_end = failed + math.floor(lowest * (most - trials))
        return _evidence(at_end, most, kappa) < math.log(1 / self.method.error)
