"""A check that is ended after some time: whenever the end comes, one clear outcome."""

import threading

import pytest

from surefoot.evidence import within_limits
from surefoot.evidence.within_limits import OutOfTime, within

SECONDS = 60
"""For a thread to get its turn, on a busy machine."""


def test_what_a_function_returns_or_raises_in_time_is_the_outcome():
    assert within(SECONDS, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(SECONDS, lambda: 1 // 0)


def test_a_function_that_ends_while_it_is_being_stopped_has_its_outcome(monkeypatch):
    """The request to stop may come after the last line of the function."""
    go_on = threading.Event()

    def end(check):
        go_on.set()
        check.join(SECONDS)
        check.failures.append(within_limits._Stop())

    monkeypatch.setattr(within_limits, "_end", end)
    assert within(0.01, lambda: go_on.wait(SECONDS) and 7) == 7


@pytest.mark.parametrize("place", ["outcome", "failures"])
def test_a_thread_that_is_stopped_while_it_leaves_says_nothing_and_ends(place):
    """What it would say is a warning, and an error in this suite."""

    class Stopping(list):
        def append(self, value):
            super().append(value)
            check.stop()

    check = within_limits._Check(lambda: 7 if place == "outcome" else 1 // 0)
    setattr(check, place, Stopping())
    check.start()
    check.join(SECONDS)
    assert not check.is_alive()
    assert len(getattr(check, place)) == 1
    check.stop()  # nobody is there: nothing happens


def test_a_function_without_end_is_out_of_time_and_ended():
    ended = threading.Event()

    def endless():
        try:
            while True:
                pass
        finally:
            ended.set()

    with pytest.raises(OutOfTime):
        within(0.01, endless)
    assert ended.wait(SECONDS)


def test_a_check_is_ended_even_where_python_drops_the_first_request(capfd, monkeypatch):
    monkeypatch.setattr(within_limits, "_STOP_SECONDS", float(SECONDS))
    dropped = threading.Event()

    class Destroyed:
        def __del__(self):
            try:
                while True:
                    pass
            finally:
                dropped.set()

    def endless():
        Destroyed()
        while True:
            pass

    while not dropped.is_set():  # it may have to end before it gets there
        with pytest.raises(OutOfTime):
            within(0.05, endless)
    assert "Exception ignored" not in capfd.readouterr().err


def test_an_import_is_not_cut_short(tmp_path, monkeypatch):
    """The module asks for its own end while it is imported, and is whole."""
    (tmp_path / "asks_for_its_end.py").write_text(
        "import threading\nthreading.current_thread().stop()\nwhole = [0 for _ in range(100)]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    check = within_limits._Check(lambda: len(__import__("asks_for_its_end").whole))
    check.start()
    check.join(SECONDS)
    assert check.outcome == [100]
