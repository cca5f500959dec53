"""What every journal must do."""

from __future__ import annotations

from collections.abc import Callable

from surefoot.core.counts import Counts, Severities
from surefoot.core.tasks import Entry, Subject, Task
from surefoot.store import Journal
from surefoot.testing.expect import expect


def check_journal(reopen: Callable[[], Journal]) -> None:
    """`reopen` gives a journal of one and the same run, empty at first."""
    journal = reopen()
    expect(journal.replay() == {}, "a new journal is not empty")
    one, two = Subject("one", (0,)), Subject("két / 'two'", (1,))
    journal.append([(Task(one, 0.1, 0, 5), Counts(5, 4)), (Task(two, 0.1, 0, 3), Counts(3, 3))])
    journal.append([(Task(one, 0.1, 5, 9), Counts(4, 0)), (Task(one, 0.25, 0, 2), Counts(2, 1))])
    journal.append([(Task(two, 0.1, 3, 5), Severities((0.1, 1 / 3), 0.5))])
    expected = {
        "one": [
            Entry(0.1, 0, 5, Counts(5, 4)),
            Entry(0.1, 5, 9, Counts(4, 0)),
            Entry(0.25, 0, 2, Counts(2, 1)),
        ],
        "két / 'two'": [
            Entry(0.1, 0, 3, Counts(3, 3)),
            Entry(0.1, 3, 5, Severities((0.1, 1 / 3), 0.5)),
        ],
    }
    expect(journal.replay() == expected, "replay differs from what was appended")
    expect(reopen().replay() == expected, "what was appended is gone after reopening")
