"""The default of `surefoot estimate`: stop as soon as the width is reached, provably."""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

from surefoot.core.counts import Counts
from surefoot.core.procedure import Forecast
from surefoot.core.results import Estimate, Footing, Guarantee
from surefoot.errors import InvalidArgument, ReportFailed
from surefoot.statistics.designs import SMALLEST_PROVED, Design, calibrate, draft
from surefoot.statistics.fixed_width import OfWidth, Trials, around, check_exact
from surefoot.system.whole_file import write_whole

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
