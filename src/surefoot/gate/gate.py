"""A file of studies, read; and what each of its studies came to."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.commands.values import Given
from surefoot.core.claims import Claim, Verdict
from surefoot.report.export.sentence import markdown, visible
from surefoot.report.junit import Case, case_of_verdict
from surefoot.report.sentences import briefly, required_statement, sentence

if TYPE_CHECKING:
    from surefoot.evidence.statement import Evidence
    from surefoot.study import Result


class Outcome(StrEnum):
    """What a requirement, a study or a whole file came to."""

    PASS = Verdict.PASS.value
    FAIL = Verdict.FAIL.value
    UNDECIDED = Verdict.UNDECIDED.value
    ERROR = "ERROR"


_WORST_FIRST = (Outcome.ERROR, Outcome.FAIL, Outcome.UNDECIDED)
EXIT_CODES = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.UNDECIDED: 2, Outcome.ERROR: 3}
"""Those of every command."""


@dataclass(frozen=True)
class Regression:
    """That a model is not worse than an earlier one: which, and by how much it may be.

    `margin` is how much more often it may fail; of a curve, by how much the share of the levels may
    be smaller; of critical radii, by which part of itself their mean may be.

    `model` is the earlier model, which is run again; `evidence` is the file of its run, where only
    that is left.
    """

    margin: float
    model: str | None = None
    evidence: str | None = None


@dataclass(frozen=True)
class GateStudy:
    """One study of a file: its command with every option by name, and its part of the error.

    `requirements` counts those of its own options; `error` is what all of these may spend together,
    and `share` what one requirement of the file may spend, such as the `regression`. Of several
    `parts`, such as curves, each spends the error that its command states, so they divide it;
    the curve of an earlier model is one of them.
    """

    name: str
    command: str
    options: Mapping[str, Given]
    requirements: int = 0
    regression: Regression | None = None
    parts: int = 1
    error: float = 0.0
    share: float = 0.0

    @property
    def compares_curves(self) -> bool:
        """Whether its curve is compared with an earlier one, by the intervals of both."""
        return self.command == "curve" and self.regression is not None

    @property
    def store(self) -> str:
        """Where its evidence is."""
        return str(self.options["store"])


@dataclass(frozen=True)
class Gate:
    """The studies of a file; the probability that any of their verdicts is wrong is ≤ `error`."""

    path: Path
    error: float
    studies: tuple[GateStudy, ...]

    @property
    def requirements(self) -> int:
        """How many requirements share the error."""
        return sum(s.requirements + (s.regression is not None) for s in self.studies)

    @property
    def budget(self) -> str:
        """How the error is shared, in one sentence."""
        number, name = self.requirements, self.path.name
        if number == 0:
            if any(study.options.get("clean_accuracy") is not None for study in self.studies):
                return f"{name} requires what is counted alone: no verdict can be wrong by chance."
            return f"{name} requires nothing: no verdict is given."
        if number == 1:
            return (
                f"{name} has one requirement: the probability that a verdict on it is wrong is at "
                f"most {self.error:g}, if its assumptions hold."
            )
        each = max(study.share for study in self.studies)
        own = [s.name for s in self.studies if s.error and "confidence" in s.options]
        rest = f"{', '.join(own)} as stated, " * bool(own) + f"each {each:.3g}" * bool(each)
        return (
            f"The {number} requirements of {name} share an error of {self.error:g} ("
            f"{rest.removesuffix(', ')}): the probability that any verdict of the file is wrong is "
            "at most that, if their assumptions hold."
        )


@dataclass(frozen=True)
class GateVerdict:
    """The verdict on one requirement: a claim, what it came to, and what was `measured`."""

    claim: Claim
    measured: str = ""

    @property
    def outcome(self) -> Outcome:
        """That of its claim."""
        return Outcome(self.claim.verdict or Verdict.UNDECIDED)

    @property
    def sentence(self) -> str:
        """The claim with its verdict, in words."""
        return sentence(self.claim)

    @property
    def requirement(self) -> str:
        """What was required, the same words whatever the verdict."""
        return required_statement(self.claim)

    @property
    def message(self) -> str:
        """The claim with its verdict, its assumptions in a few words, and by how much."""
        return f"{sentence(briefly(self.claim))} {self.measured}".rstrip()

    @property
    def statement(self) -> str:
        """The message without the verdict before it."""
        return self.message.removeprefix(f"{self.claim.verdict}: ")


@dataclass(frozen=True, eq=False)
class StudyOutcome:
    """What a study came to; `message` says what went wrong where its outcome is an error.

    `verdicts` has one for each requirement; `classes` those on single classes, where one of these
    is about every class.
    `recorded`: whether all of it was in the store already, so that no trial was run. `earlier`:
    the evidence of an earlier model, where that is not in the store. `evidence`: the file that was
    written of it.
    """

    name: str
    outcome: Outcome
    verdicts: tuple[GateVerdict, ...] = ()
    classes: tuple[GateVerdict, ...] = ()
    result: Result | None = None
    message: str = ""
    recorded: bool = False
    seconds: float = 0.0
    earlier: Evidence | None = None
    evidence: Path | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Without which the numbers must not be read: a precision that is not reached."""
        return () if self.result is None else tuple(self.result.view.urgent)

    @property
    def cautions(self) -> tuple[str, ...]:
        """The notes, then what the preflight found odd: to be read beside the verdicts."""
        every = () if self.result is None else self.result.view.cautions
        return tuple(dict.fromkeys((*self.notes, *every)))


def worst(outcomes: Sequence[Outcome]) -> Outcome:
    """What several come to together: an error, else one refuted, else one undecided."""
    return next((one for one in _WORST_FIRST if one in outcomes), Outcome.PASS)


_NO_REQUIREMENT = "measured"
"""A study of which nothing is required."""
_WIDTH = max(len(word) for word in (*Outcome, _NO_REQUIREMENT))
_RECORDED = " [recorded earlier]"


def study_lines(outcome: StudyOutcome) -> list[str]:
    """One line for each requirement, each class that does not meet its own, and each note."""
    recorded = _RECORDED * outcome.recorded
    if outcome.outcome is Outcome.ERROR:
        return [_line(Outcome.ERROR, outcome.name, outcome.message)]
    if not outcome.verdicts:
        said = "" if outcome.result is None else " ".join(outcome.result.view.headings)
        return [_line(_NO_REQUIREMENT, outcome.name, f"{said}{recorded}"), *_indented(outcome)]
    lines = [_line(v.outcome, outcome.name, v.statement + recorded) for v in outcome.verdicts]
    return lines + _indented(outcome)


def _indented(outcome: StudyOutcome) -> list[str]:
    below = list[str]()
    if any(v.outcome is not Outcome.PASS for v in outcome.verdicts):
        # the classes that are not shown to meet what is required, where not all of them are
        below = [v.message for v in outcome.classes if v.outcome is not Outcome.PASS]
    return [f"{'':{_WIDTH}}  - {visible(words)}" for words in (*below, *outcome.cautions)]


def junit_cases(outcomes: Sequence[StudyOutcome]) -> list[Case]:
    """A test case for each requirement, named by what was required; one for a study without."""
    cases = []
    for one in outcomes:
        if not one.verdicts:
            words = "\n".join((one.message or "nothing was required", *one.cautions))
            case = Case(one.name, f"{one.name} was measured", "passed", words, one.seconds)
            error = one.outcome is Outcome.ERROR
            cases.append(replace(case, name=one.name, outcome="error") if error else case)
        seconds = one.seconds / max(1, len(one.verdicts))
        subject = [] if one.result is None else one.result.view.subject
        about = "\n".join((*subject, *one.cautions))
        cases += [
            case_of_verdict(one.name, v.claim, v.measured, one.notes, seconds, about)
            for v in one.verdicts
        ]
    return cases


def _line(word: str, name: str, text: str) -> str:
    return f"{word:{_WIDTH}}  {visible(name)}: {visible(text)}"


_IN_JSON = ("outcome", "requirement", "sentence", "measured")
"""Of a verdict."""


def _number(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"


@dataclass(frozen=True, eq=False)
class GateOutcome:
    """What a file of studies came to; `print` it, or pass its `exit_code` to `sys.exit`."""

    gate: Gate
    studies: tuple[StudyOutcome, ...]

    @property
    def outcome(self) -> Outcome:
        """An error, else one refuted, else one undecided, else passed."""
        return worst([study.outcome for study in self.studies])

    @property
    def exit_code(self) -> int:
        """0: every requirement holds; 1: one is refuted; 2: one is undecided; 3: an error."""
        return EXIT_CODES[self.outcome]

    @property
    def final_line(self) -> str:
        """All of it in one line: how many of which, and how sure that is."""
        verdicts = sum(len(one.verdicts) for one in self.studies)
        failed = sum(one.outcome is Outcome.ERROR for one in self.studies)
        counts = Counter(verdict.outcome for one in self.studies for verdict in one.verdicts)
        words = [f"{counts[one]} {one}" for one in Outcome if counts[one]]
        words += [f"{_number(failed, 'study', 'studies')} with an error"] * bool(failed)
        number, every = len(self.studies), len(self.gate.studies)
        subject = _number(number, "study", "studies") + ("" if number == every else f" of {every}")
        came_to = ", ".join(words) or "nothing was required"
        said = [f"{subject}, {_number(verdicts, 'verdict', 'verdicts')}: {came_to}."]
        if verdicts:
            said.append(self.gate.budget)
        if self.studies and all(one.recorded for one in self.studies):
            said.append("All of it was recorded earlier: no trial was run.")
        return " ".join(said)

    def step_summary(self) -> str:
        """A table in Markdown, as GitHub shows it beside a job.

        Whatever names hold, they are shown and nothing else.
        """
        rows = ["| | study | |", "|---|---|---|"]
        for one in self.studies:
            tail = " ".join(["", *one.notes]) + _RECORDED * one.recorded
            said = [(str(v.outcome), v.statement + tail) for v in one.verdicts]
            if not said:
                error = one.outcome is Outcome.ERROR
                said = [(str(one.outcome), one.message) if error else (_NO_REQUIREMENT, "")]
            said += [("note", note) for note in one.cautions]
            rows += [
                f"| **{word}** | {markdown(one.name)} | {markdown(text)} |" for word, text in said
            ]
        title = f"### surefoot: {markdown(self.gate.path.name)}"
        return "\n".join(["", title, "", *rows, "", markdown(self.final_line), ""])

    def to_json(self) -> str:
        """The same for machines; the whole result of each study under its name."""
        studies = [
            {
                "name": one.name,
                "outcome": one.outcome,
                "message": one.message,
                "recorded": one.recorded,
                "requirements": [{n: getattr(v, n) for n in _IN_JSON} for v in one.verdicts],
                "notes": one.cautions,
                "result": None if one.result is None else json.loads(one.result.to_json()),
            }
            for one in self.studies
        ]
        whole = {
            "file": str(self.gate.path),
            "error": self.gate.error,
            "budget": self.gate.budget,
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "studies": studies,
        }
        return json.dumps(whole, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        lines = [line for one in self.studies for line in study_lines(one)]
        return "\n".join([*lines, self.final_line])
