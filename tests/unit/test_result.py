"""The one result: claims, JSON, tables, figures and verdicts, whatever the method found."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.claims import About, Continues, Randomness, Scope
from surefoot.errors import InvalidArgument, StoreFailed
from surefoot.report.sentences import sentence
from surefoot.results import Bracket, PointsDrawn, Quantile
from surefoot.store.json_records import record_from_json, record_to_json
from surefoot.store.records import AttackSummary, Comparison, Curves, QuantileRow, Radii, Samples
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
    radii = sf.CriticalLevel(tolerance=0.05, seconds_per_input=0.2, samples=5, quantile=0.4)
    sized = {name: make(noise, sf.FixedSize(0.3, 0.1), i) for i, name in enumerate("ab")}
    return {
        "estimates": make(noise, sf.ExactSequential(0.2, 0.1)).run(),
        "decisions": make(noise, sf.KappaTest(0.3, 0.1, max_trials=40)).run(),
        "tails": make(noise, sf.NormalTail(draws=60), property=sf.NoConfidentMistake(0.6)).run(),
        "curve": make(
            sf.perturb.GaussianBlur(), sf.SequentialCurve(0.0, 2.0, resolution=0.1), by_class=True
        ).run(),
        "radii": make(ball, radii).run(),
        "attack": make(noise, sf.Attack(1, 5, 2)).run(),
        "beside an attack": make(noise, sf.FixedSize(0.3, 0.1)).run(attack=sf.Attack(1, 5, 2)),
        "models": sf.compare(sized, reference={"a": 0.9, "b": 0.8}),
        "levels": sf.sweep(sized["a"], [0.1, 0.4]),
        "curves": sf.compare(
            {n: make(ball, sf.UniformCurve(0.0, 0.5, levels=3), i) for i, n in enumerate("ab")}
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


@every_kind
def test_a_record_survives_json_whatever_was_found(results, kind):
    found = results[kind]
    assert isinstance(found.details, KINDS[kind])
    assert record_from_json(record_to_json(found.record)) == found.record


@every_kind
def test_json_for_machines_holds_every_claim_with_its_sentence(results, kind):
    found = results[kind]
    told = json.loads(found.to_json())
    assert [claim["sentence"] for claim in told["claims"]] == [sentence(c) for c in found.claims]
    assert told["digest"] == found.record.digest
    assert len(told["inputs"]) == len(found.inputs)
    assert told.get("parts", {}).keys() == found.parts.keys()
    assert "Infinity" not in found.to_json()
    assert "NaN" not in found.to_json()


@every_kind
def test_a_result_is_shown_in_words_in_a_notebook_and_on_a_page(results, kind, tmp_path):
    found = results[kind]
    headline = sentence(found.view.headline[0])
    assert headline in str(found)
    assert headline.split(" (")[0].split("'")[0] in found._repr_html_()
    assert "<html" not in found._repr_html_()
    page = found.report(tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<svg" in page or kind == "attack"


@every_kind
def test_every_result_can_be_drawn(results, kind, tmp_path):
    found = results[kind]
    for name, begins in (("f.svg", b"<svg"), ("f.png", b"\x89PNG"), ("f.json", b"{")):
        chart = found.plot(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begins)
        assert chart.to_dict()
    with pytest.raises(InvalidArgument, match=r"\.svg, \.png"):
        found.plot(tmp_path / "f.gif")


@every_kind
def test_the_table_of_inputs_is_a_frame(results, kind):
    pytest.importorskip("pandas")
    found = results[kind]
    table = found.to_frame()
    assert len(table) == len(found.inputs) + sum(len(part.inputs) for part in found.parts.values())
    if found.parts:
        assert set(table.get("part", ())) <= set(found.parts)
    if found.inputs:
        row = table.set_index("id").loc[found.inputs[0].id]
        claim = found.claim_about(found.inputs[0].id)
        assert (row["quantity"], row["trials"]) == (claim.quantity, claim.trials)
        assert row["low"] == claim.interval.low if claim.interval else math.isnan(row["low"])


ABOUT = {
    "estimates": "failure", "decisions": "kappa", "tails": "tail", "radii": "radius",
    "beside an attack": "failure",
}  # fmt: skip


@pytest.mark.parametrize("kind", ABOUT)
def test_one_input_has_a_claim_of_its_own(results, kind):
    found = results[kind]
    for row in found.inputs:
        claim = found.claim_about(row.id)
        assert claim.kind in (ABOUT[kind], "failure")  # a tail that does not fit is counted
        assert claim.about == Scope(About.INPUT, 1, row.id)
        assert found.by_id[row.id] == row.result
        assert row.id in sentence(claim)
    with pytest.raises(InvalidArgument, match="no input 'nobody' among the 8 here"):
        found.claim_about("nobody")


def test_a_claim_about_an_input_is_about_failing(results):
    found = results["estimates"]
    for row in found.inputs:
        claim = found.claim_about(row.id)
        assert claim.value == 1 - row.result.value
        assert claim.interval.low == pytest.approx(max(0.0, 1 - row.result.interval.high))


def test_open_ends_come_back_infinite(results):
    """A radius that nothing refutes, a quantile without an upper end, a difference without any."""
    record = results["radii"].record
    promise = sf.Guarantee(sf.Footing.SOUND, 0.0, ("real arithmetic",))
    sampled = (PointsDrawn(0.1, 5, 0), PointsDrawn(0.1, 3, 0, near_ties=True))
    never = Bracket(sf.Interval(0.25, math.inf), promise, "time is up", 7, 0.2, 1, "", sampled)
    rows = tuple(replace(row, result=never) for row in record.inputs)
    open_ = Quantile(0.05, 0.25, sf.Interval(0.0, math.inf), promise, 8, note="so few inputs")
    found = replace(
        record.details,
        quantiles=(
            QuantileRow("all inputs", 8, "shortest-ranks", open_),
            QuantileRow("all inputs", 8, "order-statistics", sf.Undecided("too few", 3)),
        ),
    )
    whole = replace(record.claims[0], interval=open_.interval)
    nothing = sf.Interval(-math.inf, math.inf)
    pair = replace(whole, kind="quantile_difference", names=("a", "b"), interval=nothing)
    claims = (whole, pair)
    made = replace(record, inputs=rows, details=found, claims=claims)
    again = record_from_json(record_to_json(made))
    assert again == made
    assert again.inputs[0].result.high == math.inf
    assert again.claims[1].interval.low == -math.inf
    shown = replace(results["radii"], record=made)
    assert "Infinity" not in shown.to_json()
    assert json.loads(shown.to_json())["inputs"][0]["result"]["interval"]["high"] is None
    assert "no counterexample was found" in sentence(shown.claim_about(rows[0].id))


def test_a_damaged_record_is_named_with_the_place(results):
    text = record_to_json(results["estimates"].record)
    with pytest.raises(StoreFailed, match=r"claims\.0\.kind|claims\.0"):
        record_from_json(text.replace('"mean_set"', '"made_up"'))
    with pytest.raises(StoreFailed, match="damaged"):
        record_from_json(text[:-5])


def test_requirements_share_the_error_and_say_so(results):
    """Two stated together are each decided at half of it; one alone has it all."""
    found = results["estimates"]
    (alone,) = found.require(0.1).verdicts
    whole, every, *each = found.require(0.1, of_each_class=0.1).verdicts
    assert alone.guarantee.error == 0.1
    assert whole.guarantee.error == every.guarantee.error == 0.05
    assert {claim.guarantee.error for claim in each} == {0.05}
    assert (whole.about.of, every.about.of) == (About.POPULATION, About.CLASS)
    assert alone.requirement == pytest.approx(0.9)  # of failing
    assert "confidence 95 %" in sentence(whole)
    assert found.verdicts == ()  # the result itself stays as it was


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
    with pytest.raises(InvalidArgument, match=says):
        results[kind].require(**how)


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


def test_a_level_that_plays_no_part_changes_no_digest(make):
    """It cannot be given: so there is one study of all radii, and one of each range of levels."""
    radii = sf.CriticalLevel(tolerance=0.05, seconds_per_input=0.2)
    with pytest.raises(InvalidArgument, match=r"leave out the level 0\.3"):
        make(sf.perturb.LinfNoise(0.3), radii)
    assert make(sf.perturb.LinfNoise(), radii).spec["perturbation"] == {
        "kind": "linf",
        "level": None,
    }
    one, other = (make(sf.perturb.LinfNoise(level), sf.Attack()) for level in (0.1, 0.2))
    assert one.digest != other.digest
    plain = make(sf.perturb.LinfNoise(0.1), sf.FixedSize(0.3, 0.1))
    assert replace(plain, by_class=True).digest == plain.digest  # what the method does by itself
    assert replace(plain, population=sf.Mean(0.1)).digest == plain.digest
    assert replace(plain, by_class=False).digest != plain.digest


def test_a_study_in_python_and_at_the_command_line_is_the_same_run(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from surefoot.cli.main import app

    monkeypatch.chdir(tmp_path)
    relu_net(tmp_path / "model.onnx", SHAPE)
    x = (255 * batch(6, SHAPE)).astype(np.uint8)
    np.savez(tmp_path / "test.npz", x=x, y=[0, 0, 1, 1, 2, 2])
    model, inputs = sf.load_model("model.onnx", bounds=(0, 1)), sf.load_inputs("test.npz")
    noise, ball = sf.perturb.LinfNoise(8 / 255), sf.perturb.LinfNoise()
    typed = {
        "estimate --perturb linf:8/255 --width 0.3 --confidence 0.9": (
            noise, sf.ExactSequential(0.3, 0.1), sf.SameLabel()),
        "certify --perturb linf:8/255 --kappa 0.2 --confidence 0.9 --budget 30": (
            noise, sf.KappaTest(0.2, 0.1, 30), sf.SameLabel()),
        "tail --perturb linf:8/255 --draws 40": (
            noise, sf.NormalTail(draws=40), sf.NoConfidentMistake(0.6)),
        "curve --perturb linf:0..0.5 --threshold 0.7 --resolution 0.1": (
            ball, sf.SequentialCurve(0.0, 0.5, (0.7,), resolution=0.1), sf.TrueLabel()),
        "critical --seconds-per-input 0.1 --tolerance 0.05 --samples 3": (
            ball, sf.CriticalLevel(0.05, seconds_per_input=0.1, samples=3), sf.TrueLabel()),
    }  # fmt: skip
    for words, (perturbation, method, held) in typed.items():
        command, *options = words.split()
        done = CliRunner().invoke(
            app, [command, "model.onnx", "test.npz", *options, "--bounds", "0,1", "--json"]
        )
        assert done.stdout, (words, done.stderr, done.exception)
        told = json.loads(done.stdout)
        made = sf.Study(model, inputs, perturbation, method, property=held)
        assert told["spec"] | {"words": 0} == json.loads(json.dumps(made.spec)) | {"words": 0}, (
            words
        )
        assert told["digest"] == made.digest, words
