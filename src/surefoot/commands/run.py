"""The options of `run`: which studies of a file, compared with what, and what is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from surefoot.commands.values import Number, check_folder, check_text_file
from surefoot.core.claims import UNDECIDED_CHOICES, UndecidedAs
from surefoot.records.options import option, refused, refused_value

DEFAULT_FILE = "surefoot.toml"
"""What `surefoot run` reads where no file is named."""
Texts = str | Sequence[str]


@dataclass(frozen=True)
class GateOptions:
    """Which studies of a file are run, what they are compared with, and what is written."""

    only: Texts | None = option(None, "Run only the study of this name.", repeats=True)
    not_worse_than: Texts | None = option(
        None,
        "Require that the model is not worse than the one of this evidence file: "
        "NAME.evidence.json, or NAME=old.evidence.json, for the study NAME; or of a folder of "
        "them, for all studies.",
        repeats=True,
    )
    previous_model: Texts | None = option(
        None,
        "Require that the model is not worse than this one, which is run as well: old.onnx, or "
        "NAME=old.onnx for the study NAME alone.",
        repeats=True,
    )
    margin: Number | None = option(
        None,
        "How much more often than the earlier model it may fail (default: 0.01); for curve and "
        "critical, how much smaller its share of the levels or its mean radius may be.",
    )
    evidence: str | Path | None = option(
        None, "Write the evidence of each study into this folder: NAME.evidence.json."
    )
    key: str | Path | None = option(
        None, "With --evidence: private key that signs it (surefoot key new)."
    )
    junit: str | Path | None = option(
        None, "Write the requirements as test cases to this file: junit.xml."
    )
    undecided: str | None = option(
        None, "With --junit: what an undecided case does: fail (default), skip or pass."
    )

    @property
    def undecided_as(self) -> UndecidedAs:
        """What an undecided case does in a file of test cases."""
        return next((c for c in UNDECIDED_CHOICES if c == self.undecided), UNDECIDED_CHOICES[0])

    def check(self) -> None:
        """Refuse what could not be written, before anything is run."""
        check_text_file(self.junit)
        check_folder(self.evidence)
        if self.undecided is not None and self.undecided not in UNDECIDED_CHOICES:
            raise refused(
                "undecided",
                self.undecided,
                f"must be {' or '.join(UNDECIDED_CHOICES)}, got {self.undecided!r}",
            )
        if self.undecided is not None and self.junit is None:
            raise refused_value(
                "undecided",
                self.undecided,
                "is about a file of test cases: add junit (--junit junit.xml)",
            )
        if self.key is None:
            return
        if self.evidence is None:
            raise refused_value("key", self.key, "signs evidence: add evidence (--evidence FOLDER)")
        from surefoot.evidence.envelope import read_private_key

        read_private_key(self.key)


def texts(given: Texts | None) -> tuple[str, ...]:
    """One text or several, or none."""
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)
