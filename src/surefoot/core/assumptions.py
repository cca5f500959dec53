"""What a guarantee takes for granted, and with which other statements it shares its error.

Values without words: `report/` has the words.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Assumed(StrEnum):
    """An assumption that has no number and no name in it."""

    SAMPLED = "inputs sampled"
    STRATIFIED = "inputs sampled within classes of equal shares"
    SAMPLED_WITHIN = "inputs sampled within classes"
    GROUPS_SAMPLED = "groups sampled"
    WHOLE_GROUPS = "groups whole or sampled within"
    CASES_SAMPLED = "cases sampled"
    CASES_WITHIN = "cases sampled within classes"
    CASE_GROUPS_SAMPLED = "groups of cases sampled"
    WHOLE_CASE_GROUPS = "groups of cases whole or sampled within"
    TRIALS_SETTLED = "number of trials independent of outcomes"
    SAME_POPULATION = "both runs of the same population"
    GIVEN_SCALES = "scales of the noise given"
    MODEL_UNCHANGED = "model unchanged during the run"
    ARITHMETIC = "real arithmetic"
    FLOAT32 = "float32 arithmetic"
    CONFIRMED = "same label when run again"
    PUBLISHED = "published brackets right"
    LOG_NORMAL = "radii log-normal"
    EXCHANGEABLE = "classes alike where equal on average"
    EXCHANGEABLE_GROUPS = "groups sampled, classes alike where equal on average"
    FITTED_ONLY = "tails extrapolated, over the fitted inputs"
    CHAINS_MIX = "splitting reached every kind of failure"
    NO_BOUND = "no bound on the error known"
    PRINTED_BOUND = "printed bound wrong at ties"


class Arithmetic(StrEnum):
    """In which numbers a model computes, where something is proved of it."""

    FLOAT32 = "float32"
    REAL = "real"

    @property
    def assumed(self) -> Assumed:
        """What a proof in it takes for granted."""
        return Assumed.FLOAT32 if self is Arithmetic.FLOAT32 else Assumed.ARITHMETIC


@dataclass(frozen=True)
class TheseGroups:
    """So many groups are an independent random sample of groups."""

    groups: int
    kind: Literal["groups"] = "groups"


@dataclass(frozen=True)
class Prior:
    """The prior of the log-normal posterior, up to a ceiling."""

    ceiling: float
    kind: Literal["prior"] = "prior"


@dataclass(frozen=True)
class NormalBeyond:
    """What is extrapolated: the severities by the name of their transform."""

    fit: str
    kind: Literal["normal tail"] = "normal tail"


@dataclass(frozen=True)
class Parabolas:
    """ASAP's: between neighbouring levels the curve lies between parabolas of this depth."""

    depth: float
    kind: Literal["parabolas"] = "parabolas"


@dataclass(frozen=True)
class CurveShape:
    """What a curve does between the levels that were measured.

    `shape` is the name that `--assume` takes, `of` what the height of the curve is, `contradicted`
    whether the size is so large because the data contradict a smaller one.
    """

    shape: str
    of: str
    size: float
    contradicted: bool = False
    kind: Literal["curve"] = "curve"


@dataclass(frozen=True)
class Stated:
    """In the words of a model or a verifier that is not ours."""

    words: str
    kind: Literal["stated"] = "stated"


Assumption = Assumed | TheseGroups | Prior | NormalBeyond | Parabolas | CurveShape | Stated


class Together(StrEnum):
    """Of what there are several statements that share one error."""

    INPUTS = "inputs"
    CLASSES = "classes"
    EVERY_CLASS = "every class"
    CLASSES_AND_INPUTS = "classes and all inputs"
    CLASSES_AND_CASES = "classes and all cases"
    PAIRS = "pairs"
    DIFFERENCES = "differences"
    RADII = "radii"
    THRESHOLDS = "thresholds"
    CURVES = "curves"
    NETWORKS = "networks"
    GROUPS = "quantiles of groups"
    QUANTILES = "quantiles"
    QUANTILES_AND_DIFFERENCES = "quantiles and their differences"
    MODELS = "models"
    LEVELS = "levels"
    FILES = "files"
    CELLS = "cells"
    VERDICTS = "verdicts, one for each perturbation"
    PERTURBED = "models, each under every perturbation"


@dataclass(frozen=True)
class Jointly:
    """Such statements, so many; `predicted`: the classes are those that the model predicts."""

    of: Together
    number: int = 0
    predicted: bool = False


def jointly(of: Together, number: int) -> Jointly | None:
    """Several such statements; one is by itself."""
    return Jointly(of, number) if number > 1 else None
