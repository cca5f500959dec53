"""The requirements of a run as test cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

from surefoot.core.claims import UNDECIDED_CHOICES, Claim, Verdict
from surefoot.errors import InvalidArgument
from surefoot.report.export.cyclonedx import cyclonedx
from surefoot.report.export.model_card import hugging_face, model_card
from surefoot.report.export.run import ExportedRun, ExportOptions
from surefoot.report.export.sentence import claim_sentence
from surefoot.report.export.table import csv_table, latex_table
from surefoot.report.junit import Case, Outcome, junit_xml
from surefoot.report.sentences import measured_words, required_statement, sentence

_OUTCOMES: dict[Verdict, Outcome] = {
    Verdict.PASS: "passed",
    Verdict.FAIL: "failed",
    Verdict.UNDECIDED: "undecided",
}


def junit(run: ExportedRun, options: ExportOptions) -> str:
    """A test case for each requirement, with its verdict; refused where nothing was required."""
    cases = requirement_cases(run)
    if not cases:
        raise InvalidArgument(
            "a claim without a requirement is not a test, and none is stated for this run: state "
            "one, for example --require 0.95 (in Python result.require(0.95).export(…))"
        )
    properties = dict(run.facts) | ({"Command": run.view.command} if run.view.command else {})
    return junit_xml(cases, options.undecided or UNDECIDED_CHOICES[0], properties)


def requirement_cases(run: ExportedRun) -> list[Case]:
    """One case for each verdict; the run's time is that of the case, where there is only one."""
    seconds = run.record.seconds if len(run.verdicts) == 1 else 0.0
    suite = f"surefoot: {run.title}"
    claims = (*run.view.headline, *run.view.claims, *run.record.claims)
    about = "\n".join((*run.view.cautions, *run.view.subject))
    return [
        _case(suite, claim, _message(claim, claims, run.view.urgent), seconds, about)
        for claim in run.verdicts
    ]


def _message(verdict: Claim, claims: Sequence[Claim], notes: Sequence[str]) -> str:
    """The verdict, by how much, and without what that must not be read."""
    return " ".join(filter(None, [sentence(verdict), measured_words(verdict, claims), *notes]))


def _case(suite: str, claim: Claim, message: str, seconds: float, about: str) -> Case:
    verdict = claim.verdict or Verdict.UNDECIDED
    return Case(suite, required_statement(claim), _OUTCOMES[verdict], message, seconds, about)


@dataclass(frozen=True)
class Format:
    """How a document is written, which options it uses, and whether it holds verdicts."""

    write: Callable[[ExportedRun, ExportOptions], str]
    options: tuple[str, ...] = ()
    verdicts: bool = True


FORMATS: dict[str, Format] = {
    "model-card": Format(lambda run, _: model_card(run)),
    "hugging-face": Format(
        hugging_face, ("name", "dataset", "dataset_id", "task", "benchmark_task"), verdicts=False
    ),
    "cyclonedx": Format(cyclonedx, ("name", "dataset", "task")),
    "junit": Format(junit, ("undecided",)),
    "sentence": Format(lambda run, _: claim_sentence(run)),
    "csv": Format(csv_table, ("table", "intervals")),
    "latex": Format(latex_table, ("table", "intervals")),
}
"""Documents by name."""


def format_named(to: str) -> Format:
    """The document of this name."""
    if to not in FORMATS:
        raise InvalidArgument(f"to (--to) is one of {', '.join(FORMATS)}, got {to!r}")
    return FORMATS[to]


def document(run: ExportedRun, to: str, options: ExportOptions) -> str:
    """The run as a document; an option that it has no place for is refused."""
    chosen = format_named(to)
    for field in fields(options):
        if getattr(options, field.name) and field.name not in chosen.options:
            has = [name for name, one in FORMATS.items() if field.name in one.options]
            option = field.name.replace("_", "-")
            raise InvalidArgument(
                f"{to} has no place for {field.name} (--{option}): it is for {' and '.join(has)}; "
                "leave it out"
            )
    able = [name for name, one in FORMATS.items() if one.verdicts]
    if run.verdicts and not chosen.verdicts:
        raise InvalidArgument(
            f"{to} has no place for a requirement: export to {', '.join(able)}, or leave it out "
            "(surefoot export leaves out one that is recorded)"
        )
    return chosen.write(run, options)
