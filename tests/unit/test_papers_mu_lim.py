"""Mu & Lim's table 1: its numbers are those of the API, and its baselines are recomputed."""

import pytest
from scipy.stats import binom

import papers
import surefoot as sf
from surefoot.statistics import doubling, falsely_robust
from tests.exhibits import checked
from tests.unit import small_models as small

LEVEL = "linf:0.05"
KAPPA = (0.3, 0.1)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mu-lim")
    x = small.batch(16)
    labels = small.by_hand(x).argmax(axis=1)
    labels[:2] = (labels[:2] + 1) % 3
    models = [str(small.linear_net(folder / f"{name}.onnx", seed=i)) for i, name in enumerate("ab")]
    return models, (x, labels)


@pytest.fixture(scope="module")
def table(files):
    models, data = files
    return checked(papers.make(
        "mu-lim", table=1, models=models, data=data, perturb=LEVEL, kappa=KAPPA, bounds=(0, 1),
        attack_iterations=5, method="kappa-test", store=None, progress=False,
    ))  # fmt: skip


def test_there_is_a_row_for_every_model_and_kappa_with_intervals_around_its_numbers(table):
    rows = table.sheets[0].rows
    assert [(r["model"], r["kappa"]) for r in rows] == [
        (name, kappa) for name in ("a.onnx", "b.onnx") for kappa in KAPPA
    ]
    for row in rows:
        for key in ("accuracy", "pgd", "margin"):
            between = row[f"{key}_between"]
            assert 0 <= between.low <= row[key] <= between.high <= 1
        assert max(row["margin"], row["pgd"]) <= row["accuracy"]


def test_its_numbers_are_those_of_the_api(table, files):
    models, data = files
    row = table.sheets[0].rows[1]
    model = sf.load_model(models[0], bounds=(0, 1))
    inputs = sf.load_inputs(*data)
    prop, noise = sf.properties.TrueLabel(), sf.perturb.LinfNoise(0.05)

    def run(method):
        return sf.Study(model, inputs, noise, method, property=prop, by_class=False).run()

    tested = run(sf.methods.KappaTest(0.1, 0.05, 2000))
    (share,) = (c for c in tested.claims if c.kind == "share_kappa")
    assert row["share_between"] == share.interval
    assert row["observed"] == share.value == row["declared"] / 16
    assert row["trials"] == tested.record.trials
    assert row["pgd"] == run(sf.methods.PGD(iterations=5)).details.withstood
    assert row["margin"] == run(sf.methods.Attack()).details.withstood
    assert row["accuracy"] == tested.record.clean_accuracy == 14 / 16


def test_published_numbers_stand_in_a_table_of_their_own(table):
    assert table.sheets[2].rows[-1]["published_observed"] == pytest.approx(0.9063)
    assert all(0.9063 not in row.values() for row in table.sheets[0].rows)


def test_stability_is_a_choice_and_a_perturbation_without_a_ball_has_no_attack(files):
    models, data = files
    made = papers.make(
        "mu-lim", table=1, models=models[1], data=data, perturb="gaussian:0.05", kappa=0.3,
        property="same", bounds=(0, 1), store=None, progress=False, method="exact-binomial",
    )  # fmt: skip
    (row,) = made.sheets[0].rows
    assert "pgd" not in row
    assert "no attack, because" in made.lines[1]
    assert "stability" in made.lines[2]


def test_the_quick_version_takes_all_inputs_where_there_are_fewer(files):
    models, data = files
    small_run = {"models": models, "data": data, "perturb": LEVEL, "kappa": 0.3, "bounds": (0, 1),
                 "store": None, "progress": False, "attack_iterations": 1}  # fmt: skip
    made = papers.make("mu-lim", table=1, quick=True, **small_run)
    assert {row["inputs"] for row in made.sheets[0].rows} == {16}
    few = papers.make("mu-lim", table=1, quick=True, images=4, **small_run)
    ids = [tuple(row.id for row in result.inputs) for result in few.results.values()]
    assert len(set(ids)) == 1  # both models, both attacks, the same inputs
    assert len(ids[0]) == 4
    with pytest.raises(sf.errors.InvalidArgument, match=r"images \(--images\) 17: .* has 16;"):
        papers.make("mu-lim", table=1, quick=True, images=17, **small_run)


def test_the_published_rule_gives_a_count_without_share_requirement_or_evidence(files, tmp_path):
    models, data = files
    run = {"models": models[0], "data": data, "perturb": LEVEL, "kappa": 0.1, "bounds": (0, 1)}
    run |= {"store": None, "progress": False, "attack_iterations": 1}
    made = papers.make("mu-lim", table=1, method=["kappa-test", "published-doubling"], **run)
    ours, theirs = made.sheets[0].rows
    assert ours["share_between"] is not None
    assert theirs["share_between"] is None
    assert theirs["declared"] + theirs["undecided"] <= 14
    assert ours["false"] == 0.05 < theirs["false"] == falsely_robust(0.1, 0.05, doubling(10, 2000))
    (result,) = (r for name, r in made.results.items() if "published" in name)
    for refused in (
        lambda: result.require(0.1),
        lambda: result.require("all"),
        lambda: result.evidence(tmp_path / "e.json"),
        lambda: sf.certify(
            models[0], data, LEVEL, kappa=0.1, method="published-doubling", require=0.5
        ),
    ):
        with pytest.raises(sf.errors.InvalidArgument, match="promises nothing"):
            refused()
    with pytest.raises(sf.errors.InvalidArgument, match="choose one of kappa-test"):
        papers.make("mu-lim", table=1, method="binomial", **run)


def test_its_accuracy_is_not_of_inputs_that_are_right(files):
    models, data = files
    with pytest.raises(sf.errors.InvalidArgument, match="needs the inputs that a model gets wrong"):
        papers.make("mu-lim", table=1, models=models, data=data, correct_only=True, store=None)


def test_one_look_of_the_published_rule_keeps_its_level_and_many_do_not():
    """The recursion, against every sequence of trials of a short test by hand."""
    assert falsely_robust(0.1, 0.05, [200]) <= 0.05
    often, twice = (
        falsely_robust(0.1, 0.05, looks) for looks in (range(1, 401), doubling(10, 400))
    )
    assert 0.2 < often < 0.25
    assert 0.08 < twice < often
    looks, kappa, error = (3, 5, 8), 0.5, 0.3
    by_hand = 0.0
    for outcome in range(2**8):
        trials = [(outcome >> i) & 1 for i in range(8)]
        for n in looks:
            k = sum(trials[:n])
            if binom.cdf(k, n, kappa) < error:
                by_hand += 2.0**-8
                break
            if binom.sf(k - 1, n, kappa) < error:
                break
    assert falsely_robust(kappa, error, looks) == pytest.approx(by_hand, abs=1e-12)
