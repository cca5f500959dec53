"""Whether an evidence file says what follows from it: the signature, the claims, the results."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import numpy as np

from surefoot.catalogue.methods import RARE
from surefoot.conclude.comparison import digest_of_parts, joined_record
from surefoot.conclude.facts import draws_of
from surefoot.conclude.not_worse import not_worse_than
from surefoot.conclude.radii import at_radii
from surefoot.conclude.requirements import check_requirements
from surefoot.conclude.scope import as_in_records
from surefoot.core.claims import Best, Claim, MeanRadius, RobustAtRadius, Verdict, limit_of
from surefoot.engine.label_check import label_doubt
from surefoot.engine.outputs import CheckStatus
from surefoot.errors import InvalidArgument, ReplayMismatch
from surefoot.evidence.answers import Check, EvidenceCheck, Status, of_part
from surefoot.evidence.check_words import check_words, command_words, noted, unchecked_words
from surefoot.evidence.envelope import Envelope, key_id, read_envelope, read_public_key
from surefoot.evidence.packed import failures_name
from surefoot.evidence.recompute import BROKEN, DoesNotFollow, NotRecomputed, recompute
from surefoot.evidence.statement import Evidence, first_difference, read_statement
from surefoot.evidence.within_limits import OutOfTime, within
from surefoot.records.input_table import MOST_NAMED
from surefoot.records.json_records import decisive_json, plain_numbers
from surefoot.records.options import FileOptions
from surefoot.records.record import (
    AttackSummary,
    Certificates,
    CleanAnswers,
    Comparison,
    Details,
    Radii,
    RareFailures,
    Record,
    RecordBody,
    Requirements,
    Samples,
)
from surefoot.report.clauses import quantity_words
from surefoot.report.sentences import briefly, sentence
from surefoot.system.text import Json, escape_unprintable

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
        tuple(claim_words(briefly(claim)) for claim in unmet),
        says=_leading(evidence.record.claims),
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
        "Taken as the file says it: ids, labels and groups of the inputs, what the model predicts "
        f"for them when clean and whether it fails then{random}, versions, times and the checks "
        "before the run."
    )
    again = verify_command(evidence)
    lines = [
        f"Whether trials were run as recorded; run some again: {again}.",
        given,
    ]
    if any(isinstance(part.record.details, Radii) for part in parts):
        lines[0] = (
            f"Whether the proofs are right and the counterexamples fail; check some again: {again}."
        )
        lines.append("The points drawn within and beyond each bracket, and how the file was read.")
    if any(isinstance(one.record.details, AttackSummary) for one in evidence.runs):
        lines.append(
            "Whether an attack came out so: the file has its outcome for each input, not the "
            f"points that it found. Attack inputs again where model and data are: {again}."
        )
    return lines


# Whether claims, results and verdicts of one study, or of several, follow from their journals.


def _is_tiny(evidence: Evidence) -> bool:
    """Whether a run in the file states probabilities that are tiny by nature."""
    return any(one.study.method.kind in RARE for one in evidence.members.values())


def compare_claims(
    stated: Sequence[Claim], computed: Sequence[Claim], *, tiny: bool
) -> list[Check]:
    """Each claim against the one that the journal leads to; one that is left out is named."""
    left, checks = dict(enumerate(computed)), []
    places: dict[object, deque[int]] = defaultdict(deque)
    for place, one in left.items():
        places[_question(one)].append(place)
    for claim in stated:
        reason, words = "no such claim follows from this study", claim_words(claim)
        if answers := places.get(_question(claim)):
            own = left.pop(answers.popleft())
            different = first_difference(plain(claim), plain(own), tiny=tiny)
            if different is None:
                checks.append(Status.FOLLOWS.of(words))
                continue
            reason = f"its {different} is another"
            if (instead := claim_words(own)) != words:
                reason = f"{reason}; what follows is: {instead}"
        checks.append(Status.REFUTED.of(words, reason))
    reason = "it follows from the journal, but the file leaves it out"
    return checks + [Status.REFUTED.of(claim_words(claim), reason) for claim in left.values()]


def claim_words(claim: Claim) -> str:
    """The claim as a sentence; one that no run makes by its kind and quantity."""
    try:
        return sentence(claim)
    except BROKEN:
        return f"{claim.kind}: {quantity_words(claim)}"


def _leading(claims: Sequence[Claim]) -> tuple[str, ...]:
    """The first claim, briefly; the mean radius where nothing bounds the quantile from below."""
    around = claims[0].interval if claims else None
    means = [c for c in claims if isinstance(c, MeanRadius) and around and around.low == 0]
    return tuple(claim_words(briefly(claim)) for claim in (*means, *claims)[:1])


def plain(value: object) -> Json:
    """Its fields as JSON has them."""
    if isinstance(value, Claim):  # what all kinds share is named without its place
        own = {f: plain(getattr(value, f)) for f in value.__dataclass_fields__ if f != "said"}
        return {**plain(value.said), **own}
    if is_dataclass(value):
        return {field: plain(getattr(value, field)) for field in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return plain_numbers(value)


def _question(claim: Claim) -> tuple[object, ...]:
    names = () if isinstance(claim, Best) else claim.names  # of the best they are the answer
    about, limit = claim.about, limit_of(claim)
    return claim.kind, about.of, about.name, names, quantity_words(claim), limit


_RUN = re.compile("[0-9a-f]{64}")
_SHARED = ("model", "inputs", "bounds", "perturbation", "property", "seed")
"""What an attack beside a study has in common with it."""


def check_run(evidence: Evidence) -> tuple[list[Check], list[Check]]:
    """The checks of the claims and of the results of one study."""
    record, what = evidence.record, "the results of the inputs"
    try:
        body = recompute(record, evidence.entries)
    except NotRecomputed as error:
        return _all_of(record.claims, what, Status.OPEN, str(error))
    except (*BROKEN, MemoryError) as error:
        words = str(error) if isinstance(error, DoesNotFollow | ReplayMismatch) else repr(error)
        return _all_of(record.claims, what, Status.REFUTED, words[:300])
    sampled = isinstance(record.details, Samples)  # a claim at a radius is of an attack beside it
    stated: list[Claim] = []
    others: list[Claim] = []
    for claim in record.claims:
        (others if sampled and isinstance(claim, RobustAtRadius) else stated).append(claim)
    claims = compare_claims(stated, body.claims, tiny=_is_tiny(evidence))
    beside = _check_attack(evidence, others)
    results = _check_results(evidence, body) + _check_clean(record) + _check_origin(record)
    return claims + beside[0], results + beside[1]


def _all_of(
    claims: Sequence[Claim], what: str, status: Status, reason: str
) -> tuple[list[Check], list[Check]]:
    """All claims, and what they rest on, for one reason."""
    checks = [status.of(words, reason) for words in (*map(claim_words, claims), what)]
    return checks[:-1], checks[-1:]


def _check_attack(evidence: Evidence, claims: Sequence[Claim]) -> tuple[list[Check], list[Check]]:
    """The claims of an attack beside a study, from the journal of the attack."""
    details = evidence.record.details
    summary = details.attack if isinstance(details, Samples) else None
    attack = evidence.attack
    if attack is None:
        reason = "it comes from an attack, a run of its own whose journal is not in this file"
        return [Status.OPEN.of(claim_words(claim), reason) for claim in claims], []
    wrong = _other_attack(evidence, attack, summary)
    if wrong:
        return _all_of(claims, "the attack beside it", Status.REFUTED, wrong)
    own, results = check_run(attack)
    checks = compare_claims(claims, attack.record.claims, tiny=False)
    bad = next((one for one in own if one.status is not Status.FOLLOWS), None)
    if bad is not None:
        checks = resting(checks, bad.status, bad.reason)
    found = attack.record.details
    found = replace(found, run=attack.record.digest) if isinstance(found, AttackSummary) else found
    different = first_difference(plain(summary), plain(found))
    if different is not None:
        results.append(Status.REFUTED.of(f"the summary: {different}"))
    return checks, [of_part("the attack", one) for one in results]


def _other_attack(evidence: Evidence, attack: Evidence, summary: AttackSummary | None) -> str:
    """Why this is not the attack beside the study; empty where it is."""
    if summary is None or summary.run != attack.record.digest:
        return "the study names another attack"
    if not isinstance(attack.record.details, AttackSummary):
        return "the run beside it is no attack"
    mine, theirs = evidence.study, attack.study
    other = next((n for n in _SHARED if getattr(mine, n) != getattr(theirs, n)), "")
    return f"the attack has another {other}" if other else ""


def _check_results(evidence: Evidence, body: RecordBody) -> list[Check]:
    record, tiny, checks = evidence.record, _is_tiny(evidence), []
    rows = sum(map(len, evidence.entries.values()))
    journal = f"{rows:,} rows of the journal and {body.trials:,} trials"
    wrong = [f"(the file has {len(record.inputs):,} of {len(body.inputs):,})"]
    if len(record.inputs) == len(body.inputs):
        wrong = [
            one.id
            for one, other in zip(record.inputs, body.inputs, strict=True)
            if one != other and first_difference(plain(one), plain(other), tiny=tiny) is not None
        ]
    if wrong:
        more = f" and {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
        checks.append(Status.REFUTED.of(f"the result of input {wrong[0]}{more}"))
    elif record.inputs:
        words = f"the results of all {len(record.inputs):,} inputs, from {journal}"
        checks.append(Status.FOLLOWS.of(words))
    else:
        checks.append(Status.FOLLOWS.of(f"the curve, from {journal}"))
    details = _without_model(record.details)
    different = first_difference(plain(details), plain(_without_model(body.details)), tiny=tiny)
    if record.trials != body.trials:
        different = "trials"
    if different is not None:
        checks.append(Status.REFUTED.of(f"the summary: {different}"))
    return checks


def _check_clean(record: Record) -> list[Check]:
    """That the doubt about clean inputs, which takes a PASS away, was not left out.

    It is decided again from labels and clean predictions; what only the model can say is trusted,
    and so is what was counted before correct inputs were chosen.
    """
    rows, clean, classes = record.inputs, record.clean, record.study.model.classes
    known = [(row.label, row.predicted) for row in rows if None not in (row.label, row.predicted)]
    if len(known) < len(rows) or not rows or record.study.inputs.only:
        return []
    subject = "the check of the clean accuracy"
    if any(not 0 <= one < classes for pair in known for one in pair if one is not None):
        return [Status.REFUTED.of(subject, f"a label is none of the {classes:,} classes")]
    labels, predicted = np.array(known, dtype=np.int64).T
    # a tie counts as wrong: how many there are only properties of the highest score say
    says_ties = record.study.property.kind in ("same", "true")
    kept = [row.id for row in rows if row.clean_kept and row.label != row.predicted]
    if kept and record.study.property.kind == "true":
        reason = f"another label is predicted for input {kept[0]} when clean, and it counts as kept"
        return [Status.REFUTED.of(subject, reason)]
    same = [row.clean_kept if says_ties else None for row in rows if row.label == row.predicted]
    own = CleanAnswers(len(same), len(rows), label_doubt(labels, predicted, classes))
    # a search until ± within ends before it has taken all inputs that were classified
    others = 0 if clean is None else clean.inputs - len(rows)
    if clean is not None and (not others or (others > 0 and record.study.method.number("within"))):
        left_out = own.blocks is not None and clean.blocks is None
        most = len(same) - same.count(False) + others
        if same.count(True) <= clean.right <= most and (others or not left_out):
            reason = f"{others:,} of {clean.inputs:,} inputs were classified and not taken"
            return [Status.OPEN.of(subject, reason)] if left_out else []
    reason = "the file leaves out, or changes, what the labels say of the clean predictions"
    return [Status.REFUTED.of(subject, reason)]


def _check_origin(record: Record) -> list[Check]:
    """What no claim rests on, as far as it can be wrong by itself."""
    checks = []
    if record.extends and (record.extends == record.digest or not _RUN.fullmatch(record.extends)):
        reason = f"it is no name of another run: {record.extends[:80]}"
        checks.append(Status.REFUTED.of("the run that this one adds to", reason))
    loss = record.details.clean_loss if isinstance(record.details, Samples) else None
    numbers, clean = [record.rung, record.seconds], record.clean
    if clean is not None:
        numbers += [clean.right, clean.inputs - clean.right]
    if loss is not None:
        numbers += [loss.mean or 0, loss.infinite, loss.inputs - loss.infinite]
        if loss.inputs != len(record.inputs) or (loss.mean is None) != (loss.infinite > 0):
            reason = f"it is of {loss.inputs:,} inputs, infinite for {loss.infinite:,} of them"
            checks.append(Status.REFUTED.of("the loss on clean inputs", reason))
    if min(numbers) < 0:
        reason = f"a count, a time or a loss below 0 cannot be: {str(min(numbers))[:40]}"
        checks.append(Status.REFUTED.of("how the run was made", reason))
    unknown = [one.status for one in record.findings if one.status not in tuple(CheckStatus)]
    if unknown:
        reason = f"a check is ok, a warning or failed, and not {unknown[0][:40]!r}"
        checks.append(Status.REFUTED.of("the checks of model and data before the run", reason))
    if not record.findings:
        reason = "the file leaves them out, and every run has some"
        checks.append(Status.OPEN.of("the checks of model and data before the run", reason))
    return checks


def _without_model(details: Details) -> Details:
    """The details without what only the model can say."""
    if isinstance(details, Samples):
        return replace(details, attack=None, clean_loss=None)
    return details


def check_comparison(evidence: Evidence) -> tuple[list[Check], list[Check]]:
    """The claims of several runs together, joined again from the records of the parts."""
    record, records = evidence.record, _records(evidence)
    try:
        joined = _joined(record, records)
    except (*BROKEN, MemoryError) as error:
        return _all_of(record.claims, "the comparison", Status.REFUTED, str(error)[:300])
    tiny = _is_tiny(evidence)
    different = first_difference(plain(record.details), plain(joined.details), tiny=tiny)
    rest = ("spec", "trials", "stopped_early", "inputs")
    different = different or next(
        (name for name in rest if getattr(record, name) != getattr(joined, name)), None
    )
    if evidence.entries or evidence.attack is not None:
        different = "the journal, which only the parts have"
    summary = Status.FOLLOWS.of(f"the comparison, from {len(records)} runs")
    if different is not None:
        summary = Status.REFUTED.of(f"the comparison: {different}")
    return compare_claims(record.claims, joined.claims, tiny=tiny), [summary]


def _joined(record: Record, records: Mapping[str, Record]) -> Record:
    details = record.details
    if not isinstance(details, Comparison):
        raise ValueError("the details are not those of a comparison")
    reference = {m.name: m.reference for m in details.members if m.reference is not None}
    error, suite = record.shared_error, details.suite
    joined = joined_record(records, details.along, error, reference or None, suite)
    first = next(iter(records.values()))
    at = [c.radius for c in record.claims if isinstance(c, RobustAtRadius)]
    if not at or not isinstance(first.details, Radii):
        return joined
    return replace(joined, claims=(*joined.claims, *at_radii(records, at)))


def check_verdicts(evidence: Evidence) -> list[Check]:
    """The verdict on each requirement, decided again from the results in the file."""
    record, tiny = evidence.record, _is_tiny(evidence)
    strange = [one.record for one in evidence.runs if one is not evidence]
    if any(one.verdicts or one.required is not None for one in strange):
        return [Status.REFUTED.of("a requirement of a part", "only the whole can have one")]
    if record.required is None:
        return [
            Status.REFUTED.of(claim_words(claim), "nothing was required")
            for claim in record.verdicts
        ]
    try:
        decided = _decided(evidence, record.required)
    except (*BROKEN, MemoryError) as error:
        reason = f"it cannot be required of this run: {str(error)[:300]}"
        return [Status.REFUTED.of("the requirement", reason)]
    if record.required.earlier is None or evidence.earlier is not None:
        return compare_claims(record.verdicts, decided, tiny=tiny)
    # verdicts on an earlier model whose run is not in the file; one at least must be there
    earlier = record.required.earlier
    compared = [one for one in record.verdicts if one.names == earlier.names]
    others = [one for one in record.verdicts if one not in compared]
    reason = (
        f"the run of {earlier.names[1]}, {earlier.run[:12]}, is not in this file: so it was "
        "decided where both runs were"
    )
    on_trust = [Status.OPEN.of(claim_words(one), reason) for one in compared]
    if not compared:
        reason = "it was required, and the file leaves its verdict out"
        on_trust = [Status.REFUTED.of(f"the comparison with {earlier.names[1]}", reason)]
    return compare_claims(others, decided, tiny=tiny) + on_trust


def _decided(evidence: Evidence, required: Requirements) -> tuple[Claim, ...]:
    """The verdicts; none on an earlier model whose run is not in the file."""
    record, records = evidence.record, _records(evidence)
    verdicts: tuple[Claim, ...] = ()
    if required.number or required.clean_accuracy is not None or required.earlier is None:
        verdicts = check_requirements(record, records, required)
        verdicts = as_in_records(verdicts, (record, *records.values()))
    if required.earlier is None or evidence.earlier is None:
        return verdicts
    before, accepted = evidence.earlier.record, required.accept_clean_accuracy
    return (*verdicts, *not_worse_than(record, before, required.earlier, accepted=accepted))


_RESTING = "the results that it rests on were not recomputed, or do not follow"


def resting(
    checks: Sequence[Check], status: Status = Status.OPEN, reason: str = _RESTING
) -> list[Check]:
    """Checks of what rests on something that does not follow: then it does not follow either."""
    return [
        Check(status, one.subject, reason) if one.status is Status.FOLLOWS else one
        for one in checks
    ]


def check_intact(evidence: Evidence) -> Check:
    """Every run has the name of its study, and its inputs are those of the data's digest."""
    inputs, missing, large = 0, "", False
    for one in evidence.runs:
        record, study = one.record, one.study
        name = hashlib.sha256(decisive_json(study).encode()).hexdigest()
        if name != record.digest:
            return Status.REFUTED.of("No: the name of the run is not that of this study.")
        digests = [row.digest for row in record.inputs]
        if not digests or isinstance(record.details, Radii):  # which keep none
            continue
        if not all(digests):
            missing = f"{digests.count(''):,} of {len(digests):,}"
            tried = [row for row in record.inputs if row.result.trials]
            large = digests.count("") > MOST_NAMED and all(row.digest for row in tried)
            continue
        try:
            rows = sorted(bytes.fromhex(digest) for digest in digests)
        except ValueError:
            rows = []
        if hashlib.sha256(b"".join(rows)).hexdigest() != study.inputs.digest:
            return Status.REFUTED.of("No: its inputs are not those that the study names.")
        inputs = max(inputs, len(rows))
    digest, named = evidence.record.digest, "is the digest of its study, as it must be"
    if evidence.parts:
        named = "follows from those of its runs, which are the digests of their studies"
        if digest != digest_of_parts(one.record.digest for one in evidence.parts.values()):
            return Status.REFUTED.of("No: the name of the comparison is not that of its runs.")
    if missing:
        why = "the file lacks their digests, which surefoot writes"
        if large:
            why = "a run keeps no digests of so many inputs without a trial; --data compares them"
        return Status.OPEN.of(
            f"Not covered: whether {missing} inputs are those that the study names, as {why}.",
        )
    of_data = f", and the digests of its {inputs:,} inputs are those of the data" if inputs else ""
    return Status.FOLLOWS.of(f"The name of run {digest[:12]} {named}{of_data}.")


def _records(evidence: Evidence) -> dict[str, Record]:
    return {name: part.record for name, part in evidence.parts.items()}
