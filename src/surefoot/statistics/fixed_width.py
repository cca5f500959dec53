"""Estimate a probability to a fixed width. The procedures ask for numbers of trials."""

from __future__ import annotations

import json
import math
import os
from bisect import bisect_left
from collections.abc import Generator
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

from surefoot.core.counts import Counts
from surefoot.core.limits import between, check_fields, check_value
from surefoot.core.procedure import Forecast, Needs
from surefoot.core.results import Estimate, Footing, Guarantee, Interval
from surefoot.errors import InvalidArgument, ReportFailed
from surefoot.statistics.bounds import (
    ERROR,
    SMALLEST_ERROR,
    check_error,
    chernoff,
    clopper_pearson,
    fixed_size,
    okamoto,
)
from surefoot.statistics.designs import SMALLEST_PROVED, Design, calibrate, draft
from surefoot.system.whole_file import write_whole

Trials = Generator[int, Counts, Estimate]
_NARROWEST = 1e-6
"""Narrower widths need more than 10^11 trials."""
_MOST_EXACT = 3_000_000
"""Trials of the largest exact method: two minutes to prove its design, five seconds to size it."""


_WIDTH = between(0, 1, f"try 0.02 (the least is {_NARROWEST:g})", least=_NARROWEST)


def check_exact(width: float, error: float) -> None:
    """Refuse what exact methods would compute on for hours."""
    from scipy.special import ndtri

    check_value("width", width, _WIDTH)
    check_error(error)
    spread = abs(float(ndtri(error / 2))) / 2
    if (spread / width) ** 2 > _MOST_EXACT:
        raise InvalidArgument(
            f"width {width} with error {error} is too narrow for an exact method: the least is "
            f"{spread / math.sqrt(_MOST_EXACT):.2g}, or use okamoto or bu-sun"
        )


def around(rate: float, width: float) -> Interval:
    """The values within `width` of the rate."""
    return Interval(max(0.0, rate - width), min(1.0, rate + width))


@dataclass(frozen=True)
class OfWidth:
    """What methods share that estimate to a width, and are off by more with at most `error`."""

    width: float = field(metadata=_WIDTH)
    error: float = field(metadata=ERROR)
    evidence: ClassVar[type[Counts]] = Counts
    needs: ClassVar[Needs] = Needs.SAMPLES

    def __post_init__(self) -> None:
        check_fields(self)

    def _conclude(self, final: Counts, spent: int = 0) -> Estimate:
        """The observed rate of a stage whose size was settled before it began: unbiased."""
        promise = Guarantee(Footing.SOUND, self.error)
        near = around(final.rate, self.width)
        return Estimate(final.rate, near, promise, spent + final.trials, final.rate, final.trials)


@dataclass(frozen=True)
class Okamoto(OfWidth):
    """As many trials as Hoeffding's bound asks for, whatever p is."""

    def steps(self) -> Trials:
        """One question."""
        return self._conclude((yield okamoto(self.width, self.error)))


@dataclass(frozen=True)
class FixedSize(OfWidth):
    """As few trials as one fixed number can be, whatever p is (exact binomial)."""

    def __post_init__(self) -> None:
        check_exact(self.width, self.error)

    def steps(self) -> Trials:
        """One question."""
        return self._conclude((yield fixed_size(self.width, self.error)))


CANDIDATES = tuple(percent / 100 for percent in range(1, 21))
"""Sizes of the second stage that Bu & Sun try, as shares of Okamoto's number."""
_PILOT_SHARE = 0.05
"""The part of the error that Bu & Sun give to the interval of the second stage. They report that
anything from 0.01 to 0.1 does well."""


@dataclass(frozen=True)
class BuSun(OfWidth):
    """Few trials where p is near 0 or 1: pilot, bracket, then what the bracket calls for.

    Bu & Sun, algorithms 1 and 2. The last stage uses fresh trials only: the proof needs it.

    `pilot_error` is their δ′, the part of the error that the interval of the second stage may use;
    the last stage has the rest. None is a twentieth of the error, as published. `candidates` are
    the sizes of the second stage to choose from, as shares of Okamoto's number. Both decide what it
    costs; the promise holds for all of them.
    """

    pilot_error: float | None = None
    candidates: tuple[float, ...] = CANDIDATES

    def __post_init__(self) -> None:
        super().__post_init__()
        least = _PILOT_SHARE * SMALLEST_ERROR  # for the last stage, and for the interval before it
        if self.pilot_error is not None and not least <= self.pilot_error <= self.error - least:
            raise InvalidArgument(
                f"pilot_error must lie between 0 and the error, {self.error:g}, got "
                f"{self.pilot_error}: the second stage may use it, the last one has the rest; try "
                f"{_PILOT_SHARE * self.error:g}"
            )
        try:
            sizes = tuple(sorted({float(share) for share in self.candidates}))
        except (TypeError, ValueError):
            sizes = ()
        if not sizes or not all(0 < share < 1 for share in sizes):
            raise InvalidArgument(
                f"candidates are shares of Okamoto's number between 0 and 1, got "
                f"{self.candidates!r}: try (0.01, 0.05, 0.2)"
            )
        # In rising order, each once, so that two that mean the same are the same study.
        object.__setattr__(self, "candidates", sizes)

    def steps(self) -> Trials:
        """Three questions at most."""
        ceiling = okamoto(self.width, self.error)
        if self.width >= 1 / 3:
            return self._conclude((yield ceiling))
        pilot = yield self.pilot_size
        best = self.bracket_size(pilot)
        if best is None:
            return self._conclude((yield ceiling), pilot.trials)
        bracket = yield best
        # Fresh trials: the proof needs the estimate to be independent of what settled its size.
        final = yield self.final_size(bracket)
        return self._conclude(final, pilot.trials + bracket.trials)

    @property
    def pilot_size(self) -> int:
        """Trials of the first stage."""
        return max(10, min(100, math.ceil(0.01 * okamoto(self.width, self.error))))

    def forecast_from(self, counts: Counts) -> Forecast:
        """After the pilot what its rate calls for; after the bracket the last stage is asked."""
        ceiling, pilot = okamoto(self.width, self.error), self.pilot_size
        if self.width >= 1 / 3:
            return Forecast(ceiling, ceiling)
        bracket = math.ceil(max(self.candidates) * ceiling) + 1
        most = pilot + bracket + okamoto(self.width, self._rest_of_error)
        if not counts.trials:
            return Forecast(pilot + ceiling, most)
        if counts.trials > pilot:
            return Forecast(counts.trials, most)
        best = self.bracket_size(counts)
        further = ceiling if best is None else self._total(best, counts.rate)
        return Forecast(pilot + further, most)

    def bracket_size(self, pilot: Counts) -> int | None:
        """Trials of the second stage; None where Okamoto's number is no dearer than any bracket."""
        return _bracket_size(self, pilot)

    def final_size(self, bracket: Counts) -> int:
        """Trials of the last stage, enough for every p in the interval of the second."""
        within = clopper_pearson(bracket, self._bracket_error)
        return chernoff(within, self.width, self._rest_of_error)

    @property
    def _rest_of_error(self) -> float:
        spent = self._bracket_error
        return (self.error - spent) / (1 - spent)

    @property
    def _bracket_error(self) -> float:
        return _PILOT_SHARE * self.error if self.pilot_error is None else self.pilot_error

    def _total(self, n: int, pilot: float) -> int:
        """Cost of bracketing with n trials, supposing they go as the pilot did."""
        return n + self.final_size(Counts(n, round(n * pilot)))


@lru_cache(maxsize=4096)
def _bracket_size(method: BuSun, pilot: Counts) -> int | None:
    """The cheapest bracket if all goes on as the pilot did; None where none is worth its trials."""
    ceiling = okamoto(method.width, method.error)
    sizes = (math.ceil(Fraction(str(share)) * ceiling) for share in method.candidates)
    cost, best = min((method._total(n, pilot.rate), n) for n in sizes)
    return best if cost < ceiling else None


CACHE = "SUREFOOT_CACHE"


def check_design(width: float, error: float) -> None:
    """Refuse what takes hours to prove, or cannot be proved in double precision."""
    check_exact(width, error)
    if error < SMALLEST_PROVED:
        raise InvalidArgument(
            f"error {error} is too small to prove a sequential design in double precision: the "
            f"least is {SMALLEST_PROVED:g}, or use fixed-size, okamoto or bu-sun"
        )


@lru_cache(maxsize=64)
def design_for(width: float, error: float) -> Design:
    """A design that is proved to keep `error` at `width`."""
    check_design(width, error)
    known = _shipped().get(_name(width, error)) or _cached(width, error)
    if known is not None:
        return known
    design = calibrate(width, error)
    _cache(design)
    return design


def _name(width: float, error: float) -> str:
    return f"{width!r}-{error!r}"


@lru_cache(maxsize=1)
def _shipped() -> dict[str, Design]:
    """The designs that come with the package (`scripts/make_designs.py` made them)."""
    text = (files("surefoot.statistics") / "designs.json").read_text(encoding="utf-8")
    designs = (read_design(line) for line in json.loads(text))
    return {_name(d.width, d.error): d for d in designs if d is not None}


def read_design(values: dict[str, float]) -> Design | None:
    """The design these numbers describe; None if they contradict each other.

    Looks and limits follow from z and the pseudo-count; only what was proved of them is taken
    on trust, and only if it is enough.
    """
    try:
        design = draft(*(float(values[name]) for name in ("width", "error", "z", "pseudo")))
        proved = float(values["proved"])
    except (KeyError, TypeError, ValueError):
        return None
    if not 0 < proved <= design.error:
        return None
    return replace(design, proved=proved)


def design_values(design: Design) -> dict[str, float]:
    """The numbers that are stored of a design."""
    return {name: asdict(design)[name] for name in ("width", "error", "z", "pseudo", "proved")}


def _place(width: float, error: float) -> Path:
    folder = os.environ.get(CACHE) or Path.home() / ".cache" / "surefoot"
    return Path(folder) / f"design-{_name(width, error)}.json"


def _cached(width: float, error: float) -> Design | None:
    try:
        values = json.loads(_place(width, error).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    design = read_design(values) if isinstance(values, dict) else None
    same = design is not None and (design.width, design.error) == (width, error)
    return design if same else None


def _cache(design: Design) -> None:
    """Store the design for the next run. If the folder cannot be written, it is computed again."""
    place = _place(design.width, design.error)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, json.dumps(design_values(design)))
    except (OSError, ReportFailed):
        return


@dataclass(frozen=True)
class ExactSequential(OfWidth):
    """Look at planned numbers of trials and stop at the first where the estimate is near enough.

    The probability of a miss is proved to be at most `error` for every p (`statistics/designs.py`).
    """

    def __post_init__(self) -> None:
        check_design(self.width, self.error)

    @property
    def design(self) -> Design:
        """When to look and when to stop, and what is proved of it."""
        return design_for(self.width, self.error)

    def forecast_from(self, counts: Counts) -> Forecast:
        """Up to the look where inputs with the rate so far stop; the last one without any trial."""
        design = self.design
        if not counts.trials:
            return Forecast(design.looks[-1], design.looks[-1])
        near = (counts.kept + design.pseudo) / (counts.trials + 2 * design.pseudo)
        enough = near * (1 - near) * (design.z / design.width) ** 2
        look = min(bisect_left(design.looks, enough), len(design.looks) - 1)
        return Forecast(max(design.looks[look], counts.trials), design.looks[-1])

    def steps(self) -> Trials:
        """One question a look. The rate at the first look, whose size is fixed, is unbiased."""
        design = self.design
        counts = yield design.looks[0]
        first = counts.rate
        for look, (before, now) in enumerate(pairwise(design.looks)):
            if design.stops(look, counts.kept):
                break
            counts += yield now - before
        near = around(counts.rate, self.width)
        promise = Guarantee(Footing.SOUND, self.error)
        return Estimate(counts.rate, near, promise, counts.trials, first, design.looks[0])
