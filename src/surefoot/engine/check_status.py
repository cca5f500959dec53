"""How a check before a run ended."""

from __future__ import annotations

from enum import StrEnum


class CheckStatus(StrEnum):
    """How a check ended. A warning is shown beside the result; a failed check stops the run."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


Finding = tuple[CheckStatus, str]
"""How a check ended, and what to tell the user."""
