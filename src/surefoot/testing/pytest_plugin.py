"""The pytest plugin: studies of `surefoot.toml` are tests; undecided is an outcome of its own.

Every run of pytest loads this file where surefoot is installed: it imports nothing but pytest.
`surefoot.testing.study_items` collects and runs studies, and is imported when there are some.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from surefoot.core.claims import UNDECIDED_CHOICES
from surefoot.testing.assertions import RobustnessUndecided, UndecidedPolicy, undecided_policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STUDY_FILE = "surefoot.toml"
_OPEN = "surefoot_undecided"
"""The attribute of a report that has the sentence; it travels from a worker of pytest-xdist."""
_notes_key = pytest.StashKey[list[str]]()
_stack_key = pytest.StashKey[ExitStack]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The two options of a pytest.ini or pyproject.toml."""
    parser.addini(
        "surefoot_studies",
        f"study files whose studies are tests (default: {STUDY_FILE} beside this file)",
        type="paths",
        default=[],
    )
    parser.addini(
        "surefoot_undecided",
        "what an undecided requirement does to a test: fail (default), skip or pass",
        default=UNDECIDED_CHOICES[0],
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse what cannot be meant, before anything runs."""
    config.addinivalue_line("markers", "surefoot: a study of a study file, such as surefoot.toml")
    choice = config.getini("surefoot_undecided")
    if choice not in UNDECIDED_CHOICES:
        raise pytest.UsageError(f"surefoot_undecided must be fail, skip or pass, got {choice!r}")
    for path in config.getini("surefoot_studies"):
        if not path.is_file():
            raise pytest.UsageError(f"surefoot_studies names {path}, which is no file")
    notes = config.stash[_notes_key] = []
    stack = config.stash[_stack_key] = ExitStack()
    stack.enter_context(undecided_policy(UndecidedPolicy(choice, notes.append)))
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        _add_study_files(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """The run has ended: one around it has its own policy again."""
    if _stack_key in config.stash:
        config.stash[_stack_key].close()


def _study_files(config: pytest.Config) -> list[Path]:
    """Those that the configuration names, or else the one beside it."""
    named: list[Path] = config.getini("surefoot_studies")
    return [Path(os.path.abspath(path)) for path in named] or [config.rootpath / STUDY_FILE]


def _add_study_files(config: pytest.Config) -> None:
    """To a run of the whole project that names no files; `testpaths` leaves them out else.

    Workers of pytest-xdist get these arguments.
    """
    if config.invocation_params.dir == config.rootpath:
        others = [p for p in _study_files(config) if str(p.parent) not in config.args]
        config.args += [str(path) for path in others if path.is_file()]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A study file: the one of the configuration, or one of its name that was asked for."""
    asked_for = file_path.name == STUDY_FILE and parent.session.isinitpath(file_path)
    if asked_for or file_path in _study_files(parent.config):
        from surefoot.testing.study_items import StudyFile

        collector: pytest.Collector = StudyFile.from_parent(parent, path=file_path)
        return collector
    return None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, Any, None]:
    """Write into the report that the test is undecided, and why."""
    outcome = yield
    report = outcome.get_result()
    notes = item.config.stash[_notes_key]
    open_question = "\n".join(notes)
    notes.clear()
    if report.failed:  # by what was undecided, or by something else
        error = None if call.excinfo is None else call.excinfo.value
        open_question = str(error) if isinstance(error, RobustnessUndecided) else ""
    if open_question:
        setattr(report, _OPEN, open_question)


def pytest_report_teststatus(report: Any) -> tuple[str, str, Any] | None:  # noqa: ANN401  of pytest
    """Undecided: counted by itself, whether it fails or passes; skipped stays skipped."""
    if not getattr(report, _OPEN, "") or report.skipped or report.when != "call":
        return None
    return "undecided", "U", ("UNDECIDED", {"yellow": True})


def pytest_terminal_summary(terminalreporter: Any) -> None:  # noqa: ANN401  of pytest
    """Every undecided test with its sentence."""
    reports = [
        report
        for every in terminalreporter.stats.values()
        for report in every
        if getattr(report, _OPEN, "") and not hasattr(report, "wasxfail")
    ]
    if reports:
        terminalreporter.section("undecided", yellow=True)
    for report in reports:
        terminalreporter.write_line(f"{report.nodeid}: {report.outcome}", yellow=True, bold=True)
        terminalreporter.write_line(getattr(report, _OPEN))
