"""Whether an evidence file says what follows from it: the signature, the claims, the results."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from surefoot.conclude.facts import draws_of
from surefoot.core.claims import Verdict
from surefoot.errors import InvalidArgument
from surefoot.evidence.answers import Check, EvidenceCheck, Status, of_part
from surefoot.evidence.check_run import (
    check_comparison,
    check_intact,
    check_run,
    check_verdicts,
    claim_words,
    resting,
)
from surefoot.evidence.check_words import check_words, command_words, noted, unchecked_words
from surefoot.evidence.envelope import Envelope, key_id, read_envelope, read_public_key
from surefoot.evidence.packed import failures_name
from surefoot.evidence.statement import Evidence, read_statement
from surefoot.evidence.within_limits import OutOfTime, within
from surefoot.records.options import FileOptions
from surefoot.records.record import AttackSummary, Certificates, Radii, RareFailures, Samples
from surefoot.system.text import escape_unprintable

_NEVER = ("trust", "token_variable")
"""Options that a file of a stranger shall not make anybody type."""
_FLAGS = {f"--{f.name.replace('_', '-')}": f.type == "bool" for f in fields(FileOptions)}
"""How model and data are read and chosen, and whether the option has no value."""
_TRUST = re.compile(r"(?<!\S)--trust(?!\S)|\btrust=True\b")
"""In a command of a shell or in Python."""
_LONGEST = 300
"""Characters of a command in a sentence."""


def verify_command(evidence: Evidence) -> str:
    """`surefoot verify` with models, data and the options that the run read them with.

    Those of a run in Python, which are no options of a shell, are named without their values. That
    a model runs code when it is read is for the reader to accept.
    """
    parts = tuple(evidence.members_here.values())
    words = ["surefoot", "verify", "FILE"]
    models = {(p.study.model.digest, p.study.model.answers): p.model for p in parts}
    for model in models.values():
        words += ["--model", model]
    words += ["--data", parts[0].data]
    command = evidence.command or parts[0].command
    options = reading_options(command)
    more = "" if options is not None or not command else " and the options of the run"
    text = shlex.join([*words, *(options or ())]) + more
    trusted = any(_TRUST.search(one.command) for one in (evidence, *parts))
    accept = " (with --trust, if you trust it: it runs code)" * trusted
    return escape_unprintable(text)[:_LONGEST] + accept


def reading_options(command: str) -> list[str] | None:
    """The words of a shell command that say how files are read; None where it is none of ours."""
    if not command.startswith("surefoot "):
        return None
    try:
        words = shlex.split(command)
    except ValueError:  # an evidence file may call anything a command
        return None
    never = [f"--{name.replace('_', '-')}" for name in _NEVER]
    options: list[str] = []
    for i, word in enumerate(words):
        flag, equal, _ = word.partition("=")
        if flag in _FLAGS and flag not in never:
            alone = _FLAGS[flag] or bool(equal)
            options += words[i : i + (1 if alone else 2)]
    return options


_SECONDS, _SECONDS_PER_MB = 30.0, 100.0
"""Within which a file must be recomputed, and more for each MB of it: several times what tests of
1,000 inputs take, whose journals are the longest. A hostile study may ask for a design that takes
days."""


def read_and_check(
    path: str | Path, key: str | Path | None = None, *, time_limit: float | None = None
) -> tuple[EvidenceCheck, Evidence | None]:
    """Check an evidence file without model and data; what it holds, unless that was not read.

    `key`: the file of the public key that must have signed it. The exit code is that of
    `surefoot verify`: 2, undecided, where the claims are not recomputed within `time_limit`
    seconds (30, and 100 more for each MB of the file). The sizes that a file states are limited
    before anything is made of them; a hard limit on memory, which is one of the whole process, is
    set by that command alone. None: the signature is wrong, or the time is up.
    """
    if time_limit is not None and not time_limit > 0:
        raise InvalidArgument(f"time_limit must be above 0 seconds, got {time_limit:g}: try 600")
    with failures_name(path):
        envelope = read_envelope(path)
        # Before anything of the payload is parsed: what nobody vouches for may be made to harm.
        signature = _signature(envelope, key)
        if signature.status is Status.REFUTED:
            return EvidenceCheck("", signature), None
        seconds = time_limit or _SECONDS + _SECONDS_PER_MB * len(envelope.payload) / 1e6

        def check() -> tuple[EvidenceCheck, Evidence | None]:
            evidence = read_statement(envelope.payload)
            return _check(evidence, signature), evidence

        try:
            return within(seconds, check)
        except OutOfTime:
            reason = (
                f"not done within {seconds:.4g} seconds: pass a larger --time-limit (time_limit), "
                "unless somebody made the file to be slow"
            )
            late = Status.OPEN.of("the claims", reason)
            return EvidenceCheck("", signature, claims=(late,)), None


def check_statement(evidence: Evidence) -> EvidenceCheck:
    """Check what is about to be written."""
    return _check(evidence, Status.OPEN.of("It is not written yet."))


def _signature(envelope: Envelope, key: str | Path | None) -> Check:
    if key is not None:
        public = read_public_key(key)
        name = key_id(public)[:16]
        if envelope.is_signed_by(public):
            return Status.FOLLOWS.of(f"Signed by the owner of the key {name} ({key}).")
        if not envelope.signatures:
            words = f"Unsigned: the owner of the key {name} ({key}) did not sign it."
            return Status.REFUTED.of(words)
        words = f"Altered after it was signed, or signed with another key than {name} ({key})."
        return Status.REFUTED.of(words)
    if not envelope.signatures:
        return Status.OPEN.of(
            "Unsigned: only trials run again notice a consistent change.",
            "an unsigned file",
        )
    names = ", ".join(one.keyid[:16] for one in envelope.signatures)
    return Status.OPEN.of(
        f"Signature not checked: it names the key {names}. Pass the public key of whom you trust "
        "(--key key.pub); until then it is like an unsigned file.",
        "a file whose signature was not checked",
    )


def _check(evidence: Evidence, signature: Check) -> EvidenceCheck:
    claims, results = check_comparison(evidence) if evidence.parts else ([], [])
    own_claims: list[Check] = []
    own_results: list[Check] = []
    for name, part in evidence.members.items():  # a comparison, where it is one, then each run
        of_claims, of_results = check_run(part)
        own_claims += [of_part(name, check) for check in of_claims]
        own_results += [of_part(name, check) for check in of_results]
    if any(one.status is not Status.FOLLOWS for one in own_results):
        claims = resting(claims)
    claims, results = claims + own_claims, results + own_results
    sound = all(one.status is Status.FOLLOWS for one in results)
    unmet = [one for one in evidence.record.verdicts if one.verdict is not Verdict.PASS]
    unmet.sort(key=lambda claim: claim.verdict is not Verdict.FAIL)  # those that refute first
    return EvidenceCheck(
        evidence.record.digest,
        signature,
        check_intact(evidence),
        _about(evidence),
        tuple(claims),
        (*results, *check_words(evidence)),
        not_covered(evidence),
        tuple(check_verdicts(evidence) if sound else resting(check_verdicts(evidence))),
        tuple(map(claim_words, unmet)),
        noted=noted(evidence),
    )


def _about(evidence: Evidence) -> tuple[str, ...]:
    """What was studied, with the digests to compare one's own files with."""
    parts = list(evidence.members.values())
    lines = []
    for part in parts:
        digest, covers = part.study.model.digest, part.study.model.covers or "the model"
        lines.append(f"Model {part.model}: SHA-256 {digest} ({covers}).")
    for part in parts:
        inputs = part.study.inputs
        lines.append(
            f"Data {part.data}: {inputs.selection or 'all inputs'} ({inputs.reading}). The digest "
            f"of these {inputs.number:,} inputs, of their values, labels, ids and groups and not "
            f"of a file, is {inputs.digest}."
        )
    for words in (part.study.words for part in parts):
        must = f"Perturbed inputs must {words.property}, else they fail."
        lines.append(f"Perturbation: {words.perturbation}. {must}")
    for part in parts:
        lines.append(f"Method: {part.study.method.chosen}. Seed {part.study.seed}.")
        if part.attack is not None:
            lines.append(f"Attack beside it: {part.attack.study.method.chosen}.")
    return tuple(dict.fromkeys([*lines, *_origins(parts)]))


def _origins(parts: Sequence[Evidence]) -> list[str]:
    """When, with what and how the runs were made: nobody can check it."""
    began: dict[tuple[str, str], list[str]] = {}
    for part in parts:
        version = part.record.environment.get("surefoot", "of an unknown version")
        began.setdefault((version, command_words(part)), []).append(part.record.started)
    return [
        f"Run with surefoot {version}, begun {min(times) or 'at an unknown time'}{command} (as the "
        "file says it)."
        for (version, command), times in began.items()
    ]


def not_covered(evidence: Evidence, *, with_model: bool = False) -> tuple[str, ...]:
    """What the check leaves open; less where model and data were there too."""
    details = [part.record.details for part in evidence.members.values()]
    lines = _taken_on_trust(evidence)
    if with_model:
        lines = ["Taken as the file says it: versions and times."]
    lines += unchecked_words(evidence, with_model=with_model)
    if not with_model and any(isinstance(one, Samples) and one.clean_loss for one in details):
        lines.append(
            "The loss on clean inputs: no claim uses it, and computing it again takes the model."
        )
    if any(isinstance(one, Samples | Certificates | RareFailures) for one in details):
        earlier = max(part.record.rung for part in evidence.members.values())
        lines.append(
            "Whether there were other runs of the same question, with other seeds or inputs, of "
            f"which this is the best: the file says that {earlier:,} came before it."
        )
    if any(claim.about.sampling for claim in evidence.record.claims):
        lines.append("Whether the inputs are a sample of the population: no file can show that.")
    if any(isinstance(one, Radii) for one in details):
        lines.append("Whether the inputs are those of the data: proofs keep no digest of each.")
    for run in dict.fromkeys(p.record.extends for p in evidence.members.values()):
        lines += [f"Whether trials were taken over from run {run[:12]}."] * bool(run)
    if evidence.record.stopped_early:
        lines.append("When the time limit ended the run: the journal ends there.")
    return tuple(lines)


def _taken_on_trust(evidence: Evidence) -> list[str]:
    """What nobody can check without model and data."""
    parts = tuple(evidence.members.values())
    drawn = all(draws_of(part.study) is not None for part in parts)
    random = "" if drawn else ", whether the perturbation is random"
    given = (
        "Taken as the file says it: labels and groups of the inputs, what the model predicts for "
        f"them when clean and whether it fails then{random}, versions, times and the checks before "
        "the run."
    )
    again = verify_command(evidence)
    lines = [
        f"Whether trials were run as recorded; run some again: {again}.",
        given,
    ]
    if any(isinstance(part.record.details, Radii) for part in parts):
        lines[0] = (
            "Whether the proofs are right and the counterexamples fail: the journal has their "
            f"outcome. Check both again where model and data are: {again}."
        )
        lines.append("The points drawn within and beyond each bracket, and how the file was read.")
    if any(isinstance(one.record.details, AttackSummary) for one in evidence.runs):
        lines.append(
            "Whether an attack came out so: the file has its outcome for each input, not the "
            f"points that it found. Attack inputs again where model and data are: {again}."
        )
    return lines
