"""The tables and figures of ASAP at a tiny scale: each value is that of the public API."""

import numpy as np
import pytest

import papers
import surefoot as sf
from papers import paper
from papers.asap_figures import LINE, VALLEY
from papers.roby import Roby
from tests.exhibits import checked

AdaptiveCurve, QuadCurve = sf.methods.AdaptiveCurve, sf.methods.QuadCurve
BLUR = "blur:0..2"
METHODS = {
    "oracle": {"method": "uniform", "levels": 24},
    # the paper's levels of blur are from 0 to 1: its 128 is 32 a squared pixel
    "ASAP": {"method": "asap", "as_printed": True, "curvature": 32, "grid": 24},
    "numerical integration": {"method": "quad", "levels": 24},
    "ours": {},
}


@pytest.fixture(scope="module")
def net():
    return {
        "models": {"net": sf.load_model(paper.MODELS["fashion-cnn"], bounds=(0, 1))},
        "data": sf.load_inputs(paper.IMAGES),
        "first": 12,
        "quick": True,
        "store": None,
    }


def curve_of(net, perturb=BLUR, threshold=0.8, **options):
    (model,) = net["models"].values()
    more = {"first": net["first"], "batch": 64, "store": None} | options
    return sf.curve(model, net["data"], perturb, threshold=threshold, **more).details.curve


def by_method(exhibit):
    return {row["method"]: row for row in exhibit.sheets[0].rows}


@pytest.mark.slow
def test_table_1_has_each_method_as_it_is_by_itself(net):
    exhibit = checked(papers.make("asap", table=1, perturb=BLUR, points=24, **net))
    rows = by_method(exhibit)
    truth = rows["oracle"]["value"]
    uniform = {"method": "uniform", "levels": rows["ASAP"]["points"]}
    for method, options in {**METHODS, "uniform, same #p": uniform}.items():
        curve, row = curve_of(net, **options), rows[method]
        assert row["points"] == len(curve.points)
        assert row["passes"] == curve.trials / 12
        assert row["seconds"] > 0
        if method == "numerical integration" and curve.notes:
            assert row["value"] == "timeout"
            continue
        assert row["value"] == curve.readings[0].value
        if method != "oracle":
            assert row["error"] == row["value"] - truth
            assert row["saved"] == row["seconds"] / rows["oracle"]["seconds"] - 1
    assert rows["ours"]["interval"] == curve_of(net).readings[0].interval
    assert "interval" not in rows["uniform, same #p"]


@pytest.mark.slow
def test_no_method_profits_from_a_store(net, tmp_path):
    """Evidence is each study's own; a finished study keeps its time, a resumed one has none."""
    store = str(tmp_path / "runs.db")
    more = {"perturb": BLUR, "points": 24, **net, "store": store}
    stopped = curve_of(net, **METHODS["ASAP"], store=store, time_limit=1e-9)
    assert stopped.points == ()
    first = by_method(papers.make("asap", table=1, **more))
    assert first["ASAP"]["seconds"] is None
    assert "saved" not in first["ASAP"]
    assert first["ASAP"]["value"] == curve_of(net, **METHODS["ASAP"]).readings[0].value
    again = by_method(papers.make("asap", table=1, **more))
    assert again["ours"]["seconds"] == first["ours"]["seconds"] > 0
    own = [run.trials for run in sf.runs(store)]
    assert sum(own) == 12 * sum(row["passes"] for row in first.values())


def test_table_1_says_timeout_where_the_time_ran_out(net):
    exhibit = papers.make("asap", table=1, perturb=BLUR, points=24, time_limit=1e-9, **net)
    rows = exhibit.sheets[0].rows
    assert {row["value"] for row in rows} == {"timeout"}
    assert not any({"error", "interval"} & row.keys() for row in rows)


def test_the_perturbations_of_roby_are_those_of_its_source():
    """An image of 20 by 20 in two grey values, and what ROBY makes of it, worked out by hand."""
    x = np.zeros((1, 1, 20, 20), np.float32)
    x[..., 10:] = 100 / 255
    none = np.zeros((1, 0))

    def of(name, level):
        return np.rint(255 * Roby(None, name).apply(x, none, level, None))[0, 0]

    assert (of("brightness", 0.5)[:, 10:] == 125).all()
    assert (of("brightness", -0.5)[:, 10:] == 75).all()
    # at level 1 the ten columns in the middle fill the frame
    assert (of("zoom", 1.0)[0] >= 50).sum() == 10
    # 12 pixels become 19, less than the frame: the last column alone is stretched
    assert len(np.unique(of("zoom", 0.62))) == 1
    # of 200 columns 159 are left, and it moves by 20 of them at level 1
    moved = [(of("translate-x", level)[0] > 50).sum() for level in (-1.0, 1e-5, 1.0)]
    assert moved == [7, 10, 12]
    noise = Roby(None, "gaussian").apply(x, np.ones((1, 1, 20, 20)), 0.25, None)
    assert noise - x == pytest.approx(0.05, abs=1e-6)  # the variance at level 1 is 0.01
    assert (of("jpeg", 0.0) == of("blur", 0.0)).all()


def test_figure_5_has_the_published_numbers_that_follow():
    """Example 1: 38.8 %, 39.06 %, 80.4 % and 81.2 %; 34 levels with â = 100, not 256."""

    def rows_of(**more):
        rows = checked(papers.make("asap", figure=5, **more)).sheets[0].rows
        return {(row["curve"], row["method"]): row for row in rows}

    rows = rows_of()
    assert rows["a line", "uniform, right ends"]["value"] == pytest.approx(19 / 49)
    assert rows["a line", "ASAP, as printed"]["value"] == 25 / 64
    assert round(100 * VALLEY.robustness(), 1) == 80.4
    assert rows[VALLEY.name, "ASAP, as printed"]["value"] == 0.8125
    assert LINE.robustness() == pytest.approx(0.4, abs=1e-4)
    hundred = rows_of(curvature=100)[VALLEY.name, "ASAP, as printed"]
    assert (hundred["points"], hundred["value"]) == (34, 0.8125)


def test_figure_7_scatters_as_a_binomial_does(net):
    exhibit = checked(
        papers.make("asap", figure=7, perturb=BLUR, oracle=33, points="10,90", repeats=100, **net)
    )
    few, many = exhibit.sheets[0].rows
    assert few["repeats"] == 100
    for row in (few, many):
        assert row["deviation"] == pytest.approx(row["expected"], rel=0.3)
        assert row["holds"] >= 90  # 95 of 100 expected, the deviation is about 2
    assert many["width"] < few["width"]


@pytest.mark.parametrize(("figure", "series"), [(8, 1), (9, 2), (10, 3)])
def test_figures_8_to_10_have_what_asap_does_on_the_network_itself(net, figure, series):
    """At n = 16 its levels are among the 33 that were evaluated: nothing is interpolated."""
    bends = 2.0 if figure == 8 else (2.0, 128.0)
    more = {"perturb": BLUR, "oracle": 33, "points": "8,16", "curvature": bends}
    exhibit = checked(papers.make("asap", figure=figure, **more, **net))
    for row in exhibit.sheets[0].rows:
        own = {"method": "asap", "curvature": row["curvature"], "grid": row["points"]}
        printed = curve_of(net, **own | {"curvature": row["curvature"] / 4}, as_printed=True)
        assert row["used"] == len(printed.points)
        assert row["value"] == printed.readings[0].value
        assert row["interval"] == curve_of(net, **own).readings[0].interval
    (chart,) = exhibit.charts.values()
    lines = chart.to_dict()["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert len(lines) == series
