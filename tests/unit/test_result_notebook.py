"""A result in a notebook: light, without scripts, and whatever names hold is text."""

import re
from dataclasses import replace

import numpy as np

import surefoot as sf
from surefoot.report.page import FIGURE_BYTES, ROWS

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{ 7*7 }}"


def classify(batch):
    margin = batch.mean(axis=1) - 0.5
    return np.stack([-margin, margin], axis=1)


def run(inputs, **more):
    options = {"bounds": (0, 1), "each": 0.3, "store": None, **more}
    return sf.estimate(classify, inputs, "linf:0.5", **options)


def test_hostile_names_stay_text_in_a_notebook():
    x = np.random.default_rng(0).random((8, 4))
    y = [0, 1] * 4
    names = [f"{HOSTILE} {i}" for i in range(2)]
    inputs = sf.load_inputs(x, y, ids=[f"{HOSTILE}{i}" for i in range(8)], class_names=names)
    result = run(inputs)
    html = result._repr_html_()
    tags = re.findall(r"<[a-z][^>]*>", html)  # what is escaped has no tag
    bare = " ".join(re.sub(r'="[^"]*"', "=", tag) for tag in tags)
    assert not re.search(r"<script|\son\w+=", bare)
    addresses = re.findall(r' (?:src|href)="([^"]*)', " ".join(tags))
    assert all(address.startswith("data:image/svg+xml;base64,") for address in addresses)
    assert "&lt;script&gt;" in html
    assert "49" not in re.sub(r"base64,[^\"]*", "", html).split("{{ 7*7 }}")[0][-3:]
    assert "\n" not in repr(result)
    assert len(repr(result)) < 200


def test_a_result_of_300_inputs_is_light_and_says_what_is_left_out():
    x = np.random.default_rng(1).random((300, 4))
    y = np.arange(300) % 30
    result = run(sf.load_inputs(x, np.minimum(y, 1), class_names=("a", "b")), method="okamoto")
    html = result._repr_html_()
    assert len(html.encode()) < 200_000
    assert "<svg" not in html
    assert html.count("<tr>") <= 2 * (ROWS + 1)


def test_a_figure_that_is_too_heavy_is_left_out(monkeypatch):
    result = run((np.random.default_rng(2).random((4, 4)), [0, 1, 0, 1]))
    assert "<img" in result._repr_html_()
    monkeypatch.setattr("surefoot.report.page.FIGURE_BYTES", 10)
    assert "<img" not in result._repr_html_()
    assert FIGURE_BYTES > 10


def test_a_result_from_a_store_says_so(tmp_path):
    data = np.random.default_rng(3).random((4, 4)), [0, 1, 0, 1]
    store = str(tmp_path / "runs.db")
    first, again = run(data, store=store), run(data, store=store)
    assert "finished before" not in first._repr_html_()
    assert f"its result is from {store}" in again._repr_html_()
    assert first.record.digest == again.record.digest


def test_verdicts_come_first_and_decide_the_exit_code():
    result = run((np.random.default_rng(3).random((6, 4)), [0, 1] * 3))
    assert result.exit_code == 0
    codes = {sf.Verdict.PASS: 0, sf.Verdict.FAIL: 1, sf.Verdict.UNDECIDED: 2}
    for least in (0.0, 0.5, 1.0):
        required = result.require(least)
        (claim,) = required.verdicts
        assert required.exit_code == codes[claim.verdict]
        assert repr(required).startswith(f"<Result {claim.verdict}: ")
        each = tuple(claim.answered(least, verdict, "so") for verdict in codes)
        assert replace(required, verdicts=each).exit_code == 1


def test_a_plot_is_shown_without_a_network():
    result = run((np.random.default_rng(2).random((4, 4)), [0, 1, 0, 1]))
    [(kind, drawn)] = result.plot()._repr_mimebundle_().items()
    assert kind == "image/svg+xml"
    assert drawn.startswith("<svg")
    assert "<script" not in drawn
