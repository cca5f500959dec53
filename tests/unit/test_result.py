"""The one result: claims, JSON, tables, figures and verdicts, of every kind of method."""

import csv
import io
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.core.assumptions import Assumed
from surefoot.core.claims import About, Continues, Randomness, Scope
from surefoot.core.results import Bracket, PointsDrawn, Quantile
from surefoot.errors import StoreFailed
from surefoot.records.json_records import record_from_json, record_to_json
from surefoot.records.record import AttackSummary, Comparison, Curves, QuantileRow, Radii, Samples
from surefoot.report.clauses import quantity_words
from surefoot.report.export.table import table_names
from surefoot.report.page import ROWS
from surefoot.report.sentences import briefly, sentence
from tests.refusals import raised, refused
from tests.unit.small_models import batch, relu_net

SHAPE = (1, 6, 6)


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """Studies of one small network, or of a second one of other weights."""
    folder = tmp_path_factory.mktemp("nets")
    models = [
        sf.load_model(relu_net(folder / f"{seed}.onnx", SHAPE, seed), bounds=(0, 1))
        for seed in (3, 4)
    ]
    inputs = sf.load_inputs(batch(8, SHAPE), [0, 0, 0, 1, 1, 1, 2, 2])

    def study(perturbation, method, model=0, **more):
        return sf.Study(models[model], inputs, perturbation, method, **more)

    return study


@pytest.fixture(scope="module")
def results(make):
    noise, ball = sf.perturb.LinfNoise(0.4), sf.perturb.LinfNoise()
    radii = sf.methods.CriticalLevel(tolerance=0.05, seconds_per_input=0.2, samples=5, quantile=0.4)
    sized = {name: make(noise, sf.methods.FixedSize(0.3, 0.1), i) for i, name in enumerate("ab")}
    return {
        "estimates": make(noise, sf.methods.ExactSequential(0.2, 0.1)).run(),
        "decisions": make(noise, sf.methods.KappaTest(0.3, 0.1, max_trials=40)).run(),
        "tails": make(
            noise, sf.methods.NormalTail(draws=60), property=sf.properties.NoConfidentMistake(0.6)
        ).run(),
        "curve": make(
            sf.perturb.GaussianBlur(),
            sf.methods.SequentialCurve(0.0, 2.0, resolution=0.1),
            by_class=True,
        ).run(),
        "radii": make(ball, radii).run(),
        "attack": make(noise, sf.methods.Attack(1, 5, 2)).run(),
        "beside an attack": make(noise, sf.methods.FixedSize(0.3, 0.1)).run(
            attack=sf.methods.Attack(1, 5, 2)
        ),
        "models": sf.compare(sized, reference={"a": 0.9, "b": 0.8}),
        "levels": sf.sweep(sized["a"], [0.1, 0.4]),
        "curves": sf.compare(
            {
                n: make(ball, sf.methods.UniformCurve(0.0, 0.5, levels=3), i)
                for i, n in enumerate("ab")
            }
        ),
        "networks": sf.compare({n: make(ball, radii, i) for i, n in enumerate("ab")}),
    }


KINDS = {
    "estimates": Samples,
    "decisions": Samples,
    "tails": Samples,
    "curve": Curves,
    "radii": Radii,
    "attack": AttackSummary,
    "beside an attack": Samples,
    "models": Comparison,
    "levels": Comparison,
    "curves": Comparison,
    "networks": Comparison,
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.mark.slow
@every_kind
def test_a_record_of_every_kind_survives_json(results, kind):
    result = results[kind]
    assert isinstance(result.details, KINDS[kind])
    assert record_from_json(record_to_json(result.record)) == result.record


@every_kind
def test_json_for_machines_holds_every_claim_with_its_sentence(results, kind):
    result = results[kind]
    data = json.loads(result.to_json())
    assert [claim["sentence"] for claim in data["claims"]] == [sentence(c) for c in result.claims]
    assert data["digest"] == result.record.digest
    assert len(data["inputs"]) == len(result.inputs)
    assert data.get("parts", {}).keys() == result.parts.keys()
    assert "Infinity" not in result.to_json()
    assert "NaN" not in result.to_json()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["estimates", "curve", "radii", "models"])
def test_a_result_is_shown_in_words_and_in_a_notebook(results, kind):
    result = results[kind]
    headline = sentence(briefly(result.view.headline[0]))
    assert headline in str(result)
    assert headline.split(" (")[0].split("'")[0] in result._repr_html_()
    assert "<html" not in result._repr_html_()


@pytest.mark.slow
@every_kind
def test_every_result_can_be_drawn(results, kind, tmp_path):
    result = results[kind]
    for name, begins in FIGURES if kind == "estimates" else FIGURES[:1]:
        chart = result.plot(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begins)
        assert chart.to_dict()
    refused(r"\.svg, \.png", result.plot, tmp_path / "f.gif")


@every_kind
def test_every_table_of_a_page_is_csv_and_latex(results, kind):
    result = results[kind]
    ids = [s.id for s in result.view.sections if s.table or s.terminal_table]
    assert table_names(result.view) == ["claims", *ids]
    for name in table_names(result.view):
        head, *rows = csv.reader(io.StringIO(result.export(to="csv", table=name)))
        assert all(len(row) == len(head) for row in rows)
        for intervals in ("range", "plus-minus"):
            tex = result.export(to="latex", table=name, intervals=intervals)
            plain = [line for line in tex.splitlines() if not line.startswith("% ")]
            assert not re.search(r"(?<!\\)[%#_]", "".join(plain))
            body = tex.partition("\\toprule\n")[2].partition("\\bottomrule")[0]
            lines = [line for line in body.splitlines() if line != r"\midrule"]
            assert len(lines) == len(rows) + 1 or name == "claims"
            assert len({len(re.findall(r"(?<!\\)&", line)) for line in lines}) == 1
    refused("is one of claims", result.export, to="csv", table="none such")


FIGURES = (("f.svg", b"<svg"), ("f.png", b"\x89PNG"), ("f.pdf", b"%PDF"), ("f.json", b"{"))


def expected_rows(result):
    if isinstance(result.details, Curves):
        curves = [result.details.curve, *(row.curve for row in result.details.classes)]
        return sum(len(curve.points) for curve in curves)
    return len(result.inputs)


@every_kind
def test_a_frame_has_one_row_an_input_or_a_level(results, kind):
    pytest.importorskip("pandas")
    result = results[kind]
    table = result.to_frame()
    members = result.parts.values() or [result]
    assert len(table) == sum(map(expected_rows, members)) > 0
    assert {"quantity", "value", "low", "high", "trials"} <= set(table.columns)
    if result.parts:
        assert set(table["part"]) == set(result.parts)
    if kind in ("curve", "curves", "levels"):
        assert table["level"].notna().all()
    if result.inputs:
        row = table.set_index("id").loc[result.inputs[0].id]
        claim = result.claim_about(result.inputs[0].id)
        assert (row["quantity"], row["trials"]) == (quantity_words(claim), claim.trials)
        assert row["low"] == claim.interval.low if claim.interval else math.isnan(row["low"])


ABOUT = {
    "estimates": "failure", "decisions": "kappa", "tails": "tail", "radii": "radius",
    "beside an attack": "failure",
}  # fmt: skip


@pytest.mark.parametrize("kind", ABOUT)
def test_one_input_has_a_claim_of_its_own(results, kind):
    result = results[kind]
    for row in result.inputs:
        claim = result.claim_about(row.id)
        assert claim.kind in (ABOUT[kind], "failure")  # a tail that does not fit is counted
        assert claim.about == Scope(About.INPUT, 1, row.id)
        assert result.by_id[row.id] == row.result
        assert row.id in sentence(claim)
    refused("no input 'nobody' among the 8 here", result.claim_about, "nobody")


def test_a_claim_about_an_input_is_about_failing(results):
    result = results["estimates"]
    for row in result.inputs:
        claim = result.claim_about(row.id)
        assert claim.value == 1 - row.result.value
        assert claim.interval.low == pytest.approx(max(0.0, 1 - row.result.interval.high))


def test_open_ends_come_back_infinite(results):
    """A radius that nothing refutes, a quantile without an upper end, a difference without any."""
    record = results["radii"].record
    promise = sf.results.Guarantee(sf.results.Footing.SOUND, 0.0, (Assumed.ARITHMETIC,))
    sampled = (PointsDrawn(0.1, 5, 0), PointsDrawn(0.1, 3, 0, near_ties=True))
    never = Bracket(
        sf.results.Interval(0.25, math.inf), promise, "time is up", 7, 0.2, 1, "", sampled
    )
    rows = tuple(replace(row, result=never) for row in record.inputs)
    note = sf.reasons.Why.NOT_WITHIN.of(8, math.inf)
    open_ = Quantile(0.05, 0.25, sf.results.Interval(0.0, math.inf), promise, 8, note=note)
    radii = replace(
        record.details,
        quantiles=(
            QuantileRow("all inputs", 8, "shortest-ranks", open_),
            QuantileRow("all inputs", 8, "order-statistics", sf.Undecided("too few", 3)),
        ),
    )
    whole = replace(record.claims[0], interval=open_.interval)
    nothing = sf.results.Interval(-math.inf, math.inf)
    both = replace(whole.said, names=("a", "b"))
    pair = sf.claims.QuantileDifference(both, share=0.05, interval=nothing)
    claims = (whole, pair)
    made = replace(record, inputs=rows, details=radii, claims=claims)
    again = record_from_json(record_to_json(made))
    assert again == made
    assert again.inputs[0].result.high == math.inf
    assert again.claims[1].interval.low == -math.inf
    shown = replace(results["radii"], record=made)
    assert "Infinity" not in shown.to_json()
    assert json.loads(shown.to_json())["inputs"][0]["result"]["interval"]["high"] is None


def test_a_damaged_record_is_named_with_the_place(results):
    text = record_to_json(results["estimates"].record)
    with pytest.raises(StoreFailed, match=r"claims\.0\.kind|claims\.0"):
        record_from_json(text.replace('"accuracy_set"', '"made_up"'))
    raised(StoreFailed, "damaged", record_from_json, text[:-5])


def test_requirements_share_the_error_and_say_so(results):
    """Two stated together are each decided at half of it; one alone has it all."""
    result = results["estimates"]
    (alone,) = result.require(0.1).verdicts
    whole, every, *each = result.require(0.1, of_each_class=0.1).verdicts
    assert alone.guarantee.error == 0.1
    assert whole.guarantee.error == every.guarantee.error == 0.05
    assert {claim.guarantee.error for claim in each} == {0.05}
    assert (whole.about.of, every.about.of) == (About.POPULATION, About.CLASS)
    assert alone.requirement.number == 0.1  # of being right
    assert result.verdicts == ()  # the result itself stays as it was


@pytest.mark.parametrize(
    ("kind", "how", "says"),
    [
        ("estimates", {}, "nothing is required"),
        ("estimates", {"least": 1.5}, "between 0 and 1"),
        ("estimates", {"not_worse": ("a", 0.1)}, "side by side"),
        ("curve", {"least": 0.5, "of_each_class": 0.5}, "one requirement"),
        ("radii", {"of_each_class": 0.1}, "one requirement"),
        ("radii", {"least": 0.0}, "above 0"),
        ("attack", {"least": 0.5}, "takes no such requirement"),
        ("models", {"least": 0.5}, "takes no such requirement"),
        ("models", {"not_worse": ("c", 0.1)}, "no 'c' among those compared"),
        ("levels", {"not_worse": ("0.1", 0.1)}, "compares models"),
        ("curves", {"not_worse": ("a", 0.1)}, "compares models"),
    ],
)
def test_a_requirement_that_means_nothing_is_refused(results, kind, how, says):
    refused(says, results[kind].require, **how)


def test_every_kind_of_result_takes_its_requirement(results):
    asked = {
        "estimates": {"least": 0.01}, "decisions": {"least": 0.01}, "tails": {"least": 0.01},
        "curve": {"least": 0.01}, "radii": {"least": 1e-3}, "curves": {"least": 0.1},
        "networks": {"least": 1e-3}, "models": {"not_worse": ("a", 0.99)},
    }  # fmt: skip
    for kind, how in asked.items():
        for claim in results[kind].require(**how).verdicts:
            assert claim.verdict in tuple(sf.Verdict), kind
            assert sentence(claim).startswith(str(claim.verdict)), kind
            assert claim.reason or claim.verdict is not sf.Verdict.UNDECIDED, kind


def test_what_is_random_is_said(results):
    random = {kind: results[kind].claims[0].random for kind in KINDS}
    assert random["estimates"] is Randomness.FRESH
    assert random["radii"] is random["attack"] is Randomness.NOTHING
    assert random["curve"] is Randomness.NOTHING  # a blur draws nothing
    assert random["curves"] is Randomness.FIXED
    assert results["curves"].claims[0].seed == 1
    assert results["radii"].claims[0].continues is Continues.ONCE


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
