"""What a test comes to when a requirement is not shown: refuted, or undecided.

Nothing heavy is imported here: every pytest run loads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

TYPE_CHECKING = False  # `typing` is not imported for an annotation
if TYPE_CHECKING:
    from typing import Any


class _OfResult(AssertionError):
    """`result` is the whole result."""

    def __init__(self, message: str, result: Any = None) -> None:  # noqa: ANN401  a Result, which is slow to import
        super().__init__(message)
        self.result = result


class NotRobust(_OfResult):
    """The requirement is refuted; the message is the claim. `result` is the whole result."""

    __module__ = "surefoot.testing"  # where its users import it from


class RobustnessUndecided(_OfResult):
    """Neither shown nor refuted; the message says what would decide it."""

    __module__ = "surefoot.testing"  # where its users import it from


def _ignore(_: str) -> None:
    """Nobody lists what was undecided."""


@dataclass(frozen=True)
class UndecidedPolicy:
    """What undecided does to a test that does not say so itself; `note` gets what did not fail."""

    choice: str = "fail"
    note: Callable[[str], None] = _ignore


_policies = [UndecidedPolicy()]
"""The last one counts: a test run inside a test run has its own."""


@contextmanager
def undecided_policy(policy: UndecidedPolicy) -> Iterator[None]:
    """This policy, until the block ends."""
    _policies.append(policy)
    try:
        yield
    finally:
        _policies.remove(policy)


def raise_undecided(message: str, choice: str | None = None, result: Any = None) -> None:  # noqa: ANN401  a Result, which is slow to import
    """Fail, skip or go on: as `choice` says, or else the policy of the test run."""
    __tracebackhide__ = True
    policy = _policies[-1]
    choice = choice or policy.choice
    if choice == "fail":
        raise RobustnessUndecided(message, result)
    policy.note(message)
    if choice == "skip":
        from unittest import SkipTest

        raise SkipTest(message)  # as unittest does it, which pytest understands too
