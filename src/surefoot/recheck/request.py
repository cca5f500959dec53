"""What a second party has, and how much of a run it wants to run again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from surefoot.engine.progress import Progress
from surefoot.errors import InvalidArgument
from surefoot.study.load_files import FileOptions

PROOFS = 3
"""Proofs that are done again, where nothing else is said: each may take as long as in the run."""
_NO_TIME = 1e-9
"""Seconds: a limit that is over before anything is run."""


@dataclass(frozen=True, eq=False)
class RerunRequest:
    """What a second party has and wants to run again.

    `models` has one, or those of a comparison in any order. `perturb` and `property` are needed
    where they are code of the user's own, which is not in the file. `seed` is the second party's
    own. Without a `share`, enough is run again to notice who altered one trial in twenty
    (`draw_trials`).
    """

    models: tuple[Any, ...]
    data: Any
    seed: int
    files: FileOptions = field(default_factory=FileOptions)
    share: float | None = None
    proofs: int = PROOFS
    perturb: Any = None
    property: Any = None
    time_limit: float | None = None
    on_progress: Callable[[Progress], None] = lambda _: None
    announce: Callable[[str], None] = lambda _: None

    def __post_init__(self) -> None:
        if self.share is not None and not 0 < self.share <= 1:
            raise InvalidArgument(
                f"share (--share) is the part of the trials to run again, above 0 and at most 1, "
                f"got {self.share:g}: try 0.01"
            )
        if self.proofs < 0:
            raise InvalidArgument(
                f"proofs (--proofs) are at least 0, got {self.proofs}: try {PROOFS}"
            )
        if self.seed < 0:
            raise InvalidArgument(
                f"seed (--seed) is an integer of at least 0, got {self.seed}: leave it out for a "
                "fresh one"
            )

    def since(self, begun: float) -> RerunRequest:
        """The same with what is left of its time after `begun`, on the monotonic clock."""
        if self.time_limit is None:
            return self
        left = max(begun + self.time_limit - time.monotonic(), _NO_TIME)
        return replace(self, time_limit=left)
