"""Words claim no more than the numbers."""

import re
from fractions import Fraction
from math import inf

import pytest

import surefoot as sf
from surefoot.core.results import Interval
from surefoot.records.record import Source
from surefoot.report import formatting
from surefoot.report.sentences import sentence
from surefoot.report.views.sampling_tables import replay_command, weakest_section
from tests.worlds import points, study

RANGE = r"([\d.]+) % to ([\d.]+) % of the perturbations"


WORDS = {
    formatting.percent: [
        (1.0, "100 %"), (0.0, "0 %"), (0.99999, "above 99.99 %"), (0.00001, "below 0.01 %"),
        (0.29, "29 %"), (0.98765, "98.77 %"), (0.5, "50 %"),
    ],
    formatting.percent_range: [
        (Interval(0.0, 1e-15), "0 % to 0.01 %"), (Interval(1 - 1e-15, 1.0), "99.99 % to 100 %"),
        (Interval(0.68 - 1e-9, 0.68 + 1e-9), "67.99 % to 68.01 %"),
    ],
    formatting.points_range: [(Interval(-1e-15, 1e-15), "-0.01 to +0.01")],
    formatting.points_apart: [
        (0.0, "0.00 points"), (0.00001, "less than 0.01 points"), (-0.0123, "1.23 points"),
    ],
    formatting.signed_range: [
        (Interval(0.00123456, 0.0065432), "+0.001234 to +0.006544"),
        (Interval(-0.00123456, -0.00012345), "-0.001235 to -0.0001234"),
        (Interval(-0.5, 0.25), "-0.5 to +0.25"), (Interval(0.1, inf), "+0.1 or more"),
        (Interval(-inf, 0.1), "+0.1 or less"), (Interval(-inf, inf), "not known"),
    ],
    formatting.of_perturbations: [
        (0.01, "1 in 100 perturbations"), (1e-5, "1 in 100,000 perturbations"),
        (0.03, "3 % of the perturbations"), (0.0123456789, "1.23456789 % of the perturbations"),
    ],
    formatting.error_odds: [
        (0.01, "wrong at most 1 time in 100"), (0.05, "wrong at most 1 time in 20"),
        (0.03, "wrong at most 3 times in 100"), (0.001, "wrong at most 1 time in 1,000"),
        (1e-12, "wrong with probability at most 1e-12"),
        (4e-7, "wrong with probability at most 4e-07"),
    ],
    formatting.confidence: [
        (0.01, "99 %"), (0.05, "95 %"), (0.001, "99.9 %"), (0.005, "99.5 %"), (0.025, "97.5 %"),
        (0.05 / 3, "98.33 %"), (0.0125, "98.75 %"), (0.00625, "99.37 %"), (4e-7, "99.99996 %"),
    ],
}  # fmt: skip
"""Never rounded to none, to all, or to more than was shown."""


@pytest.mark.parametrize("said", WORDS, ids=lambda said: said.__name__)
def test_no_number_is_rounded_to_certainty(said):
    assert [said(value) for value, _ in WORDS[said]] == [text for _, text in WORDS[said]]


def test_every_share_of_up_to_200_inputs_is_printed_exactly_where_two_decimals_do():
    for n in range(1, 201):
        for k in range(n + 1):
            text = formatting.percent_range(Interval(k / n, k / n))
            ends = [Fraction(end.removesuffix(" %")) for end in text.split(" to ")]
            exact = Fraction(100 * k, n)
            if (100 * exact).denominator == 1:
                assert ends == [exact], text
            else:
                assert ends == [Fraction(int(100 * exact), 100), ends[0] + Fraction(1, 100)], text
            gap = formatting.points_range(Interval(-k / n, k / n)).split(" to ")
            assert [Fraction(end) for end in gap] == [-ends[-1], ends[-1]]


@pytest.mark.parametrize("low", [0.0, 0.012, 0.0429999, 12.345678, 123.456789, 60000.1234567])
@pytest.mark.parametrize("wider", [0.0, 0.0000031, 0.1, 7.7777777])
def test_levels_are_rounded_outwards_however_large(low, wider):
    text = formatting.radius_range(Interval(low, low + wider))
    a, b = (float(end) for end in (text.split(" to ") * 2)[:2])
    assert 0.999 * low <= a <= low * (1 + 1e-11)
    assert (low + wider) * (1 - 1e-11) <= b <= 1.001 * (low + wider)


@pytest.mark.parametrize(("least", "text"), [(0.9876546, "98.76546 %"), (0.9999996, "99.99996 %")])
def test_a_requirement_is_repeated_to_the_last_digit(least, text):
    (claim,) = study().run().require(least).verdicts
    assert f"{text} of the perturbations" in sentence(claim)


def test_a_replay_command_survives_a_shell():
    record = study().run(source=Source("m", "d")).record
    text = replay_command(record, "it's -x", 3, "my store.db")
    assert "'it'\"'\"'s -x' 3 --store 'my store.db'" in text
    dashed = replay_command(record, "-x", 3, "s.db")
    assert dashed == f"surefoot replay --store s.db -- {record.digest[:12]} -x 3"


def test_a_study_in_memory_is_replayed_in_python():
    record = study().run().record
    assert replay_command(record, 'a"b', 3, "s.db") == "study.replay('a\"b', 3)"


def weakest_table(made):
    result = made.run()
    return weakest_section(result.record, result.details, "").terminal_table


def test_the_weakest_inputs_have_their_true_class_where_it_is_known():
    inputs = points()
    named = sf.load_inputs(inputs.x, inputs.labels, class_names=("sun", "rain"))
    table = weakest_table(study(inputs=named))
    place = table.headings.index("true class")
    assert table.rows
    for row in table.rows:
        assert row[place] in ("sun", "rain")
        assert row[place] == row[table.headings.index("clean")]
        assert row[place] != row[table.headings.index("perturbed")]
    bare = weakest_table(study(inputs=sf.load_inputs(inputs.x)))
    assert "true class" not in bare.headings
    assert {len(row) for row in bare.rows} == {len(bare.headings)}


def test_a_weak_input_has_an_interval_and_its_confidence_not_a_bare_number():
    result = study().run()
    table = weakest_section(result.record, result.details, "").terminal_table
    for row in table.rows:
        interval = result.by_id[row[0]].interval
        low, high = map(float, re.fullmatch(RANGE, row[1]).groups())
        assert low <= 100 * (1 - interval.high) + 1e-9
        assert high >= 100 * (1 - interval.low) - 1e-9
    assert table.note == "Confidence 90 % for each input by itself, not for all together."
