"""The dashboard on verdicts and comparisons: what the list and the pages of runs say of them."""

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
from surefoot.study.study import compare, sweep
from tests.worlds import SHAPE, linear, study

pytest.importorskip("starlette")

from surefoot.serve.pages import breakable
from surefoot.serve.runs import worst
from surefoot.serve.stores import served_stores
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
