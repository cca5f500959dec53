"""Curves of a population keep their promise, and no curve spends more error than it has."""

import numpy as np
import pytest
from scipy.stats import norm

from surefoot.search import SequentialCurve
from surefoot.search.looks import looks
from surefoot.search.seen import Seen
from tests.curve_worlds import breaking, drive, within


@pytest.mark.parametrize("p", [0.8, 0.799, 0.85])
def test_a_flat_curve_of_a_population_at_the_edge(p):
    """Fresh coins at every level. Seeded: 1 in 20 allowed."""
    missed = 0
    for seed in range(20):
        procedure = SequentialCurve(0.0, 1.0, error=0.05, scope="population", size=150)
        result = drive(procedure, coins(150, p, seed)).curve
        apart = any(p not in point.interval for point in result.points)
        missed += apart or not within(float(p >= 0.8), result.readings[0].interval)
    assert missed <= 1


def coins(size, p, seed):
    def world(level):
        return (np.random.default_rng([seed, int(level * 2**40)]).random(size) < p) * 1.0

    return world


POPULATIONS = {
    "bell": norm(0.5, 0.2),
    "steep": norm(0.31, 0.004),
    "slow": norm(1.0, 0.8),
    "out of sight": norm(3.0, 0.5),
}


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("size", [30, 200])
@pytest.mark.parametrize("bends", [None, 60.0])
def test_a_population_is_covered_and_all_points_with_it(name, size, bends):
    """Seeded; error 0.1: 2 in 20 allowed, far fewer expected."""
    source, missed = POPULATIONS[name], 0
    truth = float(np.clip(source.ppf(0.2), 0, 1))
    for seed in range(20):
        critical = source.rvs(size, random_state=seed)
        smooth = bends if name != "steep" else None
        procedure = SequentialCurve(
            0.0, 1.0, error=0.1, scope="population", curvature=smooth, size=size, resolution=0.01
        )
        result = drive(procedure, breaking(critical)).curve
        apart = any(source.sf(p.level) not in p.interval for p in result.points)
        missed += apart or not within(truth, result.readings[0].interval)
    assert missed <= 2


@pytest.mark.parametrize("over", ["set", "population"])
@pytest.mark.parametrize("bends", [None, 30.0])
def test_no_level_is_looked_at_more_often_than_its_error_pays_for(over, bends, monkeypatch):
    taken: dict[float, list[int]] = {}
    plain = Seen.look

    def look(self, first):
        taken.setdefault(self.level, []).append(first)
        plain(self, first)
        if over == "population" and self.level not in self.terms.scan:
            assert taken[self.level] == [self.terms.size]

    monkeypatch.setattr(Seen, "look", look)
    for seed in range(4):
        taken.clear()
        critical = np.random.default_rng(seed).normal(0.5, 0.25, 1000)
        procedure = SequentialCurve(
            0.0, 1.0, (0.8, 0.5), scope=over, curvature=bends, resolution=0.01, size=1000
        )
        drive(procedure, breaking(critical))
        for sizes in taken.values():
            assert set(sizes) <= set(looks(1000))
            assert sorted(set(sizes)) == sizes
