"""What a file of studies came to: in lines, as test cases, and as Markdown for a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from surefoot.gate.gate import Gate, GateVerdict, Outcome, StudyOutcome
from surefoot.report.export.sentence import markdown, visible
from surefoot.report.junit import Case
from surefoot.report.junit import Outcome as CaseOutcome

_NO_REQUIREMENT = "measured"
"""A study of which nothing is required."""
_WIDTH = max(len(word) for word in (*Outcome, _NO_REQUIREMENT))
_RECORDED = " [recorded earlier]"
_CASES: dict[Outcome, CaseOutcome] = {
    Outcome.PASSED: "passed",
    Outcome.REFUTED: "failed",
    Outcome.UNDECIDED: "undecided",
    Outcome.ERROR: "error",
}


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
    below = [*_open_classes(outcome), *outcome.cautions]
    return [f"{'':{_WIDTH}}  - {visible(words)}" for words in below]


def final_line(gate: Gate, outcomes: Sequence[StudyOutcome]) -> str:
    """All of it in one line: how many of which, and how sure that is."""
    verdicts = sum(len(one.verdicts) for one in outcomes)
    failed = sum(one.outcome is Outcome.ERROR for one in outcomes)
    counts = Counter(verdict.outcome for one in outcomes for verdict in one.verdicts)
    words = [f"{counts[one]} {one}" for one in Outcome if counts[one]]
    words += [f"{_number(failed, 'study', 'studies')} with an error"] * bool(failed)
    some = "" if len(outcomes) == len(gate.studies) else f" of {len(gate.studies)}"
    subject = (
        f"{_number(len(outcomes), 'study', 'studies')}{some}, "
        f"{_number(verdicts, 'verdict', 'verdicts')}"
    )
    said = [f"{subject}: {', '.join(words) or 'nothing was required'}."]
    if verdicts:
        said.append(gate.budget)
    if outcomes and all(one.recorded for one in outcomes):
        said.append("All of it was recorded earlier: no trial was run.")
    return " ".join(said)


def junit_cases(outcomes: Sequence[StudyOutcome]) -> list[Case]:
    """A test case for each requirement, named by what was required; one for a study without."""
    cases = []
    for one in outcomes:
        if not one.verdicts:
            words = "\n".join((one.message or "nothing was required", *one.cautions))
            name = one.name if one.outcome is Outcome.ERROR else f"{one.name} was measured"
            cases.append(Case(one.name, name, _CASES[one.outcome], words, one.seconds))
        seconds = one.seconds / max(1, len(one.verdicts))
        about = "" if one.result is None else one.result.view.about
        about = "\n".join((about, *one.cautions)) if one.cautions else about
        cases += [_case(one, verdict, seconds, about) for verdict in one.verdicts]
    return cases


def step_summary(gate: Gate, outcomes: Sequence[StudyOutcome]) -> str:
    """The same as a table of Markdown; whatever names hold, they are shown and nothing else."""
    rows = ["| | study | |", "|---|---|---|"]
    for one in outcomes:
        tail = " ".join(["", *one.notes]) + _RECORDED * one.recorded
        said = [(str(v.outcome), v.statement + tail) for v in one.verdicts]
        if not said:
            error = one.outcome is Outcome.ERROR
            said = [(str(one.outcome), one.message) if error else (_NO_REQUIREMENT, "")]
        said += [("note", note) for note in one.cautions]
        rows += [f"| **{word}** | {markdown(one.name)} | {markdown(text)} |" for word, text in said]
    title = f"### surefoot: {markdown(gate.path.name)}"
    return "\n".join(["", title, "", *rows, "", markdown(final_line(gate, outcomes)), ""])


def _case(study: StudyOutcome, verdict: GateVerdict, seconds: float, about: str) -> Case:
    outcome, message = _CASES[verdict.outcome], " ".join([verdict.message, *study.notes])
    return Case(study.name, verdict.requirement, outcome, message, seconds, about)


def _open_classes(outcome: StudyOutcome) -> list[str]:
    """The classes that are not shown to meet what is required, where not all of them are."""
    if all(v.outcome is Outcome.PASSED for v in outcome.verdicts):
        return []
    return [v.message for v in outcome.classes if v.outcome is not Outcome.PASSED]


def _line(word: str, name: str, text: str) -> str:
    return f"{word:{_WIDTH}}  {visible(name)}: {visible(text)}"


def _number(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"
