"""The dashboard on versions of a model and on cells of suites; clean accuracy in every list."""

import html
import re

import numpy as np
import pytest

import surefoot as sf
from surefoot.records.record import Source
from surefoot.report.view import Figure
from surefoot.store import reading
from surefoot.store.outcomes import keep_outcome
from surefoot.study.read_store import read_result
from tests.worlds import SHAPE, linear, points, study

pytest.importorskip("starlette")

from surefoot.serve.stores import served_stores
from surefoot.serve.trends import trends
from tests.unit.test_serve import client_of

WEIGHTS = {"v1": 1.0, "v2": 0.4, "v3": -0.2}
"""Of the first value: three versions, each of which fails at other inputs."""


def version(weight):
    def scores(x):
        return linear(x * np.array([weight, *[1.0] * (SHAPE[0] - 1)], dtype=np.float32))

    return sf.load_model(scores, shape=SHAPE)


def true_label(model, **changes):
    return study(model=model, property=sf.properties.TrueLabel(), **changes)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three versions of one question; then each thing of it changed, once; then a suite of two."""
    where = str(tmp_path_factory.mktemp("trends") / "runs.db")
    digests = {}

    def keep(name, model, least=0.5, **changes):
        result = true_label(model, **changes).run(where, source=Source(f"{name}.onnx", "d.npz"))
        result = result if least is None else result.require(least)
        keep_outcome(result.record, {}, where)
        digests[name] = result.record.digest

    for name, weight in WEIGHTS.items():
        keep(name, version(weight))
    other = version(0.7)
    keep("no requirement", other, None)
    keep("other level", other, perturbation=sf.perturb.LinfNoise(0.3))
    keep("other data", other, inputs=points(seed=8))
    keep("other confidence", other, method=sf.methods.BuSun(0.1, 0.2))
    file = tmp_path_factory.mktemp("suite") / "mine.toml"
    file.write_text('[[row]]\nperturb = "linf"\nlevels = [0.2, 0.4]\n')
    for name in ("v1", "v2"):
        suite = sf.suite(
            version(WEIGHTS[name]), points(), suite=file, precision=0.3, store=where, progress=False
        )
        digests[f"suite of {name}"] = suite.record.digest
    return where, digests


def words_of(page):
    text = re.sub(r"<[^>]*>", " ", page.text.replace("<wbr>", ""))
    return " ".join(html.unescape(text).replace("\u00a0", " ").split())


def test_versions_of_one_question_make_a_trend_and_nothing_else_does(runs):
    where, digests = runs
    problems = []
    found = trends(served_stores([where]), problems)
    assert problems == []
    of_runs = [[run.line.digest for run in trend.runs] for trend in found]
    versions = [digests[name] for name in WEIGHTS]
    assert sorted(of_runs) == sorted([versions, [digests["suite of v1"], digests["suite of v2"]]])
    by_run = dict(zip((tuple(one) for one in of_runs), found, strict=True))
    assert by_run[tuple(versions)].required == 0.5
    for run in by_run[tuple(versions)].runs:
        result = read_result(where, run.line.digest)
        (claim,) = run.claims
        assert claim in result.claims
        assert claim.about == result.verdicts[0].about
        assert run.ending.clean == {"": result.record.clean_accuracy}


def test_a_trend_has_its_figure_and_every_page_leads_to_it(runs, monkeypatch):
    where, digests = runs
    monkeypatch.setattr(Figure, "fitted", lambda *_: "<svg></svg>")  # drawing takes seconds
    client = client_of(where)
    address = f"/trends?run=0%3A{digests['v2']}"
    assert f'href="{address}"' in client.get(f"/runs/0/{digests['v2']}").text
    assert f"/trends?run=0%3A{digests['v3']}" in client.get("/trends").text
    page = client.get(address)
    shown = re.findall(r'href="/runs/0/(\w+)"', page.text)
    assert shown == [digests[name] for name in ("v3", "v2", "v1")]
    assert "<svg" in page.text
    alone = digests["no requirement"]
    assert "/trends?" not in client.get(f"/runs/0/{alone}").text
    assert client.get(f"/trends?run=0:{alone}").status_code == 404
    assert client.get("/trends?run=9:0").status_code == 404


def test_a_suite_shows_its_cells_and_the_list_leaves_them_out(runs, monkeypatch):
    where, digests = runs
    monkeypatch.setattr(Figure, "fitted", lambda *_: "<svg></svg>")
    client, listed = client_of(where), re.compile(r'<tr data-run="0:(\w+)"')
    suites = [digests[f"suite of {name}"] for name in ("v1", "v2")]
    parts = {p.record.digest for s in suites for p in read_result(where, s).parts.values()}
    assert set(listed.findall(client.get("/").text)) == set(digests.values())
    assert set(listed.findall(client.get("/?cells=1").text)) == {*digests.values(), *parts}
    page = client.get(f"/runs/0/{suites[0]}")
    table = read_result(where, suites[0]).view.sections[0].table
    assert "<svg" in page.text
    assert all(cell in words_of(page) for row in table.rows for cell in row)


def test_every_list_has_clean_accuracy_and_preprocessing(runs):
    where, digests = runs
    model = sf.load_model(linear, shape=SHAPE, mean=0.1, std=0.5)
    result = true_label(model, seed=3).run(where)
    shown = words_of(client_of(where).get("/"))
    assert "normalised with mean 0.1 and std 0.5" in shown
    with reading(where) as store:
        known = {run.digest: run for run in store.runs()}
    assert known[result.record.digest].clean_accuracy == {"": result.record.clean_accuracy}
    assert known[digests["suite of v1"]].clean_accuracy == known[digests["v1"]].clean_accuracy
    assert len(known[digests["suite of v1"]].cells) == 2
