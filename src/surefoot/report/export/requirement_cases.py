"""The requirements of a run as test cases."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.core.claims import UNDECIDED_CHOICES, Claim, Verdict
from surefoot.errors import InvalidArgument
from surefoot.report.export.run import ExportedRun, ExportOptions
from surefoot.report.junit import Case, Outcome, junit_xml
from surefoot.report.sentences import measured_words, sentence
from surefoot.report.verdict_sentences import required_statement

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
    about = "\n".join((*run.view.cautions, run.view.about))
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
