"""Several records side by side: models on the same inputs, or one model at several levels."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.population import Difference, Rank, differences, not_worse, ranks, sound
from surefoot.report.attacks import accuracy, attack_cautions
from surefoot.report.comparison_words import chart, comparison_page, comparison_text
from surefoot.report.figures import write_figure
from surefoot.report.html import write_whole
from surefoot.report.kinds import KINDS, population_of
from surefoot.report.phrases import ended, once_in
from surefoot.results import Decision, Estimate, Result, Undecided, Whole
from surefoot.statistics.agreement import Agreement, agreement
from surefoot.statistics.multiplicity import shares
from surefoot.store.attacked import Attacked
from surefoot.store.records import Record

MODELS, LEVELS = "model", "level"
_SHARED = ("property", "procedure", "population", "seed", "bounds")


@dataclass(frozen=True)
class Member:
    """One of those compared."""

    name: str
    digest: str
    level: float
    whole: Whole
    accuracy: float | None
    trials: int
    rank: Rank | None = None
    reference: float | None = None
    attack: Attacked | None = None


@dataclass(frozen=True)
class Comparison:
    """What is said of each, and of every pair, all holding together within one error."""

    along: str
    kind: str
    quantity: str
    error: float
    inputs: int
    perturbation: str
    robust: str
    source: str
    members: tuple[Member, ...]
    differences: tuple[Difference, ...]
    agreement: Agreement | Undecided | None
    cautions: tuple[str, ...]
    command: str = ""
    local: Mapping[str, Sequence[Result]] = field(default_factory=dict, repr=False)

    def not_worse(self, name: str, margin: float) -> Decision | Undecided:
        """Whether this model is less robust than none of the others by more than `margin`."""
        if name not in {m.name for m in self.members}:
            raise InvalidArgument(
                f"there is no {name!r} among those compared: "
                + ", ".join(m.name for m in self.members)
            )
        if not self.differences:
            raise InvalidArgument("levels are not compared in pairs: compare models")
        return not_worse(KINDS[self.kind](self.error), self.local, name, margin)

    def report(self, path: str | Path, verdict: str = "") -> Path:
        """Write the page, whole or not at all."""
        write_whole(Path(path), comparison_page(self, verdict))
        return Path(path)

    def figure(self, path: str | Path) -> Path:
        """Write the figure as .svg, .png, or as Vega-Lite .json."""
        return write_figure(chart(self), Path(path))

    def to_json(self) -> str:
        """Everything, for machines."""
        told = asdict(replace(self, local={}))
        del told["local"]
        return json.dumps(told, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        """The outcome in sentences and tables."""
        return comparison_text(self)


def side_by_side(
    records: Mapping[str, Record],
    along: str = MODELS,
    error: float | None = None,
    reference: Mapping[str, float] | None = None,
    command: str = "",
) -> Comparison:
    """Compare records of the same inputs, most robust first; levels in rising order.

    Models: half of the error goes to their intervals, half to the differences of all pairs.
    Levels: all of it to the intervals.
    """
    if len(records) < 2:
        raise InvalidArgument(f"a comparison needs two or more, got {len(records)}")
    if reference is not None and set(reference) != set(records):
        odd = sorted(set(reference) ^ set(records))
        raise InvalidArgument(f"a reference needs one number for each model: look at {odd[0]!r}")
    first = next(iter(records.values()))
    _refuse_strangers(records, along)
    over = population_of(first)
    spent = over.error if error is None else error
    share = shares(spent / 2 if along == MODELS else spent, len(records))
    local = {name: _ordered(record) for name, record in records.items()}
    found = differences(over, local, spent / 2) if along == MODELS else ()
    places = ranks(list(records), found)
    members = [
        Member(
            name=name,
            digest=record.digest,
            level=record.spec["perturbation"]["level"],
            whole=over.conclude(local[name], share),
            accuracy=accuracy(record),
            trials=record.trials,
            rank=places[name] if along == MODELS else None,
            reference=None if reference is None else reference[name],
            attack=record.attack,
        )
        for name, record in records.items()
    ]
    members.sort(key=(lambda m: -_value(m)) if along == MODELS else (lambda m: m.level))
    words = max(records.values(), key=lambda r: r.spec["perturbation"]["level"]).spec["words"]
    return Comparison(
        along=along,
        kind=over.kind,
        quantity=over.quantity,
        error=spent,
        inputs=len(first.local),
        perturbation=words["perturbation"],
        robust=_robust(first),
        source=f"{words['source']}: {first.spec['inputs']['selection']}",
        members=tuple(members),
        differences=found,
        agreement=None if reference is None else _agreement(members, spent),
        cautions=tuple(_cautions(records)),
        command=command,
        local=local,
    )


def _agreement(members: Sequence[Member], error: float) -> Agreement | Undecided:
    known = [(m, m.reference) for m in members if m.reference is not None]
    return agreement([_value(m) for m, _ in known], [r for _, r in known], error)


def _robust(record: Record) -> str:
    """What it takes to be robust, or robustness itself, in words."""
    held = record.spec["words"]["property"]
    if record.spec["population"]["kind"] != "robust-share":
        return f"robustness is the probability that perturbed inputs {held}"
    kappa = once_in(record.spec["procedure"]["kappa"])
    return f"an input is robust if at most {kappa} of its perturbed versions fail to {held}"


def _ordered(record: Record) -> list[Result]:
    """By an order that depends on the ids alone, so the same for all."""
    rows = sorted(record.local, key=lambda row: hashlib.sha256(row.id.encode()).digest())
    return [row.result for row in rows]


def _value(member: Member) -> float:
    whole = sound(member.whole)
    return whole.value if isinstance(whole, Estimate) else 0.0


def _refuse_strangers(records: Mapping[str, Record], along: str) -> None:
    """The same question about the same inputs, or there is nothing to compare."""
    (name, first), *others = records.items()
    for other, record in others:
        for part in _SHARED:
            if record.spec[part] != first.spec[part]:
                raise InvalidArgument(
                    f"{name} and {other} differ in their {part} ({first.spec[part]} and "
                    f"{record.spec[part]}): only the {along} may differ"
                )
        mine, theirs = ({r.id: r.label for r in one.local} for one in (first, record))
        a, b = (one.spec["inputs"] for one in (first, record))
        moved = (a["frame"], a["axes"]) != (b["frame"], b["axes"])
        if mine != theirs or (not moved and a["digest"] != b["digest"]):
            raise InvalidArgument(f"{name} and {other} were studied on different inputs")
        a, b = (one.spec["perturbation"] for one in (first, record))
        if along == LEVELS:
            a, b = _but_for_level(a), _but_for_level(b)
        if a != b:
            raise InvalidArgument(f"{name} and {other} met different perturbations: {a} and {b}")


def _but_for_level(told: dict[str, Any]) -> dict[str, Any]:
    """The perturbation without its level, which one whose strength is drawn shares."""
    rest = {k: v for k, v in told.items() if k != "level"}
    if isinstance(rest.get("inner"), dict):
        rest["inner"] = _but_for_level(rest["inner"])
    return rest


def _cautions(records: Mapping[str, Record]) -> list[str]:
    """What makes the comparison less sharp, and what the preflights found odd."""
    generators = {(r.spec["generator"], r.spec["block"]) for r in records.values()}
    lines = []
    if len(generators) > 1:
        lines.append(
            "Look: the models do not meet the same random numbers (they run on different "
            "devices): the intervals hold, but are wider than they need be."
        )
    for name, record in records.items():
        lines += [f"Look: {name}: {f.name}: {ended(f.finding)}" for f in record.findings if f.odd]
    return lines + attack_cautions({name: record.attack for name, record in records.items()})
