"""Tables as inputs: the same columns from frames of pandas and polars, .csv and .parquet files."""

import numpy as np
import pytest

import surefoot as sf
from surefoot.errors import InvalidArgument
from surefoot.subject.inputs import Feature
from tests.refusals import refused

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


REFUSED = [
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


@pytest.mark.parametrize(("text", "options", "sentence"), REFUSED)
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
