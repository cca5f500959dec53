"""Studies of a study file as tests of pytest: one test for each study.

pytest asks for the collector of every file of a folder that it visits, also where none of its
tests run: what is heavy is imported when studies are read.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from os import PathLike

import pytest

from surefoot.system.text import escape_controls, escape_unprintable
from surefoot.testing.assertions import NotRobust, raise_undecided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from surefoot.gate import StudyOutcome


_NOTHING = "nothing is required: measured, and no verdict; add require = 0.95 to its [[study]]"
"""Why a study without a requirement is skipped."""


class StudyError(Exception):
    """A study could not be run; the message says why and what to do."""


class StudyFile(pytest.File):
    """A study file: its studies.

    One that cannot be read is an error of the collection, as a test module is that cannot be
    imported: no choice of tests (-k, -m) passes it over.
    """

    def collect(self) -> Iterator[StudyItem]:
        """One test for each study; nothing is loaded or run."""
        from surefoot.errors import SurefootError
        from surefoot.gate import read_gate

        try:
            gate = read_gate(self.path)
        except SurefootError as error:
            raise self.CollectError(escape_controls(str(error))) from None
        for study in gate.studies:
            item: StudyItem = StudyItem.from_parent(self, name=escape_unprintable(study.name))
            item.study = study.name
            item.add_marker("surefoot")
            yield item


class StudyItem(pytest.Item):
    """One study: passes if every requirement of it is shown."""

    study: str

    def runtest(self) -> None:
        """Run it, or read it from its store."""
        # The file is read again: its paths are relative to the folder of now.
        from surefoot.errors import SurefootError, SurefootWarning
        from surefoot.gate import Outcome, check_study, read_gate

        try:
            gate = read_gate(self.path)
        except SurefootError as error:
            raise StudyError(escape_controls(str(error))) from None
        study = next((study for study in gate.studies if study.name == self.study), None)
        if study is None:
            raise StudyError(f"{self.path.name} has no study {self.name} any more: it was changed")
        done = check_study(gate, study)
        for verdict in done.verdicts:
            self.user_properties.append(("claim", escape_controls(verdict.message)))
        for note in done.cautions:
            warnings.warn(
                escape_controls(f"study {self.name}: {note}"), SurefootWarning, stacklevel=2
            )
        if not done.verdicts and done.outcome is Outcome.PASS:
            pytest.skip(_NOTHING)
        match done.outcome:
            case Outcome.FAIL:
                raise NotRobust(_message(done), done.result)
            case Outcome.UNDECIDED:
                raise_undecided(_message(done), result=done.result)
            case Outcome.ERROR:
                raise StudyError(escape_controls(done.message))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ANN401  as pytest calls it
        """The claim or the error in words; a traceback would be one of surefoot."""
        if isinstance(excinfo.value, AssertionError | StudyError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[PathLike[str], int | None, str]:
        """Where it stands, for the heading of a failure."""
        return self.path, None, f"study {self.name}"


def _message(done: StudyOutcome) -> str:
    """Every verdict that was not passed, and the inputs that failed most often."""
    from surefoot.gate import Outcome
    from surefoot.testing.robust import python_words, worst_inputs

    lines = [python_words(v.message) for v in done.verdicts if v.outcome is not Outcome.PASS]
    lines += done.notes
    if done.outcome is Outcome.FAIL and done.result is not None:
        lines.append(worst_inputs(done.result))
    return escape_controls("\n".join(line for line in lines if line))
