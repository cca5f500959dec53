"""A curve through the whole engine: order, noise, resume, classes, models, words."""

import json
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.errors import InvalidArgument
from surefoot.report.curves import Curves
from surefoot.results import Decision, Undecided
from surefoot.store.records import record_from_json, record_to_json
from surefoot.study.notation import parse_alteration
from surefoot.study.tracing import traced
from tests.worlds import linear_model, points


def brightness_model(x):
    """Class 0 until the mean reaches 1/2: a picture falls at the level that brings it there."""
    mean = x.reshape(len(x), -1).astype(np.float64).mean(axis=1)
    return np.stack([0.5 - mean, mean - 0.5], axis=1)


def shades(n=300, seed=3):
    """Grey pictures of one shade each, darker than 1/2."""
    values = np.random.default_rng(seed).uniform(0.0, 0.5, n).astype(np.float32)
    x = np.repeat(values, 16).reshape(n, 1, 4, 4)
    return sf.load_inputs(x, np.zeros(n, dtype=np.int64)), values.astype(np.float64)


def study(inputs, procedure, **more):
    model = sf.load_model(brightness_model, shape=(1, 4, 4), bounds=(0, 1))
    more = {"perturbation": sf.perturb.Brightness(0.5), "property": sf.TrueLabel(), **more}
    return sf.Study(model, inputs, procedure=procedure, **more)


def truth(values, threshold, high=0.5):
    """The level at which fewer than `threshold` are left, exactly: an order statistic."""
    falls = np.sort(0.5 - values)[::-1]
    return min(falls[int(np.ceil(threshold * len(values) - 1e-9)) - 1] / high, 1.0)


@pytest.mark.parametrize("threshold", [0.9, 0.8, 0.5, 0.25])
def test_the_crossing_of_single_shades_is_found(threshold):
    inputs, values = shades()
    found = sf.trace(study(inputs, sf.SequentialCurve(0.0, 0.5, (threshold,)))).curve
    reading = found.readings[0]
    assert reading.interval.low - 1e-6 <= truth(values, threshold) <= reading.interval.high + 1e-6
    assert reading.interval.width <= 0.0021
    assert found.trials < 8 * len(inputs)


def test_every_method_agrees_with_the_others():
    inputs, values = shades(120)
    known = truth(values, 0.6)
    for made in (sf.SequentialCurve, sf.AdaptiveCurve, sf.UniformCurve, sf.RandomCurve,
                 sf.QuadCurve):  # fmt: skip
        found = sf.trace(study(inputs, made(0.0, 0.5, (0.6,)))).curve.readings[0]
        assert found.value == pytest.approx(known, abs=0.15)
        assert found.interval.low - 1e-6 <= known <= found.interval.high + 1e-6


def test_resume_in_the_middle_of_a_curve_changes_nothing(tmp_path):
    inputs, _ = shades(200)
    asked = study(inputs, sf.SequentialCurve(0.0, 0.5, (0.8, 0.4)))
    plain, _ = traced(asked, None, 1, None, lambda _: None, None)
    for stop_after in (1, 3, 6):
        ticks = iter(range(10**6))

        def watch(_, ticks=ticks, stop_after=stop_after):
            if next(ticks) >= stop_after:
                raise KeyboardInterrupt

        where = str(tmp_path / f"{stop_after}.db")
        from surefoot.engine import drive

        pause, drive._WATCH_EVERY = drive._WATCH_EVERY, 0.0
        try:
            with pytest.raises(KeyboardInterrupt):
                traced(asked, where, 1, 7, watch, None)
        finally:
            drive._WATCH_EVERY = pause
        again, known = traced(asked, where, 2, 50, lambda _: None, None)
        assert not known
        assert again.curve == plain.curve
        once_more, known = traced(asked, where, None, None, lambda _: None, None)
        assert known
        assert once_more.curve == plain.curve


def test_batches_workers_and_the_order_of_inputs_do_not_matter():
    inputs, _ = shades(150)
    turned = replace(
        inputs, x=inputs.x[::-1], labels=inputs.labels[::-1], ids=tuple(inputs.ids[::-1])
    )
    noise = {"perturbation": sf.perturb.GaussianNoise(1.0)}
    asked = sf.SequentialCurve(0.0, 1.0, (0.9,))
    first = sf.trace(study(inputs, asked, **noise), batch=1000).curve
    assert sf.trace(study(inputs, asked, **noise), batch=3, workers=3).curve == first
    assert sf.trace(study(turned, asked, **noise)).curve == first


def test_stochastic_alterations_meet_the_same_noise_at_every_level():
    """With one threshold on a sum of noise, an input that fell stays fallen: noise only grows."""
    inputs, _ = shades(100)
    made = study(inputs, sf.UniformCurve(0.0, 1.0, levels=15),
                 perturbation=sf.perturb.GaussianNoise(1.0))  # fmt: skip
    rates = [p.value for p in sf.trace(replace(made, model=unbounded())).curve.points]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == 1 > rates[-1]


def unbounded():
    return sf.load_model(brightness_model, shape=(1, 4, 4))


def test_classes_and_models_side_by_side(tmp_path):
    rng = np.random.default_rng(5)
    values = rng.uniform(0, 0.5, 240).astype(np.float32)
    labels = (rng.random(240) < 0.3).astype(np.int64)
    x = np.repeat(values, 16).reshape(-1, 1, 4, 4)
    inputs = sf.load_inputs(x, labels, class_names=["dark", "bright"])
    asked = sf.SequentialCurve(0.0, 0.5, (0.6,))
    first = study(inputs, asked, by_class=True)
    found = sf.trace(first)
    assert set(found.classes) == {"dark", "bright"}
    assert sum(row.inputs for row in found.records[""].classes) == 240
    both = sf.trace({"one": first, "two": study(inputs, asked, by_class=False)})
    assert both.records["one"].curve == both.records["two"].curve
    page = both.report(tmp_path / "c.html").read_text()
    assert page.count("<svg") == 2  # one figure for both, one for the classes
    assert "Of 2 curves" in page
    with pytest.raises(InvalidArgument, match="there are 2 curves"):
        _ = both.curve


def test_a_record_survives_the_store_and_the_figure_is_written(tmp_path):
    inputs, _ = shades(80)
    found = sf.trace(study(inputs, sf.SequentialCurve(0.0, 0.5)), store=str(tmp_path / "s.db"))
    record = found.records[""]
    assert record_from_json(record_to_json(record)) == record
    assert record.strip is not None
    assert {frame.held for frame in record.strip.frames} == {True, False}
    for name in ("f.svg", "f.png", "f.json"):
        assert found.figure(tmp_path / name).stat().st_size > 1000
    with pytest.raises(InvalidArgument, match=r"\.svg, \.png, \.json"):
        found.figure(tmp_path / "f.pdf")
    assert json.loads(found.to_json())["curves"][""]["curve"]["size"] == 80
    assert "80 % or more up to level" in str(found)


def test_a_requirement_passes_fails_or_stays_open():
    inputs, values = shades(200)
    found = sf.trace(study(inputs, sf.SequentialCurve(0.0, 0.5)))
    known = truth(values, 0.8)
    yes, no = found.requires(known - 0.05), found.requires(known + 0.05)
    assert isinstance(yes, Decision)
    assert isinstance(no, Decision)
    assert (yes.holds, no.holds) == (True, False)
    edge = found.curve.readings[0].interval
    assert isinstance(found.requires((edge.low + edge.high) / 2), Undecided)
    several = Curves({"a": found.records[""], "b": found.records[""]})
    assert several.requires(known - 0.05).guarantee.error == pytest.approx(0.1)
    weak = sf.trace(study(inputs, sf.UniformCurve(0.0, 0.5)))
    assert isinstance(weak.requires(0.1), Undecided)


def test_confidence_has_a_curve_too():
    inputs, _ = shades(200)
    asked = sf.SequentialCurve(0.0, 0.5, (0.5,), measure="confidence")
    found = sf.trace(study(inputs, asked, property=sf.Confidence())).curve
    rates = [p.value for p in found.points]
    assert rates[0] > 0.5 > rates[-1]
    (crossing,) = found.readings[0].crossings
    assert crossing.falls
    # softmax of (0.5 - m, m - 0.5) is 1/2 on average where the mean brightness is 1/2
    assert crossing.level == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"procedure": sf.SequentialCurve(0.0, 2.0)}, "levels go from -1 to 1"),
        ({"procedure": sf.SequentialCurve(0.0, 0.5, measure="confidence")}, "sf.Confidence"),
        ({"property": sf.Confidence()}, "sf.Confidence"),
    ],
)
def test_what_does_not_fit_is_refused(change, said):
    inputs, _ = shades(10)
    with pytest.raises(InvalidArgument, match=said):
        study(inputs, **{"procedure": sf.SequentialCurve(0.0, 0.5), **change})


def test_a_curve_is_traced_and_a_study_is_run():
    inputs, _ = shades(10)
    with pytest.raises(InvalidArgument, match=r"use sf\.trace"):
        study(inputs, sf.SequentialCurve(0.0, 0.5)).run()
    single = sf.Study(linear_model(), points(), sf.perturb.LinfNoise(0.1), sf.BuSun(0.1, 0.1))
    with pytest.raises(InvalidArgument, match=r"use study\.run"):
        sf.trace(single)
    with pytest.raises(InvalidArgument, match="at least one"):
        sf.trace({})


@pytest.mark.parametrize(
    ("text", "kind", "low", "high"),
    [
        ("blur:0..2", "blur", 0, 2),
        ("blur:1.5", "blur", 0, 1.5),
        ("rotation:-30..10", "rotation", -30, 10),
        ("fog", "fog", 0, None),
        ("rotation", "rotation", 0, 180),
        ("blur:s1..s3", "blur", None, None),
        ("blur:2+jpeg:0.5", "chain", 0, 1),
        ("rotation:0..20,edge=black", "rotation", 0, 20),
    ],
)
def test_alterations_are_written_short(text, kind, low, high):
    made, span = parse_alteration(text, (28, 28), sf.Interval(0.0, 1.0))
    assert made.kind == kind
    assert low is None or span.low == low
    assert high is None or span.high == high
    assert span.low < span.high


@pytest.mark.parametrize(
    "text", ["blur:2..0", "blur:-1..1", "nothing:0..1", "linf", "gaussian:0..0"]
)
def test_bad_alterations_are_refused_with_the_value(text):
    with pytest.raises(InvalidArgument, match=text.partition(":")[0]):
        parse_alteration(text)
