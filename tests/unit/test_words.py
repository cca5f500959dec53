"""Words claim no more than the numbers."""

import pytest

import surefoot as sf
from surefoot.population import Mean, requirement
from surefoot.report import phrases, words
from surefoot.report.tables import exhibit_table
from surefoot.results import Interval
from surefoot.store.records import Source
from tests.worlds import points, study


@pytest.mark.parametrize(
    ("value", "said"),
    [(1.0, "100 %"), (0.0, "0 %"), (0.99999, "above 99.99 %"), (0.00001, "below 0.01 %"),
     (0.29, "29 %"), (0.98765, "98.77 %"), (0.5, "50 %")],
)  # fmt: skip
def test_a_share_is_never_rounded_to_certainty(value, said):
    assert phrases.percent(value) == said


@pytest.mark.parametrize("low", [0.0, 0.29, 0.57123, 0.999949])
@pytest.mark.parametrize("high", [0.99995001, 0.9999501, 1.0])
def test_an_interval_is_rounded_outwards(low, high):
    said = phrases.between(Interval(low, high))
    a, b = (float(p.split()[0]) for p in said.removeprefix("between ").split(" and "))
    assert a <= 100 * low + 1e-9
    assert b >= 100 * high - 1e-9
    assert a >= 100 * low - 0.011
    assert b <= 100 * high + 0.011


@pytest.mark.parametrize(
    ("error", "said"),
    [(0.01, "wrong at most 1 time in 100"), (0.05, "wrong at most 1 time in 20"),
     (0.03, "wrong at most 3 times in 100"), (0.001, "wrong at most 1 time in 1,000"),
     (1e-12, "wrong with probability at most 1e-12"),
     (4e-7, "wrong with probability at most 4e-07")],
)  # fmt: skip
def test_odds_are_never_said_to_be_none(error, said):
    assert phrases.odds(error) == said


@pytest.mark.parametrize(
    ("error", "said"),
    [(0.01, "99 %"), (0.05, "95 %"), (0.001, "99.9 %"), (0.005, "99.5 %"), (4e-7, "99.99996 %")],
)
def test_confidence_is_never_rounded_up(error, said):
    assert phrases.confidence(error) == said
    assert float(phrases.confidence(error).split()[0]) <= 100 * (1 - error) + 1e-9


def test_a_requirement_is_repeated_to_the_last_digit():
    sure = sf.Guarantee(sf.Footing.SOUND, 0.01)
    local = [sf.Estimate(1.0, Interval(0.9, 1.0), sure, 10, 1.0, 10)] * 1000
    assert "0.9876546" in requirement(Mean(0.01), local, 0.9876546).claim
    assert "0.9999996" in requirement(Mean(0.01), local, 0.9999996).reason


def test_a_replay_command_survives_a_shell():
    record = study().run(source=Source("m", "d")).record
    said = words.replay_command(record, "it's -x", 3, "my store.db")
    assert "'it'\"'\"'s -x' 3 --store 'my store.db'" in said
    dashed = words.replay_command(record, "-x", 3, "s.db")
    assert dashed == f"surefoot replay --store s.db -- {record.digest[:12]} -x 3"


def test_a_study_in_memory_is_replayed_in_python():
    record = study().run().record
    assert words.replay_command(record, 'a"b', 3, "s.db") == "study.replay('a\"b', 3)"


def test_the_least_robust_inputs_have_their_true_class_where_it_is_known():
    given = points()
    wrong = sf.load_inputs(given.x, 1 - given.labels, class_names=("sun", "rain"))
    found = exhibit_table(study(inputs=wrong).run().record)
    place = found.headings.index("true class")
    assert found.rows
    for row in found.rows:
        assert row[place] in ("sun", "rain")
        assert row[place] != row[found.headings.index("undisturbed")]
    bare = exhibit_table(study(inputs=sf.load_inputs(given.x)).run().record)
    assert "true class" not in bare.headings
    assert {len(row) for row in bare.rows} == {len(bare.headings)}
