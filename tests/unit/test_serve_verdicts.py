"""The dashboard on verdicts, comparisons, versions of a model and cells of suites."""

import html
import re

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.claims import Verdict
from surefoot.records.record import Source
from surefoot.report.sentences import required_statement
from surefoot.report.view import Figure
from surefoot.store import reading
from surefoot.store.outcomes import keep_outcome
from surefoot.study.read_store import read_result
from surefoot.study.study import compare, sweep
from tests.worlds import SHAPE, linear, points, study

pytest.importorskip("starlette")

from surefoot.serve.pages import breakable
from surefoot.serve.runs import worst
from surefoot.serve.stores import served_stores
from surefoot.serve.trends import trends
from tests.unit.test_serve import client_of

NAMED = Source("m.onnx", "d.npz", {}, "surefoot estimate m.onnx d.npz", study="every night")


def shifted(x):
    """A second model, which fails in other places."""
    return linear(x) + np.array([[0.5, 0.0]])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run for each verdict, a comparison of two models, one of three, and one of two levels."""
    where = str(tmp_path_factory.mktemp("verdicts") / "runs.db")
    names = {}
    required = {Verdict.PASS: 0.01, Verdict.FAIL: 0.999, Verdict.UNDECIDED: 0.8}
    for seed, (verdict, least) in enumerate(required.items()):
        result = study(seed=seed).run(where, source=NAMED if seed else None).require(least)
        assert [claim.verdict for claim in result.verdicts] == [verdict]
        keep_outcome(result.record, {}, where)
        names[str(verdict)] = result.record.digest
    models = {name: sf.load_model(f, shape=SHAPE) for name, f in
              (("a/b.onnx", linear), ("c.onnx", shifted), ("d.onnx", linear))}  # fmt: skip
    studies = {name: study(model=model, seed=9) for name, model in models.items()}
    pair = dict(list(studies.items())[:2])
    names["pair"] = compare(pair, store=where).record.digest
    names["three"] = compare(studies, store=where).record.digest
    names["levels"] = sweep(study(seed=9), [0.1, 0.4], store=where).record.digest
    return where, names


@pytest.fixture(scope="module")
def client(runs):
    return client_of(runs[0])


def stored(runs, name):
    store = served_stores([runs[0]])[0]
    return store.result(next(line for line in store.lines() if line.digest == runs[1][name]))


def words_of(page):
    text = re.sub(r"<[^>]*>", " ", page.text.replace("<wbr>", ""))
    return " ".join(html.unescape(text).replace("\u00a0", " ").split())


def rows_of(page):
    return dict(
        re.findall(r'<tr data-run="0:(\w+)"(.*?)</tr>', page.text.replace("<wbr>", ""), re.S)
    )


@pytest.mark.parametrize("verdict", list(Verdict))
def test_the_list_marks_and_filters_verdicts_and_a_run_says_the_sentence(runs, client, verdict):
    digest, result = runs[1][verdict], stored(runs, verdict)
    page = client.get(f"/?verdict={verdict}")
    rows, (claim,) = rows_of(page), result.verdicts
    assert list(rows) == [digest]
    assert f'<b class="mark {verdict.lower()}">{verdict}</b>' in rows[digest]
    ((kind, sentence),) = result.view.verdict_lines
    shown = client.get(f"/runs/0/{digest}")
    assert f'class="verdict {kind}"' in shown.text
    assert " ".join(sentence.replace(":", " :", 1).split()) in words_of(shown)
    is_named = verdict is not Verdict.PASS
    assert ("every night" in rows[digest]) is is_named
    assert ("every night: run" in words_of(shown)) is is_named
    assert (digest in rows_of(client.get("/?q=every+night"))) is is_named
    assert rows_of(client.get("/?verdict=nonsense")) == {}
    number, _, meaning = result.view.key_figures[0].line.partition(": ")
    required = f"{verdict} required: {required_statement(claim)}"
    assert f"{required} {number} {meaning}" in words_of(page)


def test_the_worst_of_several_verdicts_counts_and_long_or_damaged_ends_are_read(runs, monkeypatch):
    with reading(runs[0]) as store:
        keys = [line.key for line in store.listing().lines()]
        whole = store.listing().endings(keys)
        monkeypatch.setattr("surefoot.store.sql._END", 40)
        assert store.listing().endings(keys) == whole
    verdicts = [claim for ending in whole.values() for claim in ending.verdicts]
    failed, passed, open_ = sorted(verdicts, key=lambda claim: claim.verdict)
    assert [one.verdict for one in (failed, passed, open_)] == ["FAIL", "PASS", "UNDECIDED"]
    assert worst([passed, open_, failed]) is failed
    assert worst([passed, open_]) is open_
    assert worst([]) is None


def test_a_comparison_has_every_page_and_its_number_is_that_of_the_report(
    runs, client, monkeypatch
):
    monkeypatch.setattr(Figure, "svg", "<svg></svg>")  # drawing takes seconds
    names, rows = runs[1], rows_of(client.get("/"))
    for name in ("pair", "levels"):
        result = stored(runs, name)
        key = result.view.key_figures[0]
        row = html.unescape(rows[names[name]]).replace("\u00a0", " ")
        assert key.number in row
        assert key.meaning in row
        run = f"/runs/0/{names[name]}"
        for part in ("", "/report", "/json", "/evidence", "/inputs"):
            assert client.get(run + part).status_code == 200, part
        for part in result.parts.values():
            assert f'href="/runs/0/{part.record.digest}"' in client.get(run).text
            assert f'href="/runs/0/{part.record.digest}/inputs"' in client.get(f"{run}/inputs").text
        assert (
            "its inputs are those of the runs that it compares" in client.get(f"{run}/inputs").text
        )


@pytest.mark.parametrize(
    ("pair", "sentence"),
    [
        (("pair", "PASS"), "they differ in the quantity and members"),
        (("pair", "three"), "they differ in the members"),
        (("pair", "pair"), "Both runs ask the same question"),
    ],
)
def test_a_comparison_stands_beside_another_of_the_same_members_alone(runs, client, pair, sentence):
    chosen = "&".join(f"run=0:{runs[1][name]}" for name in pair)
    assert sentence in words_of(client.get(f"/compare?{chosen}"))


def test_a_name_breaks_after_separators_and_is_never_wide():
    assert breakable("../tut/surefoot.db") == "../<wbr>tut/<wbr>surefoot.db"
    for name in ("<b>/x", "x" * 70, "-" * 90, "", "a" * 30 + "_" * 30):
        pieces = str(breakable(name)).split("<wbr>")
        assert html.unescape("".join(pieces)) == name
        assert "<" not in "".join(pieces)
        assert max(len(html.unescape(piece)) for piece in pieces) <= 24


WEIGHTS = {"v1": 1.0, "v2": 0.4, "v3": -0.2}
"""Of the first value: three versions, each of which fails at other inputs."""


def version(weight):
    def scores(x):
        return linear(x * np.array([weight, *[1.0] * (SHAPE[0] - 1)], dtype=np.float32))

    return sf.load_model(scores, shape=SHAPE)


def true_label(model, **changes):
    return study(model=model, property=sf.properties.TrueLabel(), **changes)


@pytest.fixture(scope="module")
def versions_store(tmp_path_factory):
    """Three versions of one question; then each thing of it changed, once; then a suite of two."""
    where = str(tmp_path_factory.mktemp("trends") / "runs.db")
    digests = {}

    def keep(name, model, least=0.5, file="m.onnx", named="", **changes):
        source = Source(f"{name}/{file}", "d.npz", study=named)
        result = true_label(model, **changes).run(where, source=source)
        result = result if least is None else result.require(least)
        keep_outcome(result.record, {}, where)
        digests[name] = result.record.digest

    for name, weight in WEIGHTS.items():
        keep(name, version(weight))
    keep("other model", version(0.65), file="other.onnx")
    for name, weight in (("night 1", 0.55), ("night 2", 0.6)):
        keep(name, version(weight), file=f"{name}.onnx", named="every night")
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


def test_versions_of_one_question_make_a_trend_and_nothing_else_does(versions_store):
    where, digests = versions_store
    problems = []
    found = trends(served_stores([where]), problems)
    assert problems == []
    of_runs = [[run.line.digest for run in trend.runs] for trend in found]
    versions = [digests[name] for name in WEIGHTS]
    nights, suites = ([digests[f"{of}{i}"] for i in (1, 2)] for of in ("night ", "suite of v"))
    assert sorted(of_runs) == sorted([versions, nights, suites])
    by_run = dict(zip((tuple(one) for one in of_runs), found, strict=True))
    assert by_run[tuple(versions)].required == 0.5
    for run in by_run[tuple(versions)].runs:
        result = read_result(where, run.line.digest)
        (claim,) = run.claims
        assert claim in result.claims
        assert claim.about == result.verdicts[0].about
        assert run.ending.clean == {"": result.record.clean_accuracy}


def test_a_trend_has_its_figure_and_every_page_leads_to_it(versions_store, monkeypatch):
    where, digests = versions_store
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


def test_a_suite_shows_its_cells_and_the_list_leaves_them_out(versions_store, monkeypatch):
    where, digests = versions_store
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


def test_every_list_has_clean_accuracy_and_preprocessing(versions_store):
    where, digests = versions_store
    model = sf.load_model(linear, shape=SHAPE, mean=0.1, std=0.5)
    result = true_label(model, seed=3).run(where)
    shown = words_of(client_of(where).get("/"))
    assert "normalised with mean 0.1 and std 0.5" in shown
    with reading(where) as store:
        known = {run.digest: run for run in store.runs()}
    assert known[result.record.digest].clean_accuracy == {"": result.record.clean_accuracy}
    assert known[digests["suite of v1"]].clean_accuracy == known[digests["v1"]].clean_accuracy
    assert len(known[digests["suite of v1"]].cells) == 2
