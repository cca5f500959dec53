"""The words of an evidence file, which are not in its digest: whether its options mean them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, replace
from importlib import metadata

from surefoot.catalogue.methods import METHODS
from surefoot.catalogue.registry import PROPERTIES, perturbation_of, perturbation_words
from surefoot.evidence.answers import Check, Status
from surefoot.evidence.recompute import BROKEN
from surefoot.evidence.statement import Evidence
from surefoot.records.record import Finding, Record
from surefoot.records.spec import ComparisonSpec, SpecWords, StudySpec
from surefoot.system.text import escape_unprintable

_OF_OPTIONS = ("perturbation", "property", "reference")
"""Words that follow from the options of a study, where these are surefoot's own."""
_MARK = "as the evidence file says it, not checked"
_LONGEST = 200
"""Characters of a text in a sentence."""
_LONGEST_NOTE, _MOST_NOTES = 1000, 20
"""Characters of a note, and how many are shown: no run of surefoot has longer ones, or more."""


def derived_words(spec: StudySpec) -> dict[str, tuple[str, ...]]:
    """What each of the words may be; none of those that code of the user says.

    Whether values are rounded to whole numbers is known of the model alone.
    """
    words: dict[str, tuple[str, ...]] = {}
    with suppress(*BROKEN):
        perturbation = perturbation_of(spec.perturbation.kind, spec.perturbation.options)
        needs = METHODS[spec.method.kind].needs
        words["perturbation"] = tuple(
            perturbation_words(perturbation, spec.bounds, needs, whole_numbers=whole)
            for whole in (False, True)
        )
    with suppress(*BROKEN):
        prop = PROPERTIES[spec.property.kind](**spec.property.options)
        words |= {"property": (prop.phrase,), "reference": (str(prop.reference),)}
    return words


def check_words(evidence: Evidence) -> list[Check]:
    """A check of each of the words that the options of the study do not mean; else none."""
    checks = []
    for run in evidence.runs:
        known, stated = derived_words(run.study), asdict(run.study.words)
        for name, texts in known.items():
            if stated[name] in texts:
                continue
            status, version = _status(run)
            reason = (
                f"the file says {_short(stated[name])}, and the options of its study mean "
                f"{_short(texts[0])}{version}"
            )
            checks.append(status.of(f"the {name} in words", reason))
    return checks


def check_rebuilt_words(evidence: Evidence, here: SpecWords) -> list[Check]:
    """The words of the file that are not those of the study made again from model and data."""
    there, (status, version) = evidence.study.words, _status(evidence)
    return [
        status.of(
            f"No: the {name} of the study is {_short(getattr(here, name))}, and the file calls it "
            f"{_short(getattr(there, name))}{version}.",
        )
        for name in _OF_OPTIONS
        if getattr(here, name) != getattr(there, name)
    ]


def _status(run: Evidence) -> tuple[Status, str]:
    """What other words than ours come to: another version may have written them."""
    own: str | None = None
    with suppress(metadata.PackageNotFoundError):
        own = metadata.version("surefoot")
    if run.record.environment.get("surefoot") == own:
        return Status.REFUTED, ""
    return Status.OPEN, "; another version of surefoot wrote it, and may have other words"


def unchecked_words(evidence: Evidence, *, with_model: bool = False) -> list[str]:
    """Words of the file that nothing decides, as lines; fewer where the study was made again."""
    parts = tuple(evidence.members.values())
    lines = []
    for name in () if with_model else ("perturbation", "property"):
        texts = [getattr(p.study.words, name) for p in parts if name not in derived_words(p.study)]
        for text in dict.fromkeys(texts):
            lines.append(
                f"What the {name} does: it is code of its user, and the words are those of the "
                f"file ({_short(text)})."
            )
    names = dict.fromkeys(name for p in parts for name in (p.model, p.data, p.study.words.source))
    named = ", ".join(_short(name) for name in names if name)
    lines.append(f"The names of model and data ({named}), and the command: compare the digests.")
    return lines


def noted(evidence: Evidence) -> tuple[str, ...]:
    """What the checks before the runs found odd, as the file says it; of all runs alike, once."""
    members = evidence.members
    of: dict[str, list[str]] = {}
    for name, part in members.items():
        for one in part.record.findings:
            if one.is_warning:
                note = f"{one.name}: {one.finding}"[:_LONGEST_NOTE]
                of.setdefault(note, []).append(name)
    notes = [
        note if len(names) == len(members) else f"{', '.join(names)}: {note}"
        for note, names in of.items()
    ]
    more = [f"and {len(notes) - _MOST_NOTES:,} more notes"] * (len(notes) > _MOST_NOTES)
    return (*notes[:_MOST_NOTES], *more)


def with_marks(evidence: Evidence) -> Record:
    """The record for a document: it says of its words which of them nothing in the file decides."""
    record, spec = evidence.record, evidence.record.spec
    if isinstance(spec, ComparisonSpec) and isinstance(spec.first, StudySpec):
        spec = replace(spec, first=_marked(spec.first))
    elif isinstance(spec, StudySpec):
        spec = _marked(spec)
    note = (
        f"model {evidence.model}, data {evidence.data}, the command and the checks before the run "
        "are as the evidence file says them: nobody compared them with the digests"
    )
    findings = (*record.findings, Finding("names", "warning", note))
    return replace(record, spec=spec, findings=findings)


def _marked(spec: StudySpec) -> StudySpec:
    known, words = derived_words(spec), spec.words
    changed = {
        name: f"{getattr(words, name)} ({_MARK})"
        for name in ("perturbation", "property")
        if name not in known
    }
    return replace(spec, words=replace(words, **changed))


def _short(text: str) -> str:
    return f'"{text[:_LONGEST]}"'


_LONGEST_NAME = 300
"""Characters of a command in a sentence."""


def command_words(evidence: Evidence) -> str:
    """The command of the run, one line, whatever a hostile file wrote."""
    text = escape_unprintable(evidence.command)
    return f": {text[:_LONGEST_NAME]}" if text else ""
