"""Suites: their files, the cells they make, and one shared error."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.catalogue.suites import SUITES, Suite, choose_suite, read_suite, suite_of
from surefoot.core.claims import About, Verdict
from surefoot.core.counts import Counts
from surefoot.core.reasons import Why
from surefoot.core.results import Interval
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.errors import InvalidArgument
from surefoot.population.cells import Cell, mean_of_cells, mean_ratio
from surefoot.records.record import Finding
from surefoot.report.provenance import shared_cautions
from surefoot.statistics.stratified_mean import MeanBounds
from surefoot.study.load_files import SELECTION_SEEDS
from surefoot.study.study import CellPlan, cell_seed, cell_studies, run_suite
from tests.in_words import said_of_earlier_runs
from tests.refusals import refused

ROW = '[[row]]\nperturb = "gaussian"\nlevels = [0.1, 0.2]\n'


def scores(x):
    mean = x.reshape(len(x), -1).mean(axis=1)
    return np.stack([0.5 - mean, mean - 0.5], axis=1)


@pytest.fixture
def images():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 24)
    x = np.clip(0.3 + 0.4 * y[:, None, None, None] + rng.normal(0, 0.3, (24, 1, 8, 8)), 0, 1)
    return x.astype(np.float32), y


def run(images, **options):
    options = {
        "precision": 0.1,
        "store": None,
        "batch": 256,
        "workers": 1,
        "bounds": (0, 1),
    } | options
    return sf.suite(scores, images, progress=False, **options)


def test_every_built_in_suite_can_be_read():
    for name, rows in SUITES.items():
        cells = Suite(name, rows).perturbations((3, 32, 32))
        assert len(cells) == sum(len(row.cells) for row in rows)
    assert len(Suite("", SUITES["corruptions"]).texts) == 75
    assert len(Suite("", SUITES["corruptions-extra"]).texts) == 95


def test_a_note_on_several_cells_is_said_once_and_names_some_of_them(images, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(ROW)
    part = next(iter(run(images, suite=file).parts.values())).record

    def noted(*findings):
        return replace(part, findings=tuple(Finding(f, "warning", "is odd") for f in findings))

    names = [f"cell {i}" for i in range(5)]
    several = shared_cautions({name: noted("this", "that") for name in names[:4]} | {
        names[4]: noted("this")
    })  # fmt: skip
    assert [one.text for one in several] == [
        "Note: this: is odd.", "Note: cell 0, cell 1, cell 2 and 1 more: that: is odd.",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "",
        "row = 3",
        "other = 1\n" + ROW,
        ROW + ROW,
        ROW + '[[row]]\nname = "again"\nperturb = "gaussian"\nlevels = [0.2]\n',
        '[[row]]\nperturb = "gausian"\nlevels = [0.1]\n',
        '[[row]]\nperturb = "gaussian"\nseverities = [6]\n',
        '[[row]]\nperturb = "linf"\nseverities = [3]\n',
        '[[row]]\nperturb = "gaussian"\nlevels = [0.1, 0.1]\n',
        '[[row]]\nperturb = "gaussian"\nlevels = 0.1\n',
        '[[row]]\nperturb = "gaussian"\nlevels = [true]\n',
        '[[row]]\nperturb = "gaussian"\nlevels = [0.1]\nseverities = [1]\n',
        '[[row]]\nperturb = "gaussian"\n',
        '[[row]]\nperturb = "gaussian"\nlevel = [0.1]\n',
        "[[row]]\nlevels = [0.1]\n",
        ROW + '[[row]]\nname = "again"\nperturb = "gaussian:0.20"\n',
        '[[row]]\nperturb = "gaussian"\nseverities = ["a"]\n',
        '[[row]]\nperturb = "gaussian:s3+blur:1"\nseverities = [1]\n',
        "no toml",
    ],
)
def test_a_file_that_is_no_suite_is_refused_in_one_sentence(text, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    words = refused("", read_suite, file)
    assert "mine.toml" in words


def test_a_file_names_its_rows_and_cells(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        '[[row]]\nname = "camera tilt"\nperturb = "rotation:-5..5"\nlevels = [2, 5]\n'
        '[[row]]\nperturb = "fog"\nseverities = [1, 5]\n'
        '[[row]]\nperturb = "motion:2+jpeg:0.5"\n'
        '[[row]]\nname = "mix"\nperturb = "linf:0.5+gaussian:0.3"\n'
        '[[row]]\nname = "weak"\nperturb = "linf:0.1"\n'
    )
    suite = read_suite(file)
    assert list(suite.texts) == [
        "camera-tilt 2", "camera-tilt 5", "fog s1", "fog s5", "motion 2+jpeg:0.5",
        "mix linf:0.5+gaussian:0.3", "weak 0.1",
    ]  # fmt: skip
    assert len(suite.perturbations((3, 32, 32))) == 7


def test_grey_images_have_no_rows_for_colours(images):
    suite = choose_suite("sensor", sf.load_inputs(*images))
    assert {"bayer", "white-balance"} & {row.name for row in suite.rows} == set()
    assert "bayer" in suite.left_out


def test_cells_that_draw_nothing_are_counted_and_the_rest_share_the_error(images):
    study = sf.Study(
        sf.load_model(scores, shape=(1, 8, 8), bounds=(0, 1)), sf.load_inputs(*images),
        sf.perturb.GaussianNoise(0.1), sf.methods.SetMean(0.1, 0.05),
    )  # fmt: skip
    cells = {
        "gaussian 0.2": sf.perturb.GaussianNoise(0.2),
        "gaussian 0.4": sf.perturb.GaussianNoise(0.4),
        "blur 1": sf.perturb.GaussianBlur(1.0),
    }
    studies = cell_studies(study, cells, CellPlan(0.1, error=0.06))
    assert all(one.method.error == pytest.approx(0.02) for one in studies.values())
    assert len({one.seed for one in studies.values()}) == 3
    assert {one.seed % SELECTION_SEEDS for one in studies.values()} == {1}
    everywhere = cell_studies(study, cells, CellPlan(0.1, about=About.POPULATION, error=0.06))
    assert all(one.method.error == pytest.approx(0.02) for one in everywhere.values())


def test_a_cell_keeps_its_seed_whatever_else_is_in_the_suite():
    weak, strong = sf.perturb.GaussianNoise(0.1), sf.perturb.GaussianNoise(0.2)
    assert cell_seed(1, weak) == cell_seed(1, weak) != cell_seed(1, strong)
    assert cell_seed(1, weak) != cell_seed(2, weak)
    assert cell_seed(1, weak, [cell_seed(1, weak)]) == cell_seed(1, weak) + SELECTION_SEEDS


def test_a_suite_says_its_mean_its_weakest_cell_and_every_cell(images, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(f'{ROW}[[row]]\nperturb = "blur"\nlevels = [1]\n')
    result = run(images, suite=file, require=0.01)
    whole, *cells = result.claims
    assert whole.kind == "suite_mean"
    assert (whole.suite, whole.cells, len(cells)) == ("mine", 3, 3)
    assert whole.interval.low <= whole.value <= whole.interval.high
    assert whole.weakest == cells[0].names[0]
    assert {claim.guarantee.error for claim in cells} == {0.0, 0.05}
    assert result.verdicts[0].verdict is Verdict.PASS
    assert len(result.to_frame()) == 3
    assert "mine" in result.explain()


@pytest.mark.parametrize(
    ("intervals", "around", "note", "other"),
    [
        ("range", " (", "In brackets: ", "Behind"),
        ("plus-minus", r" $\pm$ ", r"Behind $\pm$: ", "In brackets"),
    ],
)
def test_the_caption_of_a_table_says_what_its_cells_hold(images, intervals, around, note, other):
    result = run(images, suite=suite_of(["gaussian:0.2", "gaussian:0.4"]))
    lines = result.export(to="latex", table="cells", intervals=intervals).splitlines()
    caption = next(line for line in lines if line.startswith(r"\caption"))
    assert note in caption
    assert other not in caption
    assert sum(line.count(around) for line in lines if line.endswith(r"\\")) == 2


def test_cells_of_the_store_are_not_run_again(images, tmp_path):
    options = {"suite": "noise", "passes": 1, "precision": None, "store": str(tmp_path / "s.db")}
    first = run(images, **options)
    again = run(images, **options)
    assert again.record.claims == first.record.claims
    assert all(part.from_store for part in again.parts.values())


def test_the_mean_over_many_cells_is_narrower_than_the_average_of_their_intervals():
    cells = [Cell(Interval(0.1, 0.5), Counts(400, 280), exact=False)] * 25
    around = mean_of_cells(cells, 0.001)
    assert 0.26 < around.low < 0.3 < around.high < 0.34
    exact = [Cell(Interval(0.5, 0.5), None, exact=True)] * 25
    both = mean_of_cells([*cells, *exact], 0.001)
    assert both.low == pytest.approx((around.low + 0.5) / 2)


def test_without_the_part_of_a_cell_the_average_remains():
    known = Cell(Interval(0.1, 0.5), Counts(400, 280), exact=False)
    assert mean_of_cells([known, replace(known, part=None)], 0.01) == Interval(0.1, 0.5)
    other = MeanBounds(1, 2.0, 0.1, 0.1)
    unequal = replace(known, part=replace(other, weight=3.0))
    assert mean_of_cells([replace(known, part=other), unequal], 0.01) == Interval(0.1, 0.5)


def test_what_cannot_be_asked_of_a_suite_is_refused(images):
    for wrong in (
        {"suite": "none"},
        {"suite": "missing.toml"},
        {"passes": 1},
        {"about": "all"},
        {"precision": None, "passes": 2, "about": "population"},
        {"require": 2},
        {"precision": 0.7},
    ):
        refused("", run, images, **wrong)


def test_several_perturbations_of_estimate_are_a_suite(images, tmp_path):
    options = {"precision": 0.1, "store": str(tmp_path / "s.db"), "workers": 1, "bounds": (0, 1)}
    rows = ["gaussian:0.2", "blur:1", "gaussian:0.4"]
    joint = sf.estimate(scores, images, rows, progress=False, require=0.01, batch=256, **options)
    own = run(images, suite=suite_of(rows), store=options["store"])
    assert joint.record.claims == own.record.claims
    assert all(part.from_store for part in own.parts.values())
    assert joint.verdicts[0].verdict is Verdict.PASS
    assert list(joint.parts) == ["gaussian 0.2", "gaussian 0.4", "blur 1"]
    objects = [sf.perturb.GaussianNoise(0.2), sf.perturb.GaussianBlur(1.0)]
    assert list(suite_of(objects).texts) == ["gaussian 0.2", "blur 1"]
    for wrong in ({"each": 0.1}, {"levels": [0.1, 0.2]}, {"require_each": 0.5}):
        with pytest.raises(InvalidArgument, match="one perturbation"):
            sf.estimate(
                scores, images, rows, progress=False, **{**options, "precision": None, **wrong}
            )
    for given in ([], ["gaussian:0.2"] * 2, ["gaussian:0.2", "gausian:0.1"]):
        refused("", sf.estimate, scores, images, given, progress=False, **options)


def test_models_are_compared_under_several_perturbations_at_one_error(images, tmp_path):
    def other(x):
        return -scores(x)

    store = str(tmp_path / "s.db")
    options = {"each": 0.2, "store": store, "workers": 1, "bounds": (0, 1), "progress": False}
    perturbations = ["gaussian:0.2", "blur:1"]
    result = sf.compare(
        {"good": scores, "bad": other}, images, perturbations, not_worse=0.1, **options
    )
    assert result.details.along == "perturbed model"
    pairs = [claim for claim in result.claims if claim.kind == "difference"]
    assert [pair.names for pair in pairs] == [
        tuple(f"{model} under {text}" for model in ("good", "bad")) for text in perturbations
    ]
    assert {claim.guarantee.error for claim in result.claims} == {0.05}
    assert [claim.verdict for claim in result.verdicts] == [Verdict.UNDECIDED] * 2
    accepted = result.require(not_worse=("good", 0.1), accept_clean_accuracy=True)
    assert [claim.verdict for claim in accepted.verdicts] == [Verdict.PASS] * 2
    alone = sf.compare({"good": scores, "bad": other}, images, "gaussian:0.2", **options)
    assert all(part.from_store for part in alone.parts.values())
    assert alone.claims[1].interval.width < pairs[0].interval.width
    with pytest.raises(InvalidArgument, match="one perturbation"):
        sf.compare(
            {"good": scores, "bad": other}, images, perturbations, reference=[1, 2], **options
        )


def test_the_mean_of_ratios_is_within_what_parts_and_sums_allow():
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, y = rng.uniform(0.1, 4, 15), rng.uniform(0.5, 4.5, 15)
        above = [Interval(max(0.0, a - 0.1), a + 0.1) for a in x]
        below = [Interval(b - 0.1, b + 0.1) for b in y]
        sums = [Interval(float(one.sum()) - 0.2, float(one.sum()) + 0.2) for one in (x, y)]
        around = mean_ratio(above, below, *sums)
        ends = [a.low / b.high for a, b in zip(above, below, strict=True)]
        assert around.low <= (x / y).mean() <= around.high
        assert around.low > np.mean(ends)


def test_a_baseline_adds_the_mce_and_halves_the_error_of_each_model(images, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(f'{ROW}[[row]]\nperturb = "blur"\nlevels = [1]\n')

    result = run(images, suite=file, baseline=lambda x: scores(x)[:, ::-1])
    mean, ratio, *cells = result.claims
    assert (ratio.kind, ratio.rows, len(cells)) == ("corruption_error", 2, 3)
    assert ratio.interval.low <= ratio.value < ratio.interval.high < 1
    assert ratio.guarantee.error == mean.guarantee.error == 0.05
    assert result.parts["gaussian 0.1"].record.study.method.number("error") == 0.05 / 2 / 3
    assert len(result.details.members) == 6
    never = run(images, suite=file, baseline=lambda x: 2 * scores(x)).claims[1]
    assert never.interval is None
    assert never.reason.why is Why.BASELINE_RIGHT


def test_a_suite_that_is_run_again_pays_for_it(images, tmp_path):
    """The verdict is one-sided at the whole error, less what the runs before have spent."""
    rows = suite_of(["gaussian:0.2", "gaussian:0.4"])
    store = str(tmp_path / "s.db")
    first, again = (run(images, suite=rows, store=store, seed=seed) for seed in (1, 2))
    assert [part.record.rung for part in first.parts.values()] == [0, 0]
    assert [part.record.rung for part in again.parts.values()] == [1, 1]
    mean = first.claims[0]
    for least, said in ((again.claims[0].value - 1e-9, "note"), (1e-9, "fact")):
        part = again.parts["gaussian 0.2"].record
        assert said_of_earlier_runs(again.require(least=least), part) == said

    def passed(result, least):
        return result.require(least=least).verdicts[0].verdict is Verdict.PASS

    steps = np.linspace(mean.interval.low - 0.1, mean.value, 400)
    reached = [max(least for least in steps if passed(one, least)) for one in (first, again)]
    assert reached[0] > mean.interval.low
    assert again.claims[0].value - reached[1] > mean.value - reached[0]


@pytest.mark.parametrize(
    ("finer", "why"),
    [
        ({"passes": 2}, Why.LIKELY_DECIDES),
        ({}, Why.PRECISION_LIKELY_DECIDES),
        ({"about": "population"}, Why.LIKELY_DECIDES),
    ],
    ids=["passes", "precision", "population"],
)
def test_an_undecided_suite_says_what_is_likely_to_decide_it(images, finer, why):
    given = {"precision": None} | finer if "passes" in finer else finer
    result = run(images, suite=suite_of(["gaussian:0.2", "gaussian:0.4", "blur:1"]), **given)
    mean = result.claims[0]
    away = result.require(least=mean.value - 0.4 * mean.interval.width).verdicts[0]
    near = result.require(least=mean.value - 1e-9).verdicts[0]
    assert away.verdict is near.verdict is Verdict.UNDECIDED
    forecast = away.reason.values[2]
    assert forecast.why is why
    assert 0.8 <= forecast.values[-1] <= 1
    harder = near.reason.values[2]
    finer_still = harder.values[0] / forecast.values[0]
    assert harder.why is Why.MANY_MAY_DECIDE or not 0.2 < finer_still < 5


def test_a_first_run_goes_on_from_nothing(images, tmp_path):
    """Trials of the forecast are no earlier run: in each cell the first report has none."""
    model = sf.load_model(scores, shape=(1, 8, 8), bounds=(0, 1))
    cells = suite_of(["gaussian:0.2", "gaussian:0.4"]).perturbations((1, 8, 8))
    plan, noise = CellPlan(0.2), next(iter(cells.values()))
    study = sf.Study(model, sf.load_inputs(*images), noise, plan.method(1, 1))
    begun, first = [], {}
    run_suite(
        cell_studies(study, cells, plan), "mine", 0.05, workers=1, on_start=begun.append,
        on_progress=lambda now: first.setdefault(begun[-1], now.trials),
    )  # fmt: skip
    assert first == dict.fromkeys(cells, 0)


def test_a_suite_runs_no_trial_again_that_its_forecast_ran(images, monkeypatch):
    ran, answer = Counter(), SamplingBench.answer

    def counting(bench, tasks):
        ran.update(
            (bench.perturbation, task.subject.name, trial)
            for task in tasks
            for trial in range(task.start, task.stop)
        )
        return answer(bench, tasks)

    monkeypatch.setattr(SamplingBench, "answer", counting)
    run(images, suite=suite_of(["gaussian:s3", "brightness:s3"]))
    again = {(name, trial) for (_, name, trial), times in ran.items() if times > 1}
    assert again == {("00", 0)}  # the one before the first is timed
