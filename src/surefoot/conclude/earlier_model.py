"""Whether a model is not worse than an earlier one, from the records of their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from surefoot.conclude.curve_not_worse import curve_not_worse
from surefoot.conclude.not_worse import not_worse_claim, not_worse_elsewhere
from surefoot.conclude.radius_not_worse import radius_not_worse
from surefoot.conclude.stability import as_in_records
from surefoot.conclude.withheld_verdicts import without_doubtful
from surefoot.core.claims import Claim
from surefoot.errors import InvalidArgument
from surefoot.records.record import Curves, InputRow, Radii, Record, Samples

_CURVE_OPTIONS = ("low", "high", "thresholds", "scope", "measure", "fixed_draws", "clean")
"""Options that say which curve is measured; the others say how."""


def not_worse_than(
    record: Record, earlier: Record, *, names: tuple[str, str], margin: float, error: float
) -> tuple[Claim, ...]:
    """The verdict on a model against an earlier one; on a curve, one for each threshold.

    At one level each input's estimate is unbiased, or bounded with a stated error, whatever the
    width and the error of the method were, so the differences input by input are a sample of
    differences of the population. With the same seed both met the same perturbations, which makes
    the interval shorter; with another it holds as well. Where one run has all inputs of the other,
    those are compared; where each has its own, what is said of the population is. `names` are how
    the claim calls the two (`different_names`).
    """
    mine, theirs = names
    _check_same_question(record, earlier, theirs)
    parts = {mine: record, theirs: earlier}
    if isinstance(record.details, Curves):
        claims = curve_not_worse(parts, margin, error, same_inputs=_same_inputs(record, earlier))
    elif isinstance(record.details, Radii):
        if not _same_inputs(record, earlier):
            raise InvalidArgument(
                f"{theirs} was measured on other inputs, and radii are compared on the same ones: "
                "measure the earlier model again on these (previous-model)"
            )
        claims = (radius_not_worse(parts, margin),)
    else:
        claims = (_at_one_level(parts, margin, error),)
    claims = without_doubtful(claims, (record, earlier))
    return as_in_records(claims, (record, earlier))


def _at_one_level(parts: Mapping[str, Record], margin: float, error: float) -> Claim:
    """Input by input on those that both runs have, if one has all of the other's."""
    name, (record, earlier) = next(iter(parts)), parts.values()
    if _same_inputs(record, earlier):
        return not_worse_claim(parts, name, margin, error)
    mine, theirs = ({_input(row) for row in one.inputs} for one in (record, earlier))
    named = all(row.digest for one in (record, earlier) for row in one.inputs)
    if not named or not (mine <= theirs or theirs <= mine):
        return not_worse_elsewhere(parts, name, margin, error)
    common = mine & theirs
    pairs = {
        called: replace(one, inputs=tuple(r for r in one.inputs if _input(r) in common))
        for called, one in parts.items()
    }
    claim = not_worse_claim(pairs, name, margin, error)
    on_which = f"compared on the {len(common):,} inputs that both runs have"
    return replace(claim, reason="; ".join(filter(None, [on_which, claim.reason])))


def _input(row: InputRow) -> tuple[str, str]:
    """Its name, and that of its values and label."""
    return row.id, row.digest


def _same_inputs(record: Record, earlier: Record) -> bool:
    rows, others = ({r.id: (r.label, r.group) for r in one.inputs} for one in (record, earlier))
    return rows == others and record.study.inputs.digest == earlier.study.inputs.digest


def different_names(mine: str, theirs: str) -> tuple[str, str]:
    """File names; whole paths where the file names are the same."""
    short = PurePath(mine).name, PurePath(theirs).name
    if short[0] != short[1]:
        return short
    return (mine, theirs) if mine != theirs else (mine, f"{theirs} before")


def _check_same_question(record: Record, earlier: Record, name: str) -> None:
    """The same quantity under the same perturbation, or nothing is compared."""
    for one in (record, earlier):
        sampled = isinstance(one.details, Samples) and one.study.population is not None
        if not sampled and not isinstance(one.details, Curves | Radii):
            raise InvalidArgument(
                f"run {one.digest[:12]} has no results of single inputs at one level: compare "
                "models by estimate with a width, certify, tail, curve or critical"
            )
    for part in ("perturbation", "property", "bounds"):
        a, b = (getattr(one.study, part) for one in (record, earlier))
        if a != b:
            raise InvalidArgument(
                f"{name} was measured with another {part} ({b}, and here {a}): measure the earlier "
                "model again (previous-model)"
            )
    if _question(record) != _question(earlier):
        raise InvalidArgument(
            f"{name} was measured by another kind of study ({earlier.study.method}, and here "
            f"{record.study.method}): measure the earlier model again (previous-model)"
        )


def _question(record: Record) -> Sequence[object]:
    """What the numbers of a run are of, whatever their precision."""
    study = record.study
    if isinstance(record.details, Curves):
        return study.method.kind, *(study.method.options.get(name) for name in _CURVE_OPTIONS)
    if isinstance(record.details, Radii):
        return ("radii",)
    over = study.population
    kind, sampling = (None, None) if over is None else (over.kind, over.sampling)
    return study.method.kind, kind, sampling, study.method.number("kappa")
