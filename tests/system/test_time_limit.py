"""A run under a time limit, killed at random moments: it goes on, and ends as if never killed."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import surefoot as sf
from tests.early_curve import STOPPED, Climb, slow_study

ROOT = Path(__file__).parents[2]


def start(store, limit):
    command = [sys.executable, "-m", "tests.early_curve", str(store), str(limit)]
    return subprocess.Popen(command, cwd=ROOT, env=dict(os.environ))


def trials_in_journal(store):
    try:
        db = sqlite3.connect(store)
        (n,) = db.execute("SELECT coalesce(sum(stop - start), 0) FROM surefoot_journal").fetchone()
        db.close()
    except sqlite3.Error:
        return 0
    return n


def test_kill_9_under_a_limit_loses_nothing_and_changes_nothing(tmp_path):
    store, chance, before, killed = tmp_path / "s.db", random.Random(4), 0, 0
    plain = slow_study().run(batch=40)
    for _ in range(3):
        process = start(store, 60)
        until = time.monotonic() + 60
        while trials_in_journal(store) <= before and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.05))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        assert trials_in_journal(store) > before
        before = trials_in_journal(store)
    assert killed == 3
    assert sf.runs(str(store))[0].finished is False
    assert start(store, 0.05).wait() == 0
    stopped = sf.read_result(str(store))
    assert stopped.record.stopped_early
    assert stopped.details.curve.notes == (STOPPED,)
    assert stopped.details.curve.trials >= before // Climb().trials * Climb().trials
    again = slow_study().run(str(store))
    assert (again.claims, again.details) == (plain.claims, plain.details)
    assert trials_in_journal(store) == plain.record.trials, "trials were run twice or are missing"
