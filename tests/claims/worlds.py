"""The registry of worlds: for every kind of claim, studies whose truth is known in closed form."""

from collections.abc import Callable
from dataclasses import dataclass

from surefoot.core.claims import KINDS, Claim, Verdict


@dataclass(frozen=True)
class Outcome:
    """Of the claims of one run: how many, how many false, how many undecided, their widths."""

    claims: int
    false: int
    undecided: int = 0
    widths: tuple[float, ...] = ()


@dataclass(frozen=True)
class World:
    """A known truth, the error that is stated there, and one run of the whole study by its seed."""

    kind: str
    name: str
    error: float
    run: Callable[[int], Outcome]


WORLDS: dict[type[Claim], list[World]] = {}


def world(kind: str, name: str, error: float) -> Callable[[Callable[[int], Outcome]], None]:
    """Enter a world into the registry."""

    def enter(run: Callable[[int], Outcome]) -> None:
        WORLDS.setdefault(KINDS[kind], []).append(World(kind, name, error, run))

    return enter


def missed(claim: Claim, truth: float) -> Outcome:
    """An interval is false where it misses the truth."""
    around = claim.interval
    if around is None:
        return Outcome(1, 0, 1)
    return Outcome(1, int(not around.low <= truth <= around.high), 0, (around.width,))


def all_missed(claims: list[Claim], truths: list[float]) -> Outcome:
    """Several claims, each by itself."""
    return add_up([missed(c, t) for c, t in zip(claims, truths, strict=True)])


def judged(claim: Claim, *, holds: bool) -> Outcome:
    """A verdict is false where it says the opposite."""
    wrong = Verdict.FAIL if holds else Verdict.PASS
    return Outcome(1, int(claim.verdict is wrong), int(claim.verdict is Verdict.UNDECIDED))


def add_up(outcomes: list[Outcome]) -> Outcome:
    """All of them."""
    return Outcome(
        sum(o.claims for o in outcomes),
        sum(o.false for o in outcomes),
        sum(o.undecided for o in outcomes),
        tuple(w for o in outcomes for w in o.widths),
    )


def any_false(outcomes: list[Outcome]) -> Outcome:
    """Claims that are said to hold together: false where one is."""
    whole = add_up(outcomes)
    return Outcome(1, int(whole.false > 0), int(whole.undecided > 0), whole.widths)


def of_kind(claims: tuple[Claim, ...], kind: str) -> list[Claim]:
    """The claims of this kind."""
    return [claim for claim in claims if claim.kind == kind]
