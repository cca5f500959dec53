"""The one loop with questions about several levels and chosen trials."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

from surefoot.core.counts import Counts, Outcomes
from surefoot.core.procedure import Ask
from surefoot.core.tasks import Subject, Task
from surefoot.curves import AdaptiveCurve, SequentialCurve
from surefoot.engine.loop import measure
from surefoot.errors import OutOfMemory
from surefoot.executors.pool import Inline
from surefoot.store import MemoryJournal
from tests.curve_worlds import breaking, drive
from tests.refusals import refused
from tests.worlds import Spy

SIZE = 120
CRITICAL = np.random.default_rng(3).normal(0.5, 0.2, SIZE)
SUBJECT = Subject("all", tuple(range(SIZE)))


class World:
    """A bench whose trial i is input i, broken at its own level."""

    block = 1

    def __init__(self, kind=Outcomes, largest=10**9):
        self.kind, self.largest = kind, largest

    def answer(self, tasks):
        if sum(task.units for task in tasks) > self.largest:
            raise OutOfMemory("too much")
        return [self.kind.of(1 - breaking(CRITICAL)(t.level)[t.start : t.stop], 0.5) for t in tasks]


class NoisyWorld(World):
    """A bench whose trials are independent: right at a level as likely as a steep curve says."""

    def answer(self, tasks):
        answers = []
        for task in tasks:
            right = 0.96 if task.level < 0.37 else 0.2
            chance = np.sin(np.arange(task.start, task.stop) * 12.9898 + 4.1) * 43758.5453 % 1
            answers.append(Outcomes.of((chance >= right) * 1.0, 0.5))
        return answers


def run(procedure, bench=None, journal=None, pool=None, subjects=(SUBJECT,), **more):
    return measure(
        procedure,
        bench or World(),
        list(subjects),
        pool=pool or Inline(),
        journal=journal if journal is not None else MemoryJournal(),
        **{"batch_size": 50, **more},
    )


curve = partial(SequentialCurve, 0.0, 1.0, size=SIZE, resolution=0.02)
CURVES = {
    "one threshold": curve((0.8,)),
    "three, and the clean level inside": curve((0.9, 0.8, 0.3), clean=0.4),
    "monotone": curve((0.7,), assume="monotone"),
    "one crossing": curve((0.7,), assume="one-crossing"),
    "curvature": curve((0.7,), assume="curvature:20"),
    "population": curve((0.7,), scope="population"),
    "population by ranks": curve((0.7,), scope="population", assume="monotone"),
}
FRESH = {
    f"fresh draws, {assume}": curve((0.8, 0.5), assume=assume, fresh=True)
    for assume in ("bounded-rise", "one-crossing")
}
BOTH = [(one, World) for one in CURVES.values()] + [(one, NoisyWorld) for one in FRESH.values()]
IDS = [*CURVES, *FRESH]


class Script:
    """Asks what it is told to, and keeps the answers."""

    def __init__(self, *questions):
        self.questions = questions

    def steps(self):
        answers = []
        for question in self.questions:
            answers.append((yield question))
        return answers


def marks(level, start, stop):
    return Outcomes.of(1 - breaking(CRITICAL)(level)[start:stop], 0.5)


@pytest.mark.parametrize("batch_size", [1, 3, 1000])
def test_a_tuple_of_asks_is_told_as_many_answers_in_its_order(batch_size):
    asks = (Ask(0.5, 4, 10), Ask(0.2, 3, 0), Ask(0.5, 2, 100), Ask(0.5, 3, 20))
    (answers,) = run(Script(asks), batch_size=batch_size)
    expected = [marks(0.5, 10, 14), marks(0.2, 0, 3), marks(0.5, 100, 102), marks(0.5, 20, 23)]
    assert answers == [expected]


def test_a_tuple_of_one_is_told_a_list_and_a_bare_ask_is_not():
    (answers,) = run(Script((Ask(0.5, 4, 10),), Ask(0.5, 4, 30)))
    assert answers == [[marks(0.5, 10, 14)], marks(0.5, 30, 34)]


def test_without_a_start_trials_go_on_where_the_last_at_the_level_ended():
    (answers,) = run(Script(Ask(0.5, 4), (Ask(0.5, 2), Ask(0.1, 2)), Ask(0.5, 3, 50), Ask(0.5, 1)))
    assert answers == [
        marks(0.5, 0, 4),
        [marks(0.5, 4, 6), marks(0.1, 0, 2)],
        marks(0.5, 50, 53),
        marks(0.5, 53, 54),
    ]


@pytest.mark.parametrize("units", [0, -2])
def test_a_question_for_no_trials_is_refused(units):
    refused(f"asked for {units} trials", run, Script((Ask(0.5, 3, 0), Ask(0.4, units, 0))))


@pytest.mark.slow
@pytest.mark.parametrize("procedure", CURVES.values(), ids=CURVES)
def test_a_curve_through_the_loop_is_the_curve_alone(procedure):
    alone = drive(procedure, breaking(CRITICAL))
    spy = Spy(World())
    assert run(procedure, spy) == [alone.curve]
    assert len(spy.trials) == len(set(spy.trials)) == alone.curve.trials


@pytest.mark.slow
@pytest.mark.parametrize(("procedure", "world"), [BOTH[1], BOTH[-1]], ids=[IDS[1], IDS[-1]])
def test_batch_size_and_workers_never_change_a_curve(procedure, world):
    plain = run(procedure, world())
    with ThreadPoolExecutor(3) as pool:
        assert run(procedure, world(), pool=pool, batch_size=7, in_flight=5) == plain


def entries_of(procedure, batch_size, bench=None):
    journal = MemoryJournal()
    run(procedure, bench, journal=journal, batch_size=batch_size)
    return journal.replay()["all"]


def cut(entries, k):
    journal = MemoryJournal()
    journal.append([(Task(SUBJECT, e.level, e.start, e.stop), e.evidence) for e in entries[:k]])
    return journal


@pytest.mark.slow
@pytest.mark.parametrize(("procedure", "world"), BOTH[1::2], ids=IDS[1::2])
def test_a_curve_that_died_anywhere_goes_on_and_ends_the_same(procedure, world):
    plain, entries = run(procedure, world()), entries_of(procedure, 41, world())
    assert plain[0].trials == sum(e.stop - e.start for e in entries)
    for k in [*range(0, len(entries), 1 + len(entries) // 3), len(entries)]:
        kept = sum(e.stop - e.start for e in entries[:k])
        spy = Spy(world())
        again = run(procedure, spy, journal=cut(entries, k), batch_size=1000 if k % 2 else 11)
        assert again == plain
        assert len(spy.trials) == len(set(spy.trials)) == plain[0].trials - kept


@pytest.mark.parametrize("procedure", FRESH.values(), ids=FRESH)
def test_no_two_levels_of_a_curve_share_a_draw(procedure):
    spy = Spy(NoisyWorld())
    (curve,) = run(procedure, spy, batch_size=1000)
    numbers = [number for _, _, number in spy.trials]
    assert len(numbers) == len(set(numbers)) == curve.trials
    assert curve.readings[0].interval.low <= 0.37 <= curve.readings[0].interval.high


def test_evidence_of_one_question_may_come_in_any_order():
    """Workers finish as they like; the journal of a killed run is as they did."""
    procedure = CURVES["one threshold"]
    scan = entries_of(procedure, batch_size=23)[:20]
    for found in (scan[::-1], scan[::2]):
        assert run(procedure, journal=cut(found, 20)) == run(procedure)


def test_every_subject_may_have_a_procedure_of_its_own():
    others = [Subject(name, SUBJECT.rows) for name in ("a", "b", "c")]
    first, second = CURVES["one threshold"], CURVES["population"]
    own = {"a": first, "b": second, "c": Script((Ask(0.5, 4, 10),))}
    result = run(own, subjects=others[::-1])
    assert result == [[[marks(0.5, 10, 14)]], *run(second), *run(first)]


def test_a_curve_of_counts_passes_through_the_same_loop():
    procedure = AdaptiveCurve(0.0, 1.0, (0.8,), 16.0, 64, size=SIZE)
    spy = Spy(World(Counts))
    (result,) = run(procedure, spy)
    assert len(spy.trials) == len(set(spy.trials)) == result.trials
    assert result.points[0].value == breaking(CRITICAL)(0.0).mean()
