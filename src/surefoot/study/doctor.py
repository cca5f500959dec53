"""Model and data checked before a run: is the model wired up as you think?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from surefoot.engine.outputs import Check, CheckStatus
from surefoot.engine.preflight import examine
from surefoot.inputs import fit
from surefoot.perturb.table import for_columns
from surefoot.records.record import Finding
from surefoot.report.reasons import reason_words
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Model, Perturbation

_MARKS = {CheckStatus.OK: "ok  ", CheckStatus.WARNING: "note", CheckStatus.FAILED: "BAD "}


@dataclass(frozen=True)
class Checkup:
    """What each check found; `print` it for one line a check."""

    findings: tuple[Finding, ...]

    @property
    def bad(self) -> bool:
        """Whether a check found something that would make results wrong."""
        return any(finding.status == CheckStatus.FAILED for finding in self.findings)

    def __str__(self) -> str:
        """One line a check."""
        return "\n".join(
            f"{_MARKS[CheckStatus(finding.status)]}  {finding.name}: {finding.finding}"
            for finding in self.findings
        )


def doctor(model: Model, inputs: Inputs, perturbation: Perturbation | None = None) -> Checkup:
    """The checks that every run begins with, and what model and data are, in plain words."""
    signature = model.signature
    inputs = fit(inputs, signature.shape)
    if perturbation is not None:
        perturbation = for_columns(perturbation, inputs)
    takes = "lists of items" if signature.shape == () else signature.shape
    content = inputs.content if inputs.holds_items else f"shape {inputs.x.shape[1:]}"
    gives = f"{signature.classes} classes" if signature.classes else f"{signature.scores}"
    preparation = f"; inputs {signature.preparation}" if signature.preparation else ""
    return Checkup(
        (
            Finding(
                "model",
                str(CheckStatus.OK),
                f"takes {takes}, gives {gives}; "
                f"sha256 {signature.digest[:12]} covers {signature.covers}{preparation}",
            ),
            Finding(
                "data",
                str(CheckStatus.OK),
                f"{len(inputs)} inputs of {content} from {inputs.source} "
                f"({inputs.selection}; {inputs.reading}); sha256 {inputs.digest()[:12]}",
            ),
            *(_bad(one) for one in findings(examine(inputs, model, perturbation))),
        )
    )


def _bad(finding: Finding) -> Finding:
    """A run goes on where no PASS would mean anything; here that is bad."""
    blocks = finding.blocks is not None
    return replace(finding, status=str(CheckStatus.FAILED)) if blocks else finding


def findings(checks: Iterable[Check]) -> tuple[Finding, ...]:
    """What checks found, as a record holds it."""
    return tuple(
        Finding(one.name, str(one.status), one.finding + _doubt(one), one.clean, one.doubt)
        for one in checks
    )


def _doubt(check: Check) -> str:
    doubt = check.doubt if check.clean is None else check.clean.doubt
    return "" if doubt is None else f"; {reason_words(doubt)}"
