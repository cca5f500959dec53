"""What a study says of inputs that come in groups."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import surefoot as sf
from surefoot.cli.main import app
from surefoot.core.assumptions import Assumed
from surefoot.core.claims import About, Continues, Sampling
from surefoot.errors import InvalidArgument
from surefoot.population import Mean
from surefoot.population.groups import Group
from surefoot.report.sentences import sentence
from tests.in_words import condition
from tests.unit.small_models import batch, relu_net
from tests.worlds import SHAPE, linear_model, points, study

NAMES = ["a", "a", "b", "c", "c", "c", "a", "b", "d", "d", "e", "a"]
LESS = sf.methods.FixedSize(0.35, 0.1)


def grouped(n=12, names=NAMES):
    return sf.load_inputs(points(n), groups=names[:n])


def of_kind(result, kind):
    return [claim for claim in result.claims if claim.kind == kind]


def test_groups_are_part_of_what_names_a_study():
    plain, one = study(method=LESS), study(inputs=grouped(), method=LESS)
    other = study(inputs=grouped(names=["x", *NAMES[1:]]), method=LESS)
    assert len({plain.digest, one.digest, other.digest}) == 3
    assert (one.spec.inputs.groups, plain.spec.inputs.groups) == (5, 0)
    assert one.spec.population.sampling == "groups of inputs"


def test_a_claim_about_a_class_assumes_a_sample_of_that_class():
    _, *classes = of_kind(study(method=LESS).run(), "mean_population")
    assert [one.about.of for one in classes] == [About.CLASS] * 2
    assert all(one.guarantee.assumptions == (Assumed.SAMPLED_WITHIN,) for one in classes)


def test_a_claim_about_the_population_says_that_groups_were_sampled():
    result = study(inputs=grouped(), method=LESS).run()
    (claim, *classes) = of_kind(result, "mean_population")
    assert (claim.about.sampling, claim.about.groups, claim.about.inputs) == (
        Sampling.GROUPED, 5, 12,
    )  # fmt: skip
    assert claim.continues is Continues.LADDER
    said = sentence(claim)
    assert said.startswith("If these 5 groups are an independent random sample of groups and the ")
    assert all("averaged over groups" in sentence(one) for one in classes)
    assert all(one.about.groups <= 5 for one in classes)
    assert "in 5 groups" in dict(result.view.provenance[0][1])["Selection"]
    plain = json.loads(result.to_json())
    assert plain["claims"][1]["about"]["groups"] == 5
    assert plain["inputs"][0]["group"] == "a"


def test_claims_about_these_inputs_are_the_same_with_and_without_groups():
    with_, without = (study(inputs=i, method=LESS).run() for i in (grouped(), points()))
    for kind in ("mean_set", "worst"):
        assert of_kind(with_, kind) == of_kind(without, kind)
    assert [row.result for row in with_.inputs] == [row.result for row in without.inputs]


def test_groups_of_one_input_give_the_interval_of_single_inputs():
    local = [row.result for row in study(method=LESS, by_class=False).run().record.inputs]
    each = [Group((result,)) for result in local]
    a, b = (Mean(0.05).conclude(sample, 0.05).interval for sample in (local, each))
    assert a == b


def test_one_group_is_a_sample_of_one():
    result = study(inputs=grouped(names=["a"] * 12), method=LESS, by_class=False).run()
    claim = of_kind(result, "mean_population")[0]
    assert claim.interval.width > 0.8
    assert sentence(claim).startswith("If this one group is an independent random sample of groups")


def test_classes_are_compared_by_the_averages_of_groups_where_each_group_has_one_class():
    labels = points(12).labels
    inputs = grouped(names=[f"{label}{i // 2}" for i, label in enumerate(labels)])
    claim = of_kind(study(inputs=inputs, method=LESS).run(), "classes")[0]
    assert "agree in which share of their groups fails how often" in condition(claim.guarantee)
    assert claim.about.groups == len(set(inputs.groups))


def test_requirements_are_decided_by_groups():
    whole = study(inputs=grouped(), method=LESS).run().require(0.01).verdicts[0]
    assert whole.about.groups == 5
    names = [f"{label}{i // 4}" for i, label in enumerate(points(12).labels)]
    apart = study(inputs=grouped(names=names), method=LESS).run().require(of_each_class=0.99)
    every = apart.verdicts[0]
    assert (every.about.of, every.about.groups) == (About.CLASS, len(set(names)))


def test_of_classes_that_share_groups_nothing_is_required():
    result = study(inputs=grouped(names=["a", "b"] * 6), method=LESS).run()
    assert not any(claim.about.of is About.CLASS for claim in result.claims)
    with pytest.raises(InvalidArgument, match="inputs of several classes"):
        result.require(of_each_class=0.9)
    with pytest.raises(InvalidArgument, match="leave out by_class"):
        study(inputs=grouped(names=["a", "b"] * 6), method=LESS, by_class=True)


def test_models_are_compared_group_by_group():
    studies = {
        name: study(inputs=grouped(), method=LESS, model=model)
        for name, model in (("a", linear_model()), ("b", sf.load_model(backwards, shape=SHAPE)))
    }
    result = sf.compare(studies).require(not_worse=("a", 0.9))
    for kind in ("difference", "best", "mean_population"):
        (claim, *_) = of_kind(result, kind)
        assert claim.about.groups == 5
    mixed = {"a": studies["a"], "b": study(inputs=points(), method=LESS)}
    with pytest.raises(InvalidArgument, match="differ in their population"):
        sf.compare(mixed)
    other = study(inputs=grouped(names=NAMES[::-1]), method=LESS)
    with pytest.raises(InvalidArgument, match="studied on different inputs"):
        sf.compare({"a": studies["a"], "b": other})


def backwards(x):
    return 0.5 * x.astype(np.float64).sum(axis=1)[:, None] * np.array([[1.0, -1.0]])


def test_decisions_and_tails_speak_of_groups():
    decided = study(inputs=grouped(), method=sf.methods.KappaTest(0.2, 0.1, 200)).run()
    claim = of_kind(decided, "share_kappa")[0]
    assert claim.continues is Continues.ONCE
    tail = study(inputs=grouped(), method=sf.methods.NormalTail(draws=40, error=0.1)).run()
    assert of_kind(tail, "mean_population")[0].about.groups == 5


def test_a_population_given_by_hand_takes_groups_for_the_sample():
    over = sf.population.Mean(0.2)
    result = study(inputs=grouped(), method=LESS, population=over).run()
    assert of_kind(result, "mean_population")[0].about.sampling is Sampling.GROUPED
    with pytest.raises(InvalidArgument, match="takes single inputs for the sample"):
        study(inputs=grouped(), method=LESS,
              population=sf.population.Mean(0.2, Sampling.STRATIFIED))  # fmt: skip
    with pytest.raises(InvalidArgument, match="but the inputs have none: name the group"):
        study(method=LESS, population=sf.population.Mean(0.2, Sampling.GROUPED))


def test_a_curve_of_the_population_is_refused_and_one_of_these_inputs_is_not():
    blur = sf.perturb.LinfNoise()
    curve = sf.methods.SequentialCurve(0.0, 1.0, (0.8,))
    with pytest.raises(InvalidArgument, match=r"use the scope 'set' \(--scope set\)"):
        study(inputs=grouped(), perturbation=blur, method=replace(curve, scope="population"))
    claims = study(inputs=grouped(), perturbation=blur, method=curve).run().claims
    assert all(claim.about.groups == 0 for claim in claims)


@pytest.mark.parametrize("within", [None, 0.01])
def test_the_search_for_a_quantile_is_refused(tmp_path, within):
    model = sf.load_model(relu_net(tmp_path / "m.onnx", (1, 6, 6)), bounds=(0, 1))
    inputs = sf.load_inputs(batch(6, (1, 6, 6)), [0, 0, 1, 1, 2, 2], groups=list("aabbcc"))
    with pytest.raises(InvalidArgument, match=r"leave out --quantile-only and --within"):
        sf.Study(model, inputs, sf.perturb.LinfNoise(), sf.methods.CriticalQuantile(within=within))


@pytest.mark.slow
def test_radii_speak_of_groups_and_are_not_compared_in_pairs(tmp_path):
    model = sf.load_model(relu_net(tmp_path / "m.onnx", (1, 6, 6)), bounds=(0, 1))
    inputs = sf.load_inputs(batch(6, (1, 6, 6)), [0, 0, 1, 1, 2, 2], groups=list("aabbcc"))
    method = sf.methods.CriticalLevel(0.05, 0.5, quantile=0.5, samples=0)
    one = sf.Study(model, inputs, sf.perturb.LinfNoise(), method, by_class=True)
    result = one.run(workers=1)
    whole, *classes = of_kind(result, "radius_quantile")
    assert (whole.about.sampling, whole.about.groups) == (Sampling.GROUPED, 3)
    assert {c.about.groups for c in classes} <= {1, 2, 3}
    assert [row.estimator for row in result.details.quantiles] == ["groups"]
    both = sf.compare({"a": one, "b": one}, workers=1)
    assert not of_kind(both, "quantile_difference")


def test_whole_groups_may_be_added_and_parts_of_groups_make_another_study(tmp_path):
    model = sf.load_model(relu_net(tmp_path / "m.onnx", (1, 6, 6)), bounds=(0, 1))
    x, store = batch(8, (1, 6, 6)), str(tmp_path / "s.db")

    def run(names):
        inputs = sf.load_inputs(
            x[: len(names)], ids=list("01234567"[: len(names)]), groups=list(names)
        )
        return sf.Study(model, inputs, sf.perturb.LinfNoise(0.1), LESS).run(store)

    first = run("aab").record
    assert run("aabcc").record.extends == first.digest
    assert run("aabb").record.extends == "", "group b got another input"
    assert run("abbd").record.extends == "", "an input changed its group"


def test_a_run_with_groups_is_read_again_from_its_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    relu_net(tmp_path / "m.onnx", (1, 6, 6))
    x = batch(6, (1, 6, 6)).astype(np.float32)
    np.savez("x.npz", x=x, y=[0, 0, 1, 1, 2, 2], clip=list("aabbcc"))
    words = ["estimate", "m.onnx", "x.npz", "--group", "clip", "--random", "2", "--bounds", "0,1"]
    done = CliRunner().invoke(app, [*words, "--perturb", "linf:0.1", "--each", "0.3", "--json"])
    printed = json.loads(done.stdout)
    assert printed["spec"]["inputs"]["groups"] == 2
    assert "2 groups drawn at random" in printed["spec"]["inputs"]["selection"]
    assert sf.read_study("surefoot.db").digest == printed["digest"]
