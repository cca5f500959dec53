"""Estimators that were fitted on frames get frames: names, order, types, categories."""

import numpy as np
import pytest

import surefoot as sf
from surefoot.errors import InvalidArgument
from surefoot.models.frames import nearest_decimals
from tests.refusals import refused

pandas = pytest.importorskip("pandas")
pytest.importorskip("sklearn")
pytestmark = pytest.mark.slow


def table(n=80, seed=0):
    rng = np.random.default_rng(seed)
    return pandas.DataFrame(
        {
            "age [years]": rng.integers(20, 80, n),
            "dose": rng.choice([0.1, 0.5, 0.7], n),
            "job": rng.choice(["admin", "boss", "clerk"], n),
            "member": rng.random(n) < 0.4,
        }
    )


def labels_of(frame):
    return np.where(frame["age [years]"] + 20 * (frame["job"] == "boss") > 55, "high", "low")


def pipeline(frame, numbers=("age [years]",), encoded=("dose", "job", "member")):
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    columns = ColumnTransformer(
        [("n", StandardScaler(), list(numbers)), ("e", OneHotEncoder(), list(encoded))]
    )
    return make_pipeline(columns, LogisticRegression()).fit(frame, labels_of(frame))


def test_the_frame_of_clean_inputs_is_the_frame_of_the_data():
    frame = table()
    inputs = sf.load_inputs(frame)
    model = sf.load_model(pipeline(frame), features=inputs.features)
    pandas.testing.assert_frame_equal(model.run.frame(inputs.x), frame)
    assert np.array_equal(model.predict(inputs.x), pipeline(frame).predict_proba(frame))


def test_types_and_categories_of_the_data_come_back():
    frame = pandas.DataFrame(
        {
            "size": pandas.Categorical(["s", "l"], ["s", "m", "l"], ordered=True),
            "grade": pandas.Categorical([3, 1]),
            "count": np.array([1, 2], np.int8),
            "weight": np.array([0.1, 0.25], np.float32),
        }
    )
    inputs = sf.load_inputs(frame)

    class Estimator:
        classes_ = np.array([0, 1])
        feature_names_in_ = np.array(list(frame.columns))

        def predict_proba(self, rows):
            assert rows.dtypes.equals(frame.dtypes)
            return np.full((len(rows), 2), 0.5)

    model = sf.load_model(Estimator(), features=inputs.features)
    pandas.testing.assert_frame_equal(model.run.frame(inputs.x), frame)


def test_columns_in_another_order_are_put_into_that_of_the_estimator():
    frame = table()
    mixed = frame[["job", "member", "age [years]", "dose"]]
    inputs = sf.load_inputs(mixed)
    model = sf.load_model(pipeline(frame), features=inputs.features)
    assert np.array_equal(model.predict(inputs.x), pipeline(frame).predict_proba(frame))


def test_other_columns_than_the_estimators_are_refused_by_name():
    frame = table()
    fitted = pipeline(frame)
    more = sf.load_inputs(frame.assign(extra=1.5)).features
    with pytest.raises(
        InvalidArgument,
        match=r"but the data also have extra: give it the same columns; is extra the label\?",
    ):
        sf.load_model(fitted, features=more)
    fewer = sf.load_inputs(frame.drop(columns="job")).features
    refused("but the data lack job", sf.load_model, fitted, features=fewer)


@pytest.mark.parametrize("label", ["risk", 1])
def test_a_forgotten_label_is_asked_for_where_the_estimator_knows_no_names(label, recwarn):
    from sklearn.linear_model import LogisticRegression

    frame = table()[["age [years]", "dose"]]
    fitted = LogisticRegression().fit(frame.to_numpy(), frame["dose"] > 0.1)
    one_more = sf.load_inputs(frame.assign(grade=label)).features
    said = r"on 2 columns, .* have 3 .*; is grade the label\? Then say --labels grade"
    refused(said, sf.load_model, fitted, features=one_more)
    two_more = sf.load_inputs(frame.assign(grade=label, ward=2)).features
    with pytest.raises(
        InvalidArgument, match=r"on 2 columns, .* have 4 .*: give it the same columns \(the labels"
    ):
        sf.load_model(fitted, features=two_more)
    assert not recwarn.list


def test_a_pipeline_on_text_without_its_columns_is_refused_with_the_way_out():
    refused(r"pass features=inputs.features", sf.load_model, pipeline(table()))


def test_an_estimator_of_names_gets_them_for_plain_arrays_too():
    """The suite turns the warning about missing feature names into an error."""
    from sklearn.linear_model import LogisticRegression

    frame = table()[["age [years]", "dose"]]
    fitted = LogisticRegression().fit(frame, labels_of(table()))
    model = sf.load_model(fitted)
    assert model.predict(frame.to_numpy(np.float32)).shape == (80, 2)


def test_steps_that_take_polars_only_get_polars():
    polars = pytest.importorskip("polars")
    inputs = sf.load_inputs(polars.DataFrame({"a": [0.1, 0.9], "job": ["x", "y"]}))

    class Estimator:
        classes_ = np.array([0, 1])

        def predict_proba(self, rows):
            p = rows.with_columns(polars.col("job") == "x")["job"].to_numpy().astype(float)
            return np.stack([p, 1 - p], axis=1)

    model = sf.load_model(Estimator(), features=inputs.features)
    assert model.predict(inputs.x)[:, 0].tolist() == [1, 0]


def test_a_code_that_is_no_category_is_refused():
    frame = table()
    inputs = sf.load_inputs(frame)
    model = sf.load_model(pipeline(frame), features=inputs.features)
    with pytest.raises(InvalidArgument, match=r"'job' holds categories, and 0.5 is none"):
        model.predict(np.array([[30, 0.1, 0.5, 0]], np.float32))


def test_classes_numbered_in_another_way_than_the_estimators_are_refused():
    frame = table()
    inputs = sf.load_inputs(frame, labels=np.where(labels_of(frame) == "high", "low", "Z"))
    model = sf.load_model(pipeline(frame), features=inputs.features)
    method = sf.methods.FixedSize(0.2, 0.1)
    with pytest.raises(InvalidArgument, match="fitted with the classes high, low, but"):
        sf.Study(model, inputs, sf.parse_perturbation("table:0.1sd"), method)


@pytest.mark.parametrize("seed", range(3))
def test_decimals_of_six_digits_survive_single_precision(seed):
    rng = np.random.default_rng(seed)
    decimals = np.array(
        [float(f"{v:.6g}") for v in rng.normal(0, 1, 500) * 10.0 ** rng.integers(-9, 9, 500)]
    )
    assert np.array_equal(nearest_decimals(decimals.astype(np.float32)), decimals)
    any_values = rng.normal(size=500).astype(np.float32)
    assert np.array_equal(nearest_decimals(any_values).astype(np.float32), any_values)
    assert nearest_decimals(np.zeros(2, np.float32)).tolist() == [0, 0]
