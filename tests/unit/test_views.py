"""Images and signals reach a perturbation as such, whatever layout the model wants."""

from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.catalogue.registry import PERTURBATIONS
from surefoot.core.tasks import Task
from surefoot.errors import InvalidArgument
from surefoot.subject.protocols import View
from tests.refusals import refused
from tests.worlds import example

IMAGE_KINDS = [k for k, made in PERTURBATIONS.items() if made.view is View.IMAGE]
rng = np.random.default_rng(5)
CHW = rng.random((6, 3, 8, 10), dtype=np.float32)
HWC = np.ascontiguousarray(CHW.transpose(0, 2, 3, 1))
GREY = rng.random((6, 8, 10), dtype=np.float32)


def scored(x):
    flat = x.reshape(len(x), -1).astype(np.float64)
    half = flat.shape[1] // 2
    total = flat[:, :half].sum(axis=1) - flat[:, half:].sum(axis=1)
    return np.stack([total, -total], axis=1)


def study_of(x, perturbation, shape=None, method=None):
    model = sf.load_model(scored, shape=shape or x.shape[1:], bounds=(0, 1))
    inputs = sf.load_inputs(x, ids=[f"p{i}" for i in range(len(x))])
    return sf.Study(model, inputs, perturbation, method or sf.methods.FixedSize(0.3, 0.3))


def perturbed(study, n=5):
    bench = study.bench()
    return bench.perturbed(Task(study.fitted.subjects()[2], study.perturbation.level, 0, n))


@pytest.mark.parametrize("kind", IMAGE_KINDS)
@pytest.mark.parametrize("x", [CHW, HWC, GREY], ids=["chw", "hwc", "grey"])
def test_level_zero_gives_back_every_image(kind, x):
    if x is GREY and hasattr(PERTURBATIONS[kind], "needs_channels"):
        with pytest.raises(InvalidArgument, match=f"{kind} needs images of 3 channels .* have 1"):
            study_of(x, replace(example(kind), level=0.0))
        return
    made = study_of(x, replace(example(kind), level=0.0))
    np.testing.assert_array_equal(perturbed(made), np.repeat(x[2:3], 5, axis=0))


@pytest.mark.parametrize("kind", ["rotation", "blur", "motion", "elastic", "snow", "occlusion"])
def test_either_layout_meets_the_same_perturbation(kind):
    first, last = (perturbed(study_of(x, example(kind))) for x in (CHW, HWC))
    np.testing.assert_allclose(last.transpose(0, 3, 1, 2), first, atol=1e-6)
    moved = study_of(HWC, example(kind), shape=(3, 8, 10))
    np.testing.assert_allclose(perturbed(moved), first, atol=1e-6)
    assert not np.allclose(first, CHW[2:3], atol=1e-3)


def test_a_flattened_image_is_still_seen_as_one():
    flat = perturbed(study_of(GREY, example("rotation"), shape=(80,)))
    whole = perturbed(study_of(GREY, example("rotation")))
    np.testing.assert_array_equal(flat, whole.reshape(5, 80))


def test_signals_may_have_time_first_or_last():
    x = rng.random((4, 2, 30), dtype=np.float32)
    last = perturbed(study_of(x, example("time-shift")))
    first = perturbed(study_of(np.ascontiguousarray(x.transpose(0, 2, 1)), example("time-shift")))
    np.testing.assert_allclose(first.transpose(0, 2, 1), last, atol=1e-6)


def test_images_are_not_signals_and_rows_are_not_images():
    with pytest.raises(InvalidArgument, match="rotation needs images"):
        study_of(rng.random((4, 6), dtype=np.float32), example("rotation"))
    refused("gain needs signals", study_of, CHW, example("gain"))


def test_another_frame_or_another_layout_is_another_study():
    flat = rng.random((6, 48), dtype=np.float32)
    wide, tall = (study_of(flat.reshape(6, *f), example("rotation"), shape=(48,))
                  for f in ((6, 8), (8, 6)))  # fmt: skip
    assert wide.digest != tall.digest
    moved = study_of(HWC, sf.perturb.LinfNoise(0.1), shape=(3, 8, 10))
    there = study_of(CHW, sf.perturb.LinfNoise(0.1))
    assert moved.digest != there.digest


def test_a_part_that_is_out_of_bounds_is_refused_inside_a_chain():
    with pytest.raises(InvalidArgument, match=r"linf: level must lie within .*got 8"):
        study_of(CHW, sf.perturb.Chain((sf.perturb.LinfNoise(8.0),)))


@pytest.mark.parametrize("kind", IMAGE_KINDS)
def test_only_what_draws_nothing_is_the_same_in_every_trial(kind):
    made, inputs = example(kind), sf.load_inputs(CHW)
    from surefoot.engine.sampling_bench import draws_nothing, to_view
    from surefoot.engine.streams import stream

    x = to_view(inputs.x[:1], inputs, made.view)
    drawn = made.draw(stream(1, "a", kind, 0, x), 8, x.shape[1:])
    seen_alike = made.apply(x, drawn, made.level, sf.results.Interval(0.0, 1.0))
    alike = bool((seen_alike == seen_alike[:1]).all())
    assert draws_nothing(made, inputs) == alike
    assert not draws_nothing(sf.perturb.RandomLevel(made.level, made), inputs)
    chain = sf.perturb.Chain((made, sf.perturb.Contrast(0.5)))
    assert draws_nothing(chain, inputs) == alike
