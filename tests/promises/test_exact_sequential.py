"""The proof of a sequential design, tried from several sides."""

import dataclasses
import json
import math

import numpy as np
import pytest

from surefoot.statistics import ExactSequential, design_for
from surefoot.statistics.designs import (
    ROUNDING,
    blocks,
    calibrate,
    draft,
    ends_after_stop,
    expected_trials,
    prove,
    stopping_points,
    worst_in,
)
from surefoot.statistics.fixed_width import design_values, read_design
from surefoot.testing import outcomes

SMALL = (0.2, 0.2)


def miss_at(design, p):
    """P(|k/n - p| > width) at one p, by the recursion."""
    if p in (0.0, 1.0):
        return 0.0
    stops = stopping_points(design, p, p, p)
    missed = np.abs(stops.estimate - p) > design.width + 1e-12
    return float(np.exp(stops.log_mass[missed]).sum())


@pytest.fixture(scope="module")
def small():
    return calibrate(*SMALL)


def by_walking(design, p):
    """Miss and mean trials over every path of the procedure itself."""
    miss = mean = 0.0
    for chance, result in outcomes(ExactSequential(design.width, design.error), p):
        miss += chance * (abs(result.value - p) > design.width + 1e-12)
        mean += chance * result.trials
    return miss, mean


@pytest.mark.parametrize("p", [0.001, 0.1, 0.3, 0.5, 0.8])
def test_the_recursion_agrees_with_walking_every_path(p):
    design = design_for(*SMALL)
    miss, mean = by_walking(design, p)
    assert miss_at(design, p) == pytest.approx(miss, abs=1e-12)
    assert expected_trials(design, p) == pytest.approx(mean, rel=1e-10)


def next_to_jumps(design):
    """Every p next to a jump of the miss probability, from both sides."""
    points = np.concatenate(
        [
            np.arange(n + 1) / n + shift
            for n in design.looks
            for shift in (-design.width, design.width)
        ]
    )
    near = np.concatenate([points - 1e-9, points + 1e-9, np.linspace(0, 1, 301)])
    return np.unique(near[(near > 0) & (near < 1)])


def test_no_p_misses_more_often_than_proved(small):
    """The supremum is a limit at a jump; so look on both sides of every jump there is."""
    worst = max(miss_at(small, float(p)) for p in next_to_jumps(small))
    assert worst <= small.proved <= small.error
    assert worst >= 0.8 * small.error, "the design is far from tight"


@pytest.mark.parametrize(("width", "error"), [(0.05, 0.05), (0.03, 0.01), (0.02, 0.01)])
def test_shipped_designs_can_be_proved_again(width, error):
    shipped = design_for(width, error)
    again = prove(dataclasses.replace(shipped, proved=1.0))
    assert again.proved == pytest.approx(shipped.proved, rel=1e-6)
    assert again.proved <= error


@pytest.mark.parametrize(("width", "error"), [SMALL, (0.05, 0.05), (0.02, 0.01)])
def test_a_z_five_percent_smaller_cannot_be_proved(width, error):
    design = design_for(width, error)
    assert prove(draft(width, error, 0.95 * design.z, design.pseudo)).proved > error


def test_a_design_that_stops_five_percent_early_cannot_be_proved():
    design = design_for(0.05, 0.05)
    looks = tuple(math.floor(0.95 * n) for n in design.looks)
    hasty = dataclasses.replace(design, looks=looks, few=(*design.few[:-1], looks[-1]))
    assert prove(hasty).proved > 0.05


def test_the_cover_bounds_every_p_inside_each_block(small):
    for block in blocks(small):
        bound = worst_in(small, block, small.error)
        for p in np.linspace(block.low, block.high, 7)[1:-1]:
            assert miss_at(small, float(p)) <= bound


def test_each_end_after_a_stop_is_wrong_with_at_most_any_error():
    """Exactly, over every stopping point, also at the ends themselves, where it is most often."""
    (width, error), design = SMALL, design_for(*SMALL)
    known = {}
    for stated in (error / 2, 0.8 * error):
        stops = stopping_points(design, 0.5, 0.5, 0.5)
        points = list(zip(stops.n.astype(int), stops.k.astype(int), strict=True))
        known = {(n, k): ends_after_stop(design, int(n), int(k), stated) for n, k in points}
        edges = sorted({round(e.low, 12) for e in known.values()})[1 :: max(1, len(known) // 20)]
        for p in (0.02, 0.3, 0.5, 0.77, 0.97, *(e - 1e-9 for e in edges)):
            at = stopping_points(design, p, p, p)
            ends = [
                known.get((int(n), int(k))) or ends_after_stop(design, int(n), int(k), stated)
                for n, k in zip(at.n, at.k, strict=True)
            ]
            mass = np.exp(at.log_mass)
            assert mass[np.array([e.low > p for e in ends])].sum() <= stated
            assert mass[np.array([e.high < p for e in ends])].sum() <= stated
    assert max(e.width for e in known.values()) < 2.2 * width  # and what it says is worth saying


@pytest.mark.parametrize("p0", [0.003, 0.1, 0.5])
def test_stopping_points_carry_all_the_mass_at_every_p_nearby(p0):
    design = design_for(0.02, 0.01)
    low, high = max(0.6 * p0, p0 - 0.004), p0 + 0.004
    stops = stopping_points(design, p0, low, high)
    assert stops.lost < 1e-9
    for p in (low, p0, high):
        assert stops.mass(p).sum() == pytest.approx(1, abs=2e-9)
    assert np.all(np.diff(stops.estimate) >= 0)


def test_the_allowance_for_rounding_is_larger_than_the_rounding():
    """The masses of a long design add up to one far better than the allowance."""
    stops = stopping_points(design_for(0.001, 0.001), 0.4, 0.4, 0.4)
    assert abs(stops.mass(0.4).sum() - 1) < ROUNDING / 10


@pytest.mark.parametrize(
    ("width", "error"), [(0.9, 0.5), (0.5, 0.05), (0.34, 0.3), (0.4, 0.001), (0.15, 0.9)]
)
def test_odd_settings_are_calibrated_too(width, error):
    design = calibrate(width, error)
    assert max(miss_at(design, p) for p in np.linspace(0.01, 0.99, 197)) <= design.proved <= error


def test_designs_are_read_back_as_they_were_written():
    design = design_for(0.05, 0.05)
    assert read_design(json.loads(json.dumps(design_values(design)))) == design


@pytest.mark.parametrize(
    "change", [{"proved": 0.0501}, {"proved": "x"}, {"z": None}, {"proved": -1}]
)
def test_a_kept_design_that_does_not_hold_is_not_believed(change):
    assert read_design({**design_values(design_for(0.05, 0.05)), **change}) is None


def test_a_design_is_kept_and_found_again(tmp_path, monkeypatch):
    monkeypatch.setenv("SUREFOOT_CACHE", str(tmp_path))
    design_for.cache_clear()
    first = design_for(0.17, 0.13)
    (kept,) = tmp_path.iterdir()
    design_for.cache_clear()
    assert design_for(0.17, 0.13) == first
    kept.write_text("{}")
    design_for.cache_clear()
    assert design_for(0.17, 0.13) == first, "a damaged file is made again"


def test_a_cache_that_cannot_be_written_is_no_misfortune(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SUREFOOT_CACHE", str(tmp_path / "file" / "below"))
    design_for.cache_clear()
    assert design_for(0.18, 0.13).proved <= 0.13


@pytest.mark.parametrize(
    ("width", "error", "limit", "factor"),
    [(0.05, 0.05, 0.347, 1.2), (0.03, 0.03, 0.374, 1.2), (0.01, 0.01, 0.417, 1.1)],
)
def test_samples_stay_near_the_asymptotic_limit(width, error, limit, factor):
    """z²/(3 ln(2/error)) is the limit for any sound method, relative to Okamoto's number."""
    trials = [expected_trials(design_for(width, error), p) for p in np.linspace(0, 1, 51)]
    okamoto = math.log(2 / error) / (2 * width**2)
    assert np.mean(trials) / okamoto <= factor * limit


def test_a_design_prints_what_is_proved():
    text = str(design_for(0.05, 0.05))
    assert "proved for every p" in text
    assert "width 0.05, error 0.05" in text
