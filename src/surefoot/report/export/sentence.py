"""The claim at the top of a run as one sentence that can stand without its page."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import PurePath

from surefoot.core.claims import Claim
from surefoot.errors import InvalidArgument
from surefoot.records.record import Curves, Record
from surefoot.records.spec import BracketFileSpec, StudySpec
from surefoot.report.export.citation import citations
from surefoot.report.export.plain_text import visible
from surefoot.report.export.run import ExportedRun
from surefoot.report.formatting import file_name
from surefoot.report.key_figure import key_figure
from surefoot.report.sentences import sentence

_DIGITS = 12
"""Characters of a digest: as many as name a run everywhere else."""
_INTERVAL_ALONE = (
    *("mean_population", "share_kappa", "radius_quantile", "case_failure"),
    "quantile_difference",
)
"""Kinds whose sentence gives the interval and not the estimate."""
_NO_ESTIMATE = ("undecided", "no upper end")
"""What stands in place of a number that is not known."""


def claim_sentence(run: ExportedRun) -> str:
    """What was tested, and the claim in its own words; then verdicts, cautions and citations."""
    if not run.view.headline:
        raise InvalidArgument(
            "this run has no claim at its top that could be one sentence: export it to model-card, "
            "which has all of its claims"
        )
    claim = run.view.headline[0]
    records = _records_of(run, claim)
    version = run.record.environment.get("surefoot") or _version()
    methods = dict.fromkeys(r.spec.method.kind for r in records if isinstance(r.spec, StudySpec))
    lines = [
        f"With surefoot {version}, {_subject(records)}; {_run(run, records)} gave: {_claim(claim)}",
        *(sentence(verdict) for verdict in run.verdicts),
        *run.view.cautions,
        *citations(version, methods),
    ]
    return "\n\n".join(map(visible, lines)) + "\n"


def _version() -> str:
    """Of this surefoot, which has just read the file of a run that records none."""
    version: str = import_module("surefoot").__version__
    return version


def _records_of(run: ExportedRun, claim: Claim) -> list[Record]:
    """The studies that the claim is about; the best is one of all models."""
    named = [run.parts[name] for name in claim.names if name in run.parts]
    return named if named and claim.kind != "best" else run.records


def _claim(claim: Claim) -> str:
    """The claim's own sentence; the estimate too, where that gives the interval alone."""
    text, estimate = sentence(claim), key_figure(claim).number
    if claim.kind not in _INTERVAL_ALONE or claim.value is None or estimate in _NO_ESTIMATE:
        return text
    return f"{text.removesuffix('.')}; the estimate is {estimate}."


def _subject(records: Sequence[Record]) -> str:
    """Models and inputs, perturbation, and what counts as a failure; or the file that was read."""
    studied = [(r, r.spec) for r in records if isinstance(r.spec, StudySpec)]
    if not studied:
        return " and ".join(map(_read, records)) + " were read and not checked"
    models = list(dict.fromkeys(_model(record, spec) for record, spec in studied))
    inputs = " and ".join(dict.fromkeys(_inputs(spec) for _, spec in studied))
    applied = "; or ".join(dict.fromkeys(spec.words.perturbation for _, spec in studied))
    were = "was" if len(models) == 1 else "were"
    record, spec = studied[0]
    rule = f"; perturbed inputs must {spec.words.property}, else they fail"
    if isinstance(record.details, Curves) and spec.property.kind == "confidence":
        rule = ""  # the confidence itself is averaged
    return (
        f"{' and '.join(models)} {were} tested on {inputs} with the perturbation: {applied}{rule}"
    )


def _model(record: Record, spec: StudySpec) -> str:
    name = file_name(record.source.model) if record.source else "a model in memory"
    return f"{name} (SHA-256 {spec.model.digest[:_DIGITS]}, of {spec.model.covers})"


def _inputs(spec: StudySpec) -> str:
    selected = spec.inputs
    number = "1 input" if selected.number == 1 else f"{selected.number:,} inputs"
    return (
        f"{number} of {file_name(spec.words.source)} ({selected.selection}; "
        f"SHA-256 {selected.digest[:_DIGITS]})"
    )


def _read(record: Record) -> str:
    """What was read from which file of others."""
    number, path = len(record.inputs), getattr(record.spec, "path", "")
    if isinstance(record.spec, BracketFileSpec):
        rows = f"{number:,} brackets of the critical radius"
        return f"{rows} in {PurePath(path).name} ({record.spec.selection})"
    return f"the outcomes of {number:,} cases in {PurePath(path).name}"


def _run(run: ExportedRun, records: Sequence[Record]) -> str:
    """The name of the run, how many trials it took, and the seed of their draws."""
    trials = sum(record.trials for record in records)
    seeds = dict.fromkeys(str(r.spec.seed) for r in records if isinstance(r.spec, StudySpec))
    facts = [f"{trials:,} trials"] * (trials > 0) + [f"seed {' and '.join(seeds)}"] * bool(seeds)
    return f"run {run.record.digest[:_DIGITS]}" + f" ({', '.join(facts)})" * bool(facts)
