"""Groups of inputs that were sampled as a whole: the frames of a video, the images of a patient.

Inputs of one group depend on each other; groups do not. So a group is one value of the sample,
however many inputs it has: the average over its inputs. The population's quantity is the average
over groups of the average within a group. Each group counts the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from surefoot.core.assumptions import Assumed, Assumption, TheseGroups
from surefoot.core.claims import Sampling
from surefoot.core.results import Result
from surefoot.errors import InvalidArgument

R = TypeVar("R")


@dataclass(frozen=True)
class Group(Generic[R]):
    """The results of the inputs of one group."""

    members: tuple[R, ...]

    def __post_init__(self) -> None:
        if not self.members:
            raise InvalidArgument("a group holds one input or more, got none: leave it out")

    @property
    def trials(self) -> int:
        """Trials of all its inputs."""
        of_members: Sequence[Any] = self.members
        return sum(member.trials for member in of_members)


Sampled = Result | Group[Result]
"""What was sampled: an input, or a group of them."""


def by_group(local: Sequence[R], names: Sequence[str]) -> list[Group[R]]:
    """The results of each group; `names` holds the group of each result, in the same order."""
    groups: dict[str, list[R]] = {}
    for name, result in zip(names, local, strict=True):
        groups.setdefault(name, []).append(result)
    return [Group(tuple(members)) for members in groups.values()]


def members_of(sampled: Sequence[Any]) -> list[Any]:
    """The results of all inputs, those of a group one after the other."""
    flat: list[Any] = []
    for one in sampled:
        if isinstance(one, Group):
            flat.extend(one.members)
        else:
            flat.append(one)
    return flat


def is_grouped(sampled: Sequence[Any]) -> bool:
    """Whether groups were sampled, and not single inputs."""
    return any(isinstance(one, Group) for one in sampled)


def assumptions_of_sample(sampling: Sampling, sampled: Sequence[Any]) -> tuple[Assumption, ...]:
    """What a statement about the population takes for granted of the inputs."""
    if sampling is Sampling.GROUPED or is_grouped(sampled):
        return TheseGroups(len(sampled)), Assumed.WHOLE_GROUPS
    return (Assumed.STRATIFIED if sampling is Sampling.STRATIFIED else Assumed.SAMPLED,)


def unit_word(sampled: Sequence[Any], single: str = "inputs") -> str:
    """What these are, in words; `single` is the word for those that are in no group."""
    return "groups" if is_grouped(sampled) else single


def averages(sampled: Sequence[Any], value: Callable[[Any], float]) -> NDArray[np.float64]:
    """The value of each input, or the average over the inputs of each group.

    Each is computed once, however often it is repeated: a forecast repeats them many times.
    """
    once = distinct(sampled)
    known = [
        float(np.mean([value(member) for member in one.members]))
        if isinstance(one, Group)
        else value(one)
        for one in once
    ]
    if len(once) == len(sampled):
        return np.array(known, dtype=np.float64)
    by_object = dict(zip(map(id, once), known, strict=True))
    return np.fromiter(map(by_object.__getitem__, map(id, sampled)), np.float64, len(sampled))


def distinct(sampled: Sequence[R]) -> list[R]:
    """Each of these objects once."""
    return list(dict(zip(map(id, sampled), sampled, strict=True)).values())


_LEAST_EFFECT = 1.05
"""Design effect worth a note: an interval that takes copies for independent draws is then too
narrow by 2.5 %."""


@dataclass(frozen=True)
class Copies:
    """How many there are, and how many of them are copies.

    `effect` is Kish's design effect: the sum of squared sizes of the sets of copies, over all.
    """

    number: int
    copies: int
    effect: float
    of_groups: bool = False

    @property
    def narrows(self) -> bool:
        """Whether an interval that takes copies for independent draws is noticeably too narrow."""
        return self.effect >= _LEAST_EFFECT


def copies(contents: Sequence[str | bytes], groups: Sequence[str] = ()) -> Copies:
    """Which contents occur again; within a group, which counts as one draw, they may."""
    of_groups = any(groups)
    distinct = list(dict.fromkeys(zip(contents, groups, strict=True))) if of_groups else []
    sizes = Counter(content for content, _ in distinct) if of_groups else Counter(contents)
    number = sum(sizes.values())
    effect = sum(size**2 for size in sizes.values()) / max(1, number)
    return Copies(number, number - len(sizes), effect, of_groups)


def copies_note(found: Copies, noun: str) -> str:
    """In words; `noun` is what they are: an input, or a case."""
    where = "one in another group, counted once a group" if found.of_groups else "another one"
    are = "is a copy" if found.copies == 1 else "are copies"
    return (
        f"{found.copies:,} of {found.number:,} {noun}s {are} of {where}: if they were copied and "
        f"not drawn anew, intervals about all such {noun}s are too narrow; leave copies out"
    )
