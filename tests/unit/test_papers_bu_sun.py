"""The tables and figures of Bu & Sun: published, recomputed, and on small models."""

from types import SimpleNamespace

import numpy as np
import pytest

import papers
import surefoot as sf
from papers import bu_sun
from papers.exhibit import published
from surefoot.errors import InvalidArgument
from surefoot.statistics import BuSun, design_for, okamoto
from surefoot.statistics.designs import expected_trials
from surefoot.statistics.planning import simulate
from tests.exhibits import checked
from tests.refusals import refused
from tests.unit.small_models import batch, by_hand, linear_net


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """Three linear networks; the labels are those of the first."""
    folder, x = tmp_path_factory.mktemp("few"), batch(40)
    names = ("first", "second", "third")
    models = {n: linear_net(folder / f"{n}.onnx", seed=seed) for seed, n in enumerate(names)}
    votes = np.stack([by_hand(x, seed=seed).argmax(axis=1) for seed in range(3)])
    return SimpleNamespace(models=models, data=(x, votes[0].astype(np.int64)), votes=votes)


def made(few, names=("first", "second", "third"), **options):
    models = {name: few.models[name] for name in names}
    common = {"data": few.data, "bounds": (0, 1), "store": None}
    return checked(papers.make("bu-sun", models=models, **common, **options))


def rows_of(exhibit, sheet=0):
    return exhibit.sheets[sheet].rows


# Table 1


def test_table_1_has_the_published_averages_and_ours():
    """Bu & Sun, table I: averages .946 and .877; measured again with their code .9457 and .8774."""
    exhibit = checked(papers.make("bu-sun", table=1, pairs=["0.05,0.05", "0.03,0.03"], repeats=30))
    first, second = rows_of(exhibit)
    assert (first["okamoto"], second["okamoto"]) == (738, 2334)
    for row, average, smallest in ((first, 0.9457, 0.392), (second, 0.8774, 0.238)):
        assert row["bu_sun_average"] == pytest.approx(average, abs=0.004)
        assert row["bu_sun_smallest"] == pytest.approx(smallest, abs=5e-4)
        assert row["bu_sun_average"] == pytest.approx(row["published_average"], abs=0.004)
        assert row["limit"] < row["ours_average"] < row["bu_sun_average"]
        assert row["ours_largest"] < 0.6
    assert first["ours_smallest"] == expected_trials(design_for(0.05, 0.05), 0.0) / 738


def test_every_published_okamoto_number_but_the_misprint_is_right():
    rows = published("bu-sun table 1")
    numbers = {(r["width"], r["error"]): r["okamoto"] for r in rows}
    wrong = {pair: trials for pair, trials in numbers.items() if okamoto(*pair) != trials}
    assert wrong == {(0.01, 0.01): 24692}
    assert okamoto(0.01, 0.01) == 26492


def test_runs_simulated_at_once_are_those_of_the_method():
    """At p = 0 and 1 nothing is random; between, the means agree within four deviations."""
    method, rng = BuSun(0.1, 0.1), np.random.default_rng(5)
    together = bu_sun.simulate_bu_sun(method, [0.0, 0.3, 1.0], 400, rng)
    single = [simulate(method, 0.3, rng)[0].trials for _ in range(400)]
    for row, p in ((0, 0.0), (2, 1.0)):
        assert set(together[row].tolist()) == {simulate(method, p, rng)[0].trials}
    spread = np.hypot(np.std(single), together[1].std()) / 20
    assert abs(np.mean(single) - together[1].mean()) <= 4 * spread + 1e-9
    wide = bu_sun.simulate_bu_sun(BuSun(0.4, 0.1), [0.5], 3, rng)
    assert set(wide.ravel().tolist()) == {okamoto(0.4, 0.1)}


# Figures 2 and 3


def test_figure_2_has_both_bounds_above_the_exact_probability():
    exhibit = checked(papers.make("bu-sun", figure=2))
    assert len(exhibit.charts) == 1
    rows = {row["p"]: row for row in rows_of(exhibit)}
    (bound,) = {row["okamoto"] for row in rows.values()}
    assert bound == pytest.approx(0.16417, abs=1e-5)
    assert all(row["exact"] <= row["theorem_3"] <= row["okamoto"] for row in rows.values())
    # Bu & Sun: at p = 0.2 theorem 3 is below 0.05, at p = 1/2 it is Okamoto's bound
    assert rows[0.2]["theorem_3"] < 0.05
    assert rows[0.5]["theorem_3"] == rows[0.5]["okamoto"]


# Figure 1 and Table 2


def test_pairs_and_perturbations_go_together_or_one_serves_all():
    pairs = one, two = bu_sun.read_pairs(["0.1,0.1", "0.2,0.2"])
    assert bu_sun.configurations(("a", "b"), pairs) == [("a", one), ("b", two)]
    assert bu_sun.configurations(("a", "b"), [one]) == [("a", one), ("b", one)]
    assert bu_sun.configurations(("a",), pairs) == [("a", one), ("a", two)]
    refused("3 perturbations and 2 pairs", bu_sun.configurations, ("a", "b", "c"), pairs)


# Table 3 and Figure 4

GLOBAL = {"perturb": "gaussian:0.5", "images": 4, "width": 0.3, "repeats": 3}


def test_table_3_correlates_the_means_of_few_images_with_the_standard_method(few):
    exhibit = made(few, table=3, **GLOBAL)
    (row,) = rows_of(exhibit)
    for key in ("ours", "bu_sun", "baseline"):
        assert row[f"{key}_repeats"] <= 3
        if row[f"{key}_repeats"]:
            assert row[f"{key}_pearson"] in row[f"{key}_range"]
    means = rows_of(exhibit, 2)
    assert [r["model"] for r in means] == ["first", "second", "third"]
    for r in means:
        assert r["standard"] in r["standard_interval"]
        standard = exhibit.results[f"{r['model']}, gaussian:0.5: standard method"]
        assert standard.record.trials == len(standard.inputs) == 40
        assert bu_sun.kept(standard) == (r["standard"], r["standard_interval"])


def test_figure_4_is_drawn_over_the_numbers_of_images(few):
    exhibit = made(few, figure=4, **GLOBAL | {"images": (3, 2)})
    assert [row["images"] for row in rows_of(exhibit)] == [2, 3]
    assert len(exhibit.charts) == 1
    with pytest.raises(InvalidArgument, match=r"images are classified correctly by all models"):
        made(few, figure=4, **GLOBAL | {"images": 41})


# The method itself, with other settings


def test_compare_and_plan_take_the_methods_of_an_estimate(few):
    files = {"bounds": (0, 1), "first": 3}
    models = {name: few.models[name] for name in ("first", "second")}
    common = {"each": 0.3, "store": None, **files}
    result = sf.compare(models, few.data, "linf:0.2", method="okamoto", **common)
    assert {part.record.trials for part in result.parts.values()} == {3 * okamoto(0.3, 0.05)}
    settings = {"method": "bu-sun", "pilot_error": 0.01, "candidates": "0.1,0.2"}
    result = sf.compare(models, few.data, "linf:0.2", **common, **settings)
    method = result.parts["first"].record.study.method
    assert (method.kind, method.options["pilot_error"]) == ("bu-sun", 0.01)
    assert tuple(method.options["candidates"]) == (0.1, 0.2)
    fixed = {"each": 0.3, "method": "fixed-size", "assume": 0.5}
    forecast = sf.plan(few.models["first"], few.data, "linf:0.2", **fixed, **files)
    assert forecast.rehearsals[0].mean == forecast.rehearsals[0].most


def test_the_settings_of_bu_sun_name_the_run_and_come_back_from_a_store(few, cwd):
    np.savez("test.npz", x=few.data[0], y=few.data[1])
    run = [str(few.models["first"]), "test.npz", "linf:0.2"]
    common = {"bounds": (0, 1), "first": 2, "each": 0.3, "method": "bu-sun", "store": "runs.db"}
    first = sf.estimate(*run, **common)
    other = sf.estimate(*run, **common, pilot_error=0.02, candidates=(0.3, 0.1))
    same = sf.estimate(*run, **common, pilot_error="0.02", candidates="0.1,0.3")
    assert first.record.digest != other.record.digest == same.record.digest
    assert same.from_store
    study = sf.read_study("runs.db", other.record.digest)
    assert study.digest == other.record.digest
    assert study.method == BuSun(0.3, 0.05, 0.02, (0.1, 0.3))
