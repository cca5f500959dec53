"""`assert_robust`: a requirement on a model as an assertion of a test."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import SupportsFloat

from surefoot.commands.functions import certify, estimate
from surefoot.commands.values import AnyData, AnyModel, AnyPerturbation, Given
from surefoot.conclude.sampling_requirements import out_of_reach
from surefoot.core.claims import UNDECIDED_CHOICES, Claim, Verdict
from surefoot.core.results import Undecided
from surefoot.engine.examples import kept_share
from surefoot.errors import InvalidArgument, SurefootWarning
from surefoot.records.options import option_name
from surefoot.records.record import InputRow
from surefoot.report.formatting import percent
from surefoot.report.sentences import measured_words, sentence
from surefoot.report.tables import clean_fault
from surefoot.study import Result
from surefoot.system.text import escape_controls
from surefoot.testing.assertions import NotRobust, raise_undecided

_COARSEST = 0.02
"""Half-width of the mean at most: what the examples of `surefoot estimate` ask for."""
_FINEST = 0.001
"""And at least: a hundred thousand trials or so; who wants more says so with `precision`."""
_PART_OF_ALLOWED = 0.25
"""Of the failures that are allowed: a model that fails half as often is then decided."""
_LEAST_ERROR = 1e-9
"""A confidence is read with twelve digits: of a smaller error too few would be left."""
_LARGEST_ERROR = 0.5
"""With a larger one a coin would do as well."""
_WORST = 3
"""Inputs named in a message: what fits on a line."""
_LONGEST_ID = 40
"""Characters of an id in a message; some are paths."""
_WORST_FIRST = (Verdict.FAIL, Verdict.UNDECIDED, Verdict.PASS, None)
_SAME_SEED = "another seed would void the promise."
_OTHER_WORDS = {
    "require": "at_least",
    "require_these": "at_least with about='these'",
    "require_each": "result.require(of_each_class=…) of an sf.estimate",
    "confidence": "error, which is 1 - confidence",
    "levels": "one assertion for each level",
}
"""Options of `sf.estimate` and `sf.certify` that have another word here."""


@dataclass(frozen=True)
class _Requirement:
    """At least this share is kept, on average over these inputs or the population.

    `of_decisions`: at least this share of inputs fails under at most kappa.
    """

    at_least: float
    error: float
    about: str
    of_decisions: bool

    def options(self, given: Mapping[str, Given]) -> dict[str, Given]:
        """The options of `sf.certify` or `sf.estimate` that measure and decide it."""
        run = {"store": None, "workers": 1, "progress": False, "confidence": 1 - self.error}
        if self.of_decisions:
            word = "require_these" if self.about == "these" else "require"
            return {**run, **given, word: self.at_least}
        if given.get("each") is not None:  # each input; then the requirement is of the population
            if self.about == "these":
                raise InvalidArgument(
                    f"each {given['each']} is for each input and a requirement on the "
                    "population: add about='population', or give a precision in its place"
                )
            return {**run, **given, "require": self.at_least}
        allowed = _PART_OF_ALLOWED * (1 - self.at_least)
        precision = min(_COARSEST, max(_FINEST, allowed))
        mean = {"precision": precision, "about": self.about}
        return {**run, **mean, **given, "require": self.at_least}

    def way_out(self, result: Result) -> str:
        """What may decide it besides what the claim names, where it is undecided."""
        if result.record.blocks is not None:
            return ""  # nothing may: the claim says so
        if not self.of_decisions and out_of_reach(result.record, self.at_least):
            return ""
        open_inputs = sum(isinstance(row.result, Undecided) for row in result.inputs)
        if self.of_decisions and open_inputs:
            more = (
                f"More trials for each of the {open_inputs} undecided inputs (a larger max_trials)"
            )
            return f"{more}, or a larger error than {self.error:g}, may decide it; {_SAME_SEED}"
        return f"A larger error than {self.error:g} may decide it too; {_SAME_SEED}"


def assert_robust(
    model: AnyModel,
    inputs: AnyData,
    perturbation: AnyPerturbation,
    at_least: float = 0.95,
    error: float = 0.01,
    *,
    about: str = "these",
    undecided: str | None = None,
    **options: Given,
) -> Result:
    """Pass if at least this share of the perturbations is shown to be kept, on average.

    Model, inputs and perturbation as for `sf.estimate`; wrong with probability at most `error`.
    `about` is "these" inputs or the "population" that they are a random sample of. With `kappa` (or
    `sil`): at least this share of the inputs fails under at most kappa, as `sf.certify` decides it.
    Other options are those of the two functions; `store` is None, so that no file is left.

    Refuted: raises `NotRobust`. Neither shown nor refuted: `undecided` is "fail" (raises
    `RobustnessUndecided`), "skip" or "pass"; by default as pytest's option `surefoot_undecided`
    says, else "fail". Both are AssertionErrors with the claim as message. Returns the result.

    Example: sf.assert_robust("model.onnx", "test.npz", "linf:8/255", at_least=0.9, first=50)
    """
    __tracebackhide__ = True
    # What is required; refuses what has another word here, and what is no share.
    for name, instead in _OTHER_WORDS.items():
        if name in options:
            raise InvalidArgument(f"assert_robust takes no {name}: use {instead}")
    if about not in ("these", "population"):
        raise InvalidArgument(f"about must be these or population, got {about!r}")
    if not _LEAST_ERROR <= _share("error", error) <= _LARGEST_ERROR:
        raise InvalidArgument(
            f"error must lie between {_LEAST_ERROR:g} and {_LARGEST_ERROR:g}, got {error}: it is "
            "the probability that a verdict is wrong, such as 0.01"
        )
    of_decisions = any(options.get(name) is not None for name in ("kappa", "sil"))
    required = _Requirement(_share("at_least", at_least), float(error), about, of_decisions)
    if undecided is not None and undecided not in UNDECIDED_CHOICES:
        raise InvalidArgument(f"undecided must be fail, skip or pass, got {undecided!r}")
    measure = certify if required.of_decisions else estimate
    result = measure(model, inputs, perturbation, **required.options(options))
    claim = min(result.verdicts, key=lambda one: _WORST_FIRST.index(one.verdict))
    for note in result.view.cautions:
        warnings.warn(escape_controls(note), SurefootWarning, stacklevel=2)
    if claim.verdict is Verdict.FAIL:
        raise NotRobust(_lines(*_verdict(claim, result), worst_inputs(result)), result)
    if claim.verdict is Verdict.UNDECIDED:
        lines = _lines(*_verdict(claim, result), required.way_out(result))
        raise_undecided(lines, undecided, result)
    return result


def _verdict(claim: Claim, result: Result) -> list[str]:
    """The verdict, by how much, and what must be known to read that."""
    measured = measured_words(claim, result.claims)
    return [python_words(sentence(claim)), measured, *result.view.urgent]


def python_words(text: str) -> str:
    """The text with the word of a test or a study file, where it has that of the shell too."""
    return text.replace(option_name("precision"), "precision")


def _share(name: str, value: Given) -> float:
    number = float(value) if isinstance(value, SupportsFloat) else math.nan
    if 0 <= number <= 1 and not isinstance(value, bool):
        return number
    way_out = f": write {number / 100:g} for {number:g} %" if 1 < number <= 100 else ""
    raise InvalidArgument(f"{name} must be a number between 0 and 1, got {value!r}{way_out}")


def worst_inputs(result: Result) -> str:
    """The inputs that failed most often in the run, in a line; empty where none is known to."""
    rates = [(kept_share(row.result), row.id, row) for row in result.inputs]
    failing = sorted(
        (rate, name, row) for rate, name, row in rates if rate is not None and rate < 1
    )
    worst = ", ".join(
        _in_words(rate, row, clean_fault(result.record, row)) for rate, _, row in failing[:_WORST]
    )
    return f"Failed most often in this run: {worst}." if worst else ""


def _in_words(rate: float, row: InputRow, fault: str) -> str:
    name = row.id if len(row.id) <= _LONGEST_ID else f"…{row.id[1 - _LONGEST_ID :]}"
    clean = f", {fault} when clean" if fault else ""
    return f"{name} ({percent(1 - rate)}{clean})".replace("\n", r"\n")


def _lines(*parts: str) -> str:
    return escape_controls("\n".join(part for part in parts if part))
