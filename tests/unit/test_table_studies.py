"""Tables: how they are read, and studies of them with names and units in record and page."""

import re
from dataclasses import replace

import numpy as np
import pytest

import surefoot as sf
from surefoot.catalogue.methods import PopulationMean
from surefoot.catalogue.parse import at_level, parse_range, written_level
from surefoot.core.assumptions import Assumed
from surefoot.errors import InvalidArgument
from surefoot.perturb import TableNoise, load_features
from surefoot.subject.inputs import Feature, Inputs
from tests.refusals import refused

COLUMNS = (
    Feature("age", "years", "age [years]", "int64"),
    Feature("dose"),
    Feature("job", dtype="text", categories=("admin", "boss", "clerk")),
    Feature("site"),
)
METHOD = sf.methods.FixedSize(0.2, 0.1)


def inputs_of(n=40, seed=0, features=COLUMNS):
    rng = np.random.default_rng(seed)
    x = np.stack(
        [rng.integers(20, 80, n), rng.normal(0, 0.5, n), rng.integers(0, 3, n), np.full(n, 7)],
        axis=1,
    )
    ids = tuple(f"{i:03d}" for i in range(n))
    return Inputs(x.astype(np.float32), None, ids, "table.csv", features=features)


def scores(batch):
    high = (batch[:, 0] - 50) / 10 + batch[:, 1] + (batch[:, 2] == 1)
    return np.stack([np.zeros_like(high), high], axis=1)


class Estimator:
    """One that can be pickled, so that its digest covers it; it takes numbers or a frame."""

    def predict_proba(self, rows):
        age = np.asarray(rows)[:, 0].astype(float)
        return np.stack([age < 50, age >= 50], axis=1).astype(float)


def study_of(inputs, perturbation="table:0.1sd", features=None):
    model = sf.load_model(scores, shape=(4,), scores="logits", features=features or ())
    if isinstance(perturbation, str):
        perturbation = sf.parse_perturbation(perturbation)
    return sf.Study(model, inputs, perturbation, METHOD)


def test_the_scales_are_those_of_the_inputs_and_part_of_the_spec():
    inputs = inputs_of()
    study = study_of(inputs)
    noise = {f["name"]: f["noise"] for f in study.spec.perturbation.options["features"]}
    spread = inputs.x.astype(np.float64).std(axis=0)
    assert noise == {
        "age": pytest.approx(spread[0], rel=1e-5),
        "dose": pytest.approx(spread[1], rel=1e-5),
        "job": 0,
        "site": 0,
    }
    assert f"age sd {spread[0]:.3g} years, whole numbers" in study.spec.words.perturbation
    assert study.digest != study_of(inputs_of(seed=1)).digest


@pytest.mark.parametrize("method", [METHOD, PopulationMean(0.1, 0.05)])
def test_a_verdict_on_the_population_says_that_the_scales_come_from_these_inputs(method):
    result = replace(study_of(inputs_of()), method=method).run(workers=1)
    claims = [c for c in result.claims if c.kind == "mean_population"]
    assert claims
    (verdict,) = result.require(0.1).verdicts
    assert verdict.verdict is sf.Verdict.PASS
    assert all(Assumed.GIVEN_SCALES in c.guarantee.assumptions for c in (*claims, verdict))


def test_integers_stay_integers_categories_and_constants_stay():
    study = study_of(inputs_of(), "table:0.5sd")
    rows = np.stack([study.replay("003", trial).perturbed for trial in range(50)])
    clean = study.inputs.x[3]
    assert len(set(rows[:, 0])) > 5
    assert np.array_equal(rows[:, 0], np.round(rows[:, 0]))
    assert np.std(rows[:, 1]) > 0
    assert (rows[:, 2:] == clean[2:]).all()


def test_a_dict_replaces_scales_units_and_makes_categories_change():
    stated = load_features({"dose": {"noise": 2.0, "unit": "mg"}, "job": 1.0, "age [years]": 0})
    study = study_of(inputs_of(), TableNoise(0.5, stated, relative_to="sd"))
    words = study.spec.words.perturbation
    assert "dose sd 2 mg; job to another of admin, boss, clerk with probability 1" in words
    rows = np.stack([study.replay("003", trial).perturbed for trial in range(60)])
    assert (rows[:, 0] == study.inputs.x[3, 0]).all()
    assert set(rows[:, 2]) == {0, 1, 2}


def test_a_toml_file_says_the_same_as_a_dict(tmp_path):
    path = tmp_path / "columns.toml"
    path.write_text('[[feature]]\nname = "job"\nnoise = 0.5\ncategories = ["boss", "clerk"]\n')
    by_file = study_of(inputs_of(), f"table:0.1sd,features={path}")
    stated = load_features({"job": {"noise": 0.5, "categories": ["boss", "clerk"]}})
    by_dict = study_of(inputs_of(), TableNoise(0.1, stated, relative_to="sd"))
    assert by_file.digest == by_dict.digest
    job = by_file.spec.perturbation.options["features"][2]
    assert (job["values"], job["categories"]) == ([1.0, 2.0], ["boss", "clerk"])


REFUSED = [
    ({"weight": 1.0}, "no column 'weight': its columns are age, dose, job, site"),
    ({"job": {"noise": 1.0, "categories": ["chief", "boss"]}}, "no category 'chief': it has admin"),
    ({"job": {"noise": 1.0, "values": [0, 1]}}, "name those it may take as categories"),
    ({"age": 0, "dose": 0}, "nothing changes in table.csv"),
    ({"age": 1.0, "age [years]": 2.0}, "described twice"),
]


@pytest.mark.parametrize(("stated", "sentence"), REFUSED)
def test_descriptions_that_do_not_fit_the_table_are_refused(stated, sentence):
    with pytest.raises(InvalidArgument, match=sentence):
        study_of(inputs_of(), TableNoise(0.1, load_features(stated), relative_to="sd"))


def test_a_spread_needs_rows_that_are_tables_and_a_study():
    refused("at least 2 inputs", study_of, inputs_of(n=1))
    with pytest.raises(InvalidArgument, match="spread of each column is that over the inputs"):
        TableNoise(0.1, relative_to="sd").draw(None, 1, (4,))
    refused(r"table:0\.1sd", sf.parse_perturbation, "table:0.1")


def test_the_notation_of_spreads_takes_ranges_levels_and_combinations():
    assert sf.parse_perturbation("table:0.1sd") == TableNoise(0.1, relative_to="sd")
    perturbation, levels = parse_range("table:0..0.5sd")
    assert (perturbation, levels.high) == (TableNoise(None, relative_to="sd"), 0.5)
    assert sf.parse_perturbation(at_level("table:0.1sd", 0.3)) == TableNoise(0.3, relative_to="sd")
    assert written_level("table:sd") == ""
    both = sf.parse_perturbation("table:0.1sd+gaussian:0.2")
    assert [part.kind for part in both.parts] == ["table", "gaussian"]
    assert study_of(inputs_of(), "table:0.1..0.2sd").perturbation.inner.features


def test_noise_that_makes_categories_something_else_is_refused():
    refused("job is one of admin, boss, clerk, but becomes", study_of(inputs_of(), "linf:0.1").run)


def test_doubts_about_columns_are_in_the_findings():
    numbers = tuple(replace(f, categories=(), dtype="int64") for f in COLUMNS)
    of_linf = study_of(inputs_of(features=numbers), "linf:0.1").run().record.findings
    assert any("not whole numbers any more: age" in f.finding for f in of_linf)
    small = study_of(inputs_of(), "table:0.001sd").run().record.findings
    assert any("hardly ever changed" in f.finding and "age" in f.finding for f in small)
    assert any("job are given as codes (job: 0 is admin, 2 is clerk)" in f.finding for f in small)


def test_noise_that_is_strong_in_one_column_and_weak_in_another_is_said_with_the_factor():
    def remark(perturb, scale=1.0):
        numbers = tuple(replace(f, categories=(), dtype="float64") for f in COLUMNS)
        inputs = inputs_of(features=numbers)
        inputs = replace(inputs, x=(inputs.x * [scale, 1, 1, 1]).astype(np.float32))
        found = study_of(inputs, perturb).run().record.findings
        return next((f.finding for f in found if "factor" in f.finding), "")

    said = remark("gaussian:0.1")  # standard deviations of 17 years, and of 0.5
    assert re.search(r"gaussian changes dose by about 0\.\d+ .* and age by about 0\.0", said)
    assert "table:0.1sd" in said
    assert 25 < float(re.search(r"a factor of (\d+)", said)[1]) < 45
    assert "a factor of" in remark("linf:0.1..0.2")
    assert remark("gaussian:0.1", scale=0.05) == ""  # 0.9, 0.5 and 0.8
    assert remark("table:0.1sd") == ""
    stated = load_features({"age": 0.1, "dose": 5.0})
    assert remark(TableNoise(1.0, stated)) == ""


def test_the_digest_covers_what_codes_stand_for():
    renamed = (*COLUMNS[:2], replace(COLUMNS[2], categories=("x", "y", "z")), COLUMNS[3])
    heading = (replace(COLUMNS[0], column="age"), *COLUMNS[1:])
    digests = {study_of(inputs_of(features=f)).digest for f in (COLUMNS, renamed, heading)}
    assert len(digests) == 3


def test_evidence_is_not_taken_over_where_codes_stand_for_something_else(tmp_path):
    store = str(tmp_path / "runs.db")
    stated = load_features({"age": 5.0, "dose": 0.1})
    fixed = TableNoise(0.5, stated)
    whole = inputs_of()
    model = sf.load_model(Estimator(), features=whole.features)
    sf.Study(model, whole.subset(range(20)), fixed, METHOD).run(store)
    assert sf.Study(model, whole, fixed, METHOD).run(store).record.extends
    renamed = (*COLUMNS[:2], replace(COLUMNS[2], categories=("x", "y", "z")), COLUMNS[3])
    other = sf.Study(model, replace(whole, features=renamed), fixed, METHOD)
    assert not other.run(store).record.extends


CSV = """\
age [years],income (€),job,member,risk
30,1.5,clerk,True,low
41,2.25,admin,False,high
55,3.1,clerk,False,high
22,0.1,boss,True,low
"""
FEATURES = (
    Feature("age", "years", "age [years]", "int64"),
    Feature("income", "€", "income (€)"),
    Feature("job", dtype="text", categories=("admin", "boss", "clerk")),
    Feature("member", dtype="bool", categories=(False, True)),
)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


def written(tmp_path, text):
    path = tmp_path / "other.csv"
    path.write_text(text, encoding="utf-8")
    return path


def frames(path):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    return pandas.read_csv(path), polars.read_csv(path)


def test_a_csv_file_gives_numbers_codes_names_and_units(table):
    inputs = sf.load_inputs(table, labels="risk")
    assert inputs.features == FEATURES
    assert inputs.x[1].tolist() == [41, 2.25, 0, 0]
    assert inputs.class_names == ("high", "low")
    assert inputs.labels.tolist() == [1, 0, 0, 1]
    assert inputs.frame == ()


def test_every_kind_of_table_gives_the_same_inputs(table, tmp_path):
    pytest.importorskip("pyarrow")
    for frame in frames(table):
        inputs = sf.load_inputs(frame, labels="risk")
        assert inputs.digest() == sf.load_inputs(table, "risk").digest()
        assert (inputs.features, inputs.reading) == (
            FEATURES,
            sf.load_inputs(table, "risk").reading,
        )
        parquet = tmp_path / "table.parquet"
        getattr(frame, "to_parquet", getattr(frame, "write_parquet", None))(parquet)
        assert sf.load_inputs(parquet, "risk").digest() == inputs.digest()


def test_labels_may_stand_beside_the_table(table):
    for frame in frames(table):
        whole = sf.load_inputs(frame, labels="risk")
        columns = [name for name in frame.columns if name != "risk"]
        for labels in (frame["risk"], frame["risk"].to_numpy(), frame["risk"].to_list()):
            assert sf.load_inputs(frame[columns], labels=labels).digest() == whole.digest()


def test_categories_of_a_frame_keep_their_order_and_those_that_do_not_occur(table):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"size": pandas.Categorical(["s", "l", "s"], ["s", "m", "l"], ordered=True)}
    )
    inputs = sf.load_inputs(frame)
    assert inputs.features == (Feature("size", dtype="ordered", categories=("s", "m", "l")),)
    assert inputs.x[:, 0].tolist() == [0, 2, 0]


def test_an_index_with_names_gives_the_ids():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2.0]}, index=["p7", "p3"])
    assert sf.load_inputs(frame).ids == ("p7", "p3")
    assert sf.load_inputs(frame.set_axis([4, 4])).ids == ("0", "1")


def test_class_numbers_and_listed_names_are_read_alike_from_every_table(tmp_path):
    path = written(tmp_path, "a,y\n1.5,3\n2.5,1\n")
    listed = [sf.load_inputs(t, "y", class_names=["1", "3"]) for t in (path, *frames(path))]
    assert [i.labels.tolist() for i in listed] == [[1, 0]] * 3
    plain = [sf.load_inputs(t, "y") for t in (path, *frames(path))]
    assert [i.labels.tolist() for i in plain] == [[3, 1]] * 3


def test_headings_that_differ_in_the_unit_only_stay_whole(tmp_path):
    inputs = sf.load_inputs(written(tmp_path, "age [years],age [days]\n1,2\n3,4\n"))
    assert [f.name for f in inputs.features] == ["age [years]", "age [days]"]


def test_a_column_of_labels_is_never_given_to_the_model_unnoticed(tmp_path):
    path = written(tmp_path, "a,label\n1.5,0\n2.5,1\n")
    assert sf.load_inputs(path, labels="label").x.shape == (2, 1)
    words = refused("say --labels label", sf.load_inputs, path)
    assert "column file" not in words
    mixed = written(tmp_path, "a,b,label\n1.5,2,0\n2.5,cat.png,1\n")
    refused(r"no column file: .* table of values, say --labels label", sf.load_inputs, mixed)


def test_a_csv_list_of_images_is_no_table(tmp_path):
    with pytest.raises(InvalidArgument, match=r"lacks a file or a label|does not exist"):
        sf.load_inputs(written(tmp_path, "file,label\nmissing.png,1\n"))
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"x")
    pytest.importorskip("pyarrow")
    refused("cannot be read as parquet", sf.load_inputs, broken)


UNREADABLE = [
    ("a,b\n1,2\n", {"labels": "c"}, "no column 'c' for the labels: its columns are a, b"),
    ("a,b\n1,\n", {}, r"row 1, column 'b': the value is missing \(''\): fill it in"),
    ("a,b\n1,2\n3,NA\n", {}, r"row 2, column 'b': the value is missing \('NA'\)"),
    ("a,b\n1,2\n3,inf\n", {}, "row 2, column 'b': inf is no finite number"),
    ("a,b\n1,2\n3,1e60\n", {}, "row 2, column 'b': 1e\\+60 is no finite number"),
    ("a,b\n1,2\n3\n", {}, "row 2 has 1 cells below 2 columns"),
    ("a,a\n1,2\n", {}, "two columns 'a'"),
    (",a\n0,2\n", {}, "column 1 has no name"),
    ("a;b\n1;2\n", {}, "separates its columns by semicolons: use commas"),
    ("kind,b\n1,2\n", {"labels": "knd"}, r"no column 'knd' for the labels: do you mean kind\?"),
    ("5.1,3.5\n4.9,3.0\n", {}, "first row must hold the names"),
    ("a,b\n", {}, "no row"),
    ("a\n1\n", {"labels": "a"}, "no column besides the labels"),
    ("id,b\n20240101123,2\n", {}, "20240101123 is larger than 16,777,216"),
    ("a,b\n1,2\n", {"scale": 255.0}, "is a table: leave out --scale"),
    ("a,b\n1,2\n", {"size": (8, 8)}, "resizes images only"),
]


@pytest.mark.parametrize(("text", "options", "sentence"), UNREADABLE)
def test_a_table_that_cannot_be_honoured_is_refused(tmp_path, text, options, sentence):
    refused(sentence, sf.load_inputs, written(tmp_path, text), **options)


def test_missing_values_and_dates_of_frames_are_refused_with_their_place():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for frame in (
        pandas.DataFrame({"a": [1.0, np.nan]}),
        polars.DataFrame({"a": [1.0, None]}),
        polars.DataFrame({"a": [1.0, float("nan")]}),
        pandas.DataFrame({"a": ["x", None]}),
    ):
        refused("row 2, column 'a': the value is missing", sf.load_inputs, frame)
    dates = pandas.DataFrame({"a": pandas.to_datetime(["2024-01-01", "2024-01-02"])})
    refused("column 'a' holds datetime64", sf.load_inputs, dates)
    refused("column 'a' holds int and str", sf.load_inputs, pandas.DataFrame({"a": ["x", 1]}))
