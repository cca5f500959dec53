"""A run under a time limit, killed at random moments: it goes on, and ends as if never killed."""

import os
import random
import signal
import sqlite3
import time

import surefoot as sf
from tests.early_curve import STOPPED, Climb, slow_study
from tests.system import forked
from tests.system.hold import SECONDS, hold, hold_journal, wait_for
from tests.system.test_interruption import trials_in_journal

NO_TIME = 1e-6


def run_held(folder):
    """In a process of its own: under a limit that it does not reach."""
    os.chdir(folder)
    hold_journal()
    slow_study().run("surefoot.db", workers=1, batch=8, time_limit=10 * SECONDS)


def trials_so_far(folder):
    try:
        return trials_in_journal(folder)
    except sqlite3.Error:
        return 0


def test_kill_9_under_a_limit_loses_nothing_and_changes_nothing(tmp_path):
    store, chance, before = str(tmp_path / "surefoot.db"), random.Random(4), 0
    plain = slow_study().run(batch=40)
    hold(tmp_path, 20)
    for _ in range(3):
        process = forked.start(run_held, str(tmp_path))
        wait_for(lambda least=before: trials_so_far(tmp_path) > least)
        time.sleep(chance.uniform(0, 0.05))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        before = trials_in_journal(tmp_path)
    assert sf.runs(store)[0].finished is False
    stopped = slow_study().run(store, workers=1, batch=8, time_limit=NO_TIME)
    assert stopped.record.stopped_early
    assert stopped.claims == sf.read_result(store).claims
    assert stopped.details.curve.notes == (STOPPED,)
    assert stopped.details.curve.trials >= before // Climb().trials * Climb().trials
    again = slow_study().run(store)
    assert (again.claims, again.details) == (plain.claims, plain.details)
    assert trials_in_journal(tmp_path) == plain.record.trials, (
        "trials were run twice or are missing"
    )
