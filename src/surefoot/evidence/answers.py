"""What a check of an evidence file answers, in the order in which a sceptic asks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from surefoot.system.text import escape_unprintable


class Status(StrEnum):
    """What a check came to."""

    FOLLOWS = "follows"
    REFUTED = "does not follow"
    OPEN = "not recomputed"

    def of(self, subject: str, reason: str = "") -> Check:
        """The check that came to this, in words."""
        return Check(self, subject, reason)


@dataclass(frozen=True)
class Check:
    """One thing that was checked, in words; `reason` says why it does not follow.

    Words of a file are a stranger's: what does not print is an escape wherever they are shown.
    """

    status: Status
    subject: str
    reason: str = ""

    def __post_init__(self) -> None:
        for name in ("subject", "reason"):
            object.__setattr__(self, name, escape_unprintable(getattr(self, name)))

    def __str__(self) -> str:
        return f"{self.status}: {self.subject}" + (f" [{self.reason}]" if self.reason else "")


def any_is(status: Status, checks: Iterable[Check]) -> bool:
    """Whether one of the checks came to this."""
    return any(check.status is status for check in checks)


def of_part(name: str, check: Check) -> Check:
    """The check, with the name of the run that it is of; as it is where there is only one run."""
    return replace(check, subject=f"{name}: {check.subject}") if name else check


@dataclass(frozen=True)
class Again:
    """What a second party with model and data adds: are they those of the file, and trials run
    again. `forger` says what somebody could still do unnoticed, `sample` how much was run again.
    """

    subjects: tuple[Check, ...]
    trials: tuple[Check, ...] = ()
    forger: tuple[str, ...] = ()
    sample: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "forger", tuple(map(escape_unprintable, self.forger)))

    @property
    def conclusion(self) -> str:
        """The part of the whole sentence about the trials."""
        if any_is(Status.REFUTED, self.subjects):
            return "model or data are not those of the run; nothing was run again"
        if any_is(Status.REFUTED, self.trials):
            return "what was run again came out otherwise than the file says"
        if any_is(Status.OPEN, (*self.subjects, *self.trials)):
            return "not all that was to be run again could be"
        return self.sample or "what was run again came out as it says"


@dataclass(frozen=True)
class EvidenceCheck:
    """What a second party knows of an evidence file, in the order in which a sceptic asks.

    `claims` has one check for each claim; `results` are those of the inputs and the summaries;
    `verdicts` those of what was required, empty where nothing was. `unmet` are the verdicts of
    the file that do not pass, in words, those that refute first. `again` is None without
    model and data. `noted` is what the runs themselves found odd. `says` is the first claim, its
    assumptions in a few words.
    """

    run: str
    signature: Check
    intact: Check | None = None
    about: tuple[str, ...] = ()
    claims: tuple[Check, ...] = ()
    results: tuple[Check, ...] = ()
    not_covered: tuple[str, ...] = ()
    verdicts: tuple[Check, ...] = ()
    unmet: tuple[str, ...] = ()
    again: Again | None = None
    noted: tuple[str, ...] = ()
    says: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "run", escape_unprintable(self.run))
        for name in ("about", "not_covered", "unmet", "noted", "says"):
            own = tuple(map(escape_unprintable, getattr(self, name)))
            object.__setattr__(self, name, own)

    @property
    def checks(self) -> tuple[Check, ...]:
        """Everything that was checked."""
        own = (*self._intact, *self.claims, *self.verdicts, *self.results)
        return (self.signature, *own, *self._again)

    @property
    def _intact(self) -> tuple[Check, ...]:
        return () if self.intact is None else (self.intact,)

    @property
    def _again(self) -> tuple[Check, ...]:
        return () if self.again is None else (*self.again.subjects, *self.again.trials)

    @property
    def exit_code(self) -> int:
        """0: all follows; 1: something does not, or the signature is wrong; 2: something is open.

        That nobody checked who signed is said and does not count.
        """
        if any_is(Status.REFUTED, self.checks):
            return 1
        return 2 if any_is(Status.OPEN, self.checks[1:]) else 0

    @property
    def conclusion(self) -> str:
        """The whole in one sentence, the first that is printed: never a bare yes without a key."""
        if self.signature.status is Status.REFUTED:
            return f"{self.signature.subject} Nothing else of it was checked."
        again = "" if self.again is None else self.again.conclusion
        file = self.signature.reason
        if self.exit_code == 1:
            of = f" ({file})" if file else ""
            if any_is(Status.REFUTED, self._again):
                return f"Refuted{of}: {again}."
            return f"Altered or damaged{of}: {self._altered}"
        of = f" of {file}" if file else ""
        followed = sum(check.status is Status.FOLLOWS for check in self.claims)
        more = f", and {again}" if again else ""
        if self.exit_code == 2:
            known = sum(check.status is Status.FOLLOWS for check in self.verdicts)
            if known < len(self.verdicts):
                more = f", and {known} of {len(self.verdicts)} verdicts{more}"
            some = f"{followed} of {len(self.claims)} claims"
            if any_is(Status.OPEN, self._intact and (*self._intact, *self.results)):
                more += ", and parts of the file are not covered"
            return f"Undecided: {some}{of} were recomputed{more}.{self._unmet_words}"
        claims = "the claim is" if followed == 1 else f"all {followed} claims are"
        number = len(self.verdicts)
        verdicts = f", and so are {number} verdicts" if number else ""
        verdicts = ", and so is the verdict" if number == 1 else verdicts
        said = f"Recomputed from the recorded trials{of}: {claims} correct{verdicts}{more}."
        return f"{said}{self._unmet_words}"

    @property
    def _altered(self) -> str:
        """What does not follow: a count of claims, and the first of everything in words."""
        every = (*self._intact, *self.claims, *self.verdicts, *self.results)
        wrong = [check for check in every if check.status is Status.REFUTED]
        bad = sum(check in self.claims for check in wrong)
        what = f"{bad} of {len(self.claims)} claims" if bad else "a part of the file"
        if any_is(Status.REFUTED, self.verdicts):
            what = f"{what}, and a verdict," if bad else "a verdict"
        first, reason = wrong[0].subject, f" [{wrong[0].reason}]" if wrong[0].reason else ""
        return f"{what} cannot have come from this study and its trials: {first}{reason}"

    @property
    def _unmet_words(self) -> str:
        """That the file itself says so: a verdict that follows need not be one that passes."""
        number, every = len(self.unmet), len(self.verdicts)
        if not number:
            return ""
        which = "the verdict" if every == 1 else f"{number} of {every} verdicts"
        be = "is" if number == 1 else "are"
        return f" The file itself says that {which} {be} not PASS: {self.unmet[0]}"

    def __str__(self) -> str:
        """The conclusion, the first claim, what is not covered and who vouches for it, briefly."""
        refuted = [check for check in self._again if check.status is Status.REFUTED]
        lines = [self.conclusion, *_sentences(refuted[:1])]
        if self.exit_code != 1:
            odd = f"{len(self.noted)} notes of the run" if len(self.noted) > 1 else "1 note of it"
            lines += [f"It says: {claim}" for claim in self.says if not self.unmet]
            lines += [str(one) for one in self.checks[1:] if one.status is Status.OPEN][:1]
            lines += [f"Not covered: {one[:1].lower()}{one[1:]}" for one in self.not_covered[:1]]
            lines.append(self.signature.subject + f" {odd} under --explain." * bool(self.noted))
        return "\n".join(lines if self.exit_code != 1 else [*lines, *self._unknown_author])

    @property
    def _unknown_author(self) -> list[str]:
        """The last line where nobody checked who vouches for the file."""
        return [self.signature.subject] * (self.signature.status is Status.OPEN)

    def explain(self) -> str:
        """The same, and the answers of a sceptic's questions, one after the other."""
        verdicts = self.verdicts or ["Nothing was required of it."]
        parts: list[tuple[str, Iterable[object]]] = [
            ("Who signed it?", [self.signature.subject]),
            ("Do its names fit?", _sentences(self._intact)),
            ("What is it about?", self.about),
            ("What did the run itself note, as the file says it?", self.noted),
            ("Do the claims follow from the journal?", self.claims),
            ("And the verdicts on what was required?", verdicts if self.claims else ()),
            ("And the results behind them?", self.results),
        ]
        if self.again is None:
            parts.append(("What is not covered?", self.not_covered))
        else:
            parts += [
                ("Is this the model, and are these the data?", _sentences(self.again.subjects)),
                ("Were the trials really run?", _sentences(self.again.trials)),
                ("What could a forger still do?", self.again.forger),
                ("What else is not covered?", self.not_covered),
            ]
        lines = ["\n  ".join([title, *map(str, body)]) for title, body in parts if body]
        return "\n".join([self.conclusion, *lines, *self._unknown_author])

    def to_json(self) -> str:
        """The same for machines."""
        return json.dumps(
            {**asdict(self), "conclusion": self.conclusion, "exit_code": self.exit_code},
            ensure_ascii=False,
        )


def _sentences(checks: Iterable[Check]) -> list[str]:
    """Checks whose words are whole sentences."""
    return [f"{check.subject} {check.reason}".rstrip() for check in checks]
