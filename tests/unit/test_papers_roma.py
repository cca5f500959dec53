"""RoMA's tables and figures: their columns are there, and their values are those of the API."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import boxcox

import papers
import surefoot as sf
from papers.roma import FIGURE_1, FIGURE_2B
from papers.words import plr
from surefoot.core.counts import Counts
from surefoot.statistics import clopper_pearson
from tests.exhibits import checked
from tests.refusals import refused

X = np.random.default_rng(3).uniform(0.3, 0.7, (12, 2)).astype(np.float32)
Y = (X[:, 0] > X[:, 1]).astype(int)


def logits(steepness, shift=0.0):
    def model(batch):
        margin = steepness * (batch[:, 0] - batch[:, 1] + shift).astype(np.float64)
        return np.stack([-margin, margin], axis=1)

    return model


MODELS = {"steep": logits(4.0), "shifted": logits(2.0, 0.2)}
CLEAN = {"data": (X, Y), "bounds": (0, 1), "shape": (2,)}
SMALL = {**CLEAN, "perturb": "linf:0.1", "draws": 40, "images": 6, "store": None}


def exhibit(models=MODELS, **changes):
    return checked(papers.make("roma", models=models, **{**SMALL, **changes}))


def test_the_example_of_section_3_is_recomputed_from_its_own_numbers():
    """Mean 0.473, deviation 0.053, δ = 0.6; the paper rounds z to 2.396 and prints 0.991712."""
    assert FIGURE_1["z"] == pytest.approx(2.396, abs=5e-4)
    assert FIGURE_1["plr"] == pytest.approx(0.99171, abs=1e-5)
    assert ndtr(2.396) == pytest.approx(0.991712, abs=1e-6)
    assert FIGURE_1["plr"] + FIGURE_1["failure"] == pytest.approx(1)


def test_the_example_of_figure_2b_has_the_other_sign():
    """λ = 0.257, mean −0.33, deviation 0.020: z is −7.44, where the paper prints 7.45."""
    assert FIGURE_2B["limit"] == pytest.approx(float(boxcox([0.6], lmbda=0.257)[0]))
    assert FIGURE_2B["z"] == pytest.approx(-7.44, abs=0.005)
    assert FIGURE_2B["plr"] == pytest.approx(5e-14, rel=0.05)


def test_robustness_is_never_written_as_one():
    assert plr(1e-300) == "1 - less than 1e-300"
    assert plr(3.2e-19) == "1 - 3.2e-19"
    assert plr(0.25) == "0.7500"


@pytest.mark.parametrize("figure", [1, 2])
def test_a_figure_of_scores_shows_the_input_that_was_named(figure):
    one = {"model": logits(4.0)}
    made = exhibit(one, figure=figure, input="03")
    rows = made.sheets[0].rows
    assert {row["input"] for row in rows} == {"03"}
    study = sf.Study(
        sf.load_model(one["model"], shape=(2,), bounds=(0, 1)),
        sf.load_inputs(X, Y).subset([3]),
        sf.perturb.LinfNoise(0.1),
        sf.methods.NormalTail(draws=40),
        property=sf.properties.NoConfidentMistake(0.6),
    )
    (row,) = study.run().inputs
    assert [r["z"] for r in rows] == [fit.z for fit in row.result.fits]
    assert sum(row.result.fits[0].scores.counts) == 40
    assert len(made.charts) == 1
    published = (FIGURE_1, FIGURE_2B)[figure - 1]
    assert made.sheets[1].rows[0]["z"] == pytest.approx(published["z"])


def test_table_1_has_accuracy_with_its_interval_and_loss_without():
    made = papers.make("roma", table=1, models=MODELS, **CLEAN, confidence=0.9)
    first = made.sheets[0].rows[0]
    assert (first["inputs"], first["accuracy"]) == (12, 1.0)
    assert first["interval"] == clopper_pearson(Counts(12, 12), 0.1)
    margin = 4.0 * (X[:, 0] - X[:, 1]).astype(float) * np.where(Y == 1, 1, -1)
    assert first["loss"] == pytest.approx(np.log1p(np.exp(-2 * margin)).mean(), rel=1e-5)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"data": X}, "need labels"),
        ({"correct_only": True}, r"--correct-only\) plays no part in table 1"),
    ],
)
def test_table_1_is_of_all_inputs_and_their_labels(options, says):
    refused(says, papers.make, "roma", table=1, models=MODELS, **{**CLEAN, **options})
