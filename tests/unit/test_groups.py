"""Inputs that come in groups: how they are read, and what a study says of them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import surefoot as sf
from surefoot.core.assumptions import Assumed
from surefoot.core.claims import About, Continues, Sampling
from surefoot.errors import InvalidArgument
from surefoot.inputs import Selection
from surefoot.population import Mean
from surefoot.population.groups import Group
from surefoot.records.options import FileOptions
from surefoot.report.sentences import sentence
from surefoot.study.load_files import load_files
from tests.in_words import condition
from tests.refusals import refused
from tests.shell import in_shell
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
    refused("inputs of several classes", result.require, of_each_class=0.9)
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
    refused("differ in their population", sf.compare, mixed)
    other = study(inputs=grouped(names=NAMES[::-1]), method=LESS)
    refused("studied on different inputs", sf.compare, {"a": studies["a"], "b": other})


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


def test_a_run_with_groups_is_read_again_from_its_files(cwd):
    relu_net(cwd / "m.onnx", (1, 6, 6))
    x = batch(6, (1, 6, 6)).astype(np.float32)
    np.savez("x.npz", x=x, y=[0, 0, 1, 1, 2, 2], clip=list("aabbcc"))
    words = ["estimate", "m.onnx", "x.npz", "--group", "clip", "--random", "2", "--bounds", "0,1"]
    done = in_shell(*words, "--perturb", "linf:0.1", "--each", "0.3", "--json")
    printed = json.loads(done.stdout)
    assert printed["spec"]["inputs"]["groups"] == 2
    assert "2 groups drawn at random" in printed["spec"]["inputs"]["selection"]
    assert sf.read_study("surefoot.db").digest == printed["digest"]


def test_groups_are_read_from_a_list_and_stay_with_their_inputs():
    inputs = grouped()
    assert inputs.groups == tuple(NAMES)
    assert inputs.subset([2, 0]).groups == ("b", "a")
    assert "groups given" in inputs.reading
    assert points().groups == ()


def test_numbers_name_groups_and_7_and_7_0_are_the_same():
    x = np.zeros((3, 4))
    assert sf.load_inputs(x, groups=np.array([7, 7, 8])).groups == ("7", "7", "8")
    assert sf.load_inputs(x, groups=[7, 7.0, " 7 "]).groups == ("7", "7", "7")


@pytest.mark.parametrize("empty", ["", "  ", None, float("nan")])
def test_an_input_without_a_group_is_refused(empty):
    with pytest.raises(InvalidArgument, match=r"input 2 of 3 has no group: name one for every"):
        sf.load_inputs(np.zeros((3, 4)), groups=["a", empty, "b"])


@pytest.mark.parametrize("groups", [["a"], ["a"] * 4, [["a"], ["b"], ["c"]], {"a", "b", "c"}, 3])
def test_groups_that_do_not_fit_the_inputs_are_refused(groups):
    with pytest.raises(InvalidArgument, match=r"one name for each|one for each input"):
        sf.load_inputs(np.zeros((3, 4)), groups=groups)


def test_an_npz_file_has_an_array_of_groups(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, x=np.zeros((3, 4)), groups=["p", "q", "p"], video=[1, 1, 2])
    assert sf.load_inputs(path).groups == ("p", "q", "p")
    assert sf.load_inputs(path, groups="video").groups == ("1", "1", "2")
    assert "groups from array video" in sf.load_inputs(path, groups="video").reading
    with pytest.raises(InvalidArgument, match=r"no array 'patient' for groups .* x, groups, video"):
        sf.load_inputs(path, groups="patient")
    np.savez(path, x=np.zeros((3, 4)))
    refused("no array 'groups' for groups", sf.load_inputs, path, groups="groups")
    np.savez(path, x=np.zeros((3, 4)), groups=np.array([None, "a", "b"], dtype=object))
    refused("holds Python objects", sf.load_inputs, path)


def test_an_npy_file_of_inputs_has_its_groups_beside_it(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 4)))
    np.save(tmp_path / "g.npy", [4, 4, 5])
    inputs = sf.load_inputs(tmp_path / "x.npy", groups=str(tmp_path / "g.npy"))
    assert inputs.groups == ("4", "4", "5")
    with pytest.raises(InvalidArgument, match=r"has no column 'patient' for groups: use --group"):
        sf.load_inputs(tmp_path / "x.npy", groups="patient")


@pytest.fixture
def images(tmp_path):
    for number, name in enumerate(("p1_a", "p1_b", "p2_a")):
        folder = tmp_path / "data" / str(number % 2)
        folder.mkdir(parents=True, exist_ok=True)
        Image.new("L", (6, 6), 40 * number).save(folder / f"{name}.png")
    rows = ["file,label,patient", "data/1/p1_b.png,1,one", "data/0/p1_a.png,0,one"]
    (tmp_path / "list.csv").write_text("\n".join([*rows, "data/0/p2_a.png,0,two"]) + "\n")
    return tmp_path


def test_a_csv_of_images_has_a_column_of_groups(images):
    inputs = sf.load_inputs(images / "list.csv", groups="patient")
    assert inputs.groups == ("one", "one", "two")
    with pytest.raises(InvalidArgument, match=r"no column 'video' .* columns file, label, patient"):
        sf.load_inputs(images / "list.csv", groups="video")
    (images / "list.csv").write_text("file,label,patient\ndata/0/p1_a.png,0,\n")
    refused("input 1 of 1 has no group", sf.load_inputs, images / "list.csv", groups="patient")


@pytest.mark.parametrize(
    ("pattern", "groups"),
    [
        (r"p\d", ("p1", "p2", "p1")),
        (r"(p\d)_", ("p1", "p2", "p1")),
        (r"(\w)/(?P<group>p\d)", ("p1", "p2", "p1")),
        (r"^(.*)/", ("0", "0", "1")),
    ],
)
def test_file_names_name_groups_by_a_pattern(images, pattern, groups):
    assert sf.load_inputs(images / "data", groups=f"pattern:{pattern}").groups == groups


def test_a_pattern_that_names_no_group_is_refused_with_the_file(images):
    with pytest.raises(InvalidArgument, match=r"names no group in '0/p2_a\.png'"):
        sf.load_inputs(images / "data", groups="pattern:p1")
    refused(r"is no regular expression", sf.load_inputs, images / "data", groups="pattern:(p")


@pytest.mark.parametrize("pattern", ["(a+)+!", "(a|aa)+!", "^a*a*a*a*a*a*!", ".*a.*a.*a.*!"])
def test_a_pattern_that_could_take_for_ever_is_refused(pattern):
    x, name = np.zeros((1, 2), np.float32), "a" * 200
    with pytest.raises(InvalidArgument, match=r"for ever|too many for the 200 characters"):
        sf.load_inputs(x, [0], ids=[name], groups=f"pattern:{pattern}")


def test_random_draws_whole_groups():
    inputs = grouped()
    chosen = sf.select(inputs, linear_model(), Selection(random=2, seed=3))
    assert len(set(chosen.groups)) == 2
    for group in set(chosen.groups):
        assert chosen.groups.count(group) == NAMES.count(group)
    assert "2 groups drawn at random (seed 3)" in chosen.selection


def test_a_large_group_is_drawn_as_often_as_a_small_one():
    inputs = grouped(11, ["a"] * 10 + ["b"])
    drawn = [
        sf.select(inputs, linear_model(), Selection(random=1, seed=s)).groups[0] for s in range(200)
    ]
    assert 70 <= drawn.count("b") <= 130


def test_first_takes_whole_groups_and_classes_their_own():
    inputs = grouped()
    assert set(sf.select(inputs, linear_model(), Selection(first=2)).groups) == {"a", "b"}
    pure = replace(inputs, labels=np.isin(NAMES, ["a", "b"]).astype(np.int64))
    of_class = sf.select(pure, linear_model(), Selection(classes=(1,)))
    assert set(of_class.groups) == {"a", "b"}
    assert "the first 1 group" in sf.select(inputs, linear_model(), Selection(first=1)).selection


@pytest.mark.parametrize("selection", [Selection(correct_only=True), Selection(classes=(0,))])
def test_inputs_are_not_taken_out_of_their_groups(selection):
    """Groups in which nothing is left were dropped, and the rest called a sample of groups."""
    with pytest.raises(InvalidArgument) as refusal:
        sf.select(grouped(), linear_model(), selection)
    assert refusal.value.option == ("correct_only" if selection.correct_only else "classes")


def test_more_groups_than_there_are_cannot_be_drawn(tmp_path):
    relu_net(tmp_path / "m.onnx", (1, 6, 6))
    np.savez(tmp_path / "x.npz", x=batch(6, (1, 6, 6)), y=[0, 0, 1, 1, 2, 2], clip=list("aabbcc"))
    options = FileOptions(group="clip", random=4, bounds="0,1")
    with pytest.raises(InvalidArgument, match=r"--random. 4: .* has 3 groups; write 3 or less"):
        load_files(options, [str(tmp_path / "m.onnx")], str(tmp_path / "x.npz"), 1)
