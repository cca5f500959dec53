"""Inputs that could be misread without a word are refused, or read by their value."""

import numpy as np
import pytest

import surefoot as sf
from surefoot.errors import InvalidArgument
from surefoot.models.frames import fitted_classes

SMALL = np.arange(12.0).reshape(6, 2)


def written(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def refused(sentence, *args, **options):
    with pytest.raises(InvalidArgument, match=sentence):
        sf.load_inputs(*args, **options)


@pytest.mark.parametrize("far", [[], [0.0], [0.0, -1e12]])
def test_real_numbers_that_single_precision_runs_together_are_refused(far):
    pandas = pytest.importorskip("pandas")
    times = np.append(1.7e9 + np.random.default_rng(0).integers(0, 600, 60), far)
    refused("column 't': .*subtract an offset", pandas.DataFrame({"t": times}))


@pytest.mark.parametrize(
    "column",
    [
        [0.1, 0.1, 0.1],
        [0.1 + 0.2, 0.3, 0.3],
        [1e9, 2e9, 3.3e9],
        [1.0, 2.0, 3.0, 4.0, 1e30],
        [0.0, 0.0, 0.0, 0.7],
        [1e-60, 2e-3, 0.1],
        [20240101.5, 20250101.5, 20230101.5],
    ],
)
def test_real_numbers_that_keep_their_differences_are_read(column):
    pandas = pytest.importorskip("pandas")
    inputs = sf.load_inputs(pandas.DataFrame({"t": np.array(column)}))
    np.testing.assert_array_equal(inputs.x[:, 0], np.float32(column))


@pytest.mark.parametrize(
    "names", [[3, 4, 8], [3.0, 4.0, 8.0], np.array([3.0, 4, 8]), ["3", "4", "8"]]
)
@pytest.mark.parametrize("cells", [["3", "8", "4"], ["3.0", "8.0", "4.0"], ["3", "8.0", "4"]])
def test_labels_and_classes_are_the_same_number_as_integer_and_as_float(names, cells, tmp_path):
    path = written(tmp_path, "a,y\n" + "".join(f"1,{cell}\n" for cell in cells))
    inputs = sf.load_inputs(path, labels="y", class_names=list(names))
    assert inputs.labels.tolist() == [0, 2, 1]
    assert inputs.class_names == ("3", "4", "8")
    pandas = pytest.importorskip("pandas")
    inputs = sf.load_inputs(pandas.read_csv(path), labels="y", class_names=list(names))
    assert inputs.labels.tolist() == [0, 2, 1]


def test_classes_of_an_estimator_are_named_alike_as_integers_and_floats():
    class Fitted:
        def __init__(self, classes):
            self.classes_ = np.array(classes)

    assert fitted_classes(Fitted([3.0, 4.0])) == fitted_classes(Fitted([3, 4])) == ("3", "4")
    assert fitted_classes(Fitted([0.5, 1.0])) == ("0.5", "1")
    assert fitted_classes(Fitted([0.0, 1.0])) == ()


def test_a_loader_with_any_sampler_but_the_sequential_one_is_refused_by_its_name(torch):
    data = pytest.importorskip("torch.utils.data")
    rows = data.TensorDataset(torch.from_numpy(SMALL), torch.arange(6) % 2)

    class Backwards(data.SequentialSampler):
        def __iter__(self):
            return iter(range(5, -1, -1))

    for sampler in (
        data.WeightedRandomSampler([1.0] * 6, 6),
        data.SubsetRandomSampler(range(6)),
        Backwards(rows),
    ):
        name = type(sampler).__name__
        batches = data.BatchSampler(sampler, 2, drop_last=False)
        refused(name, data.DataLoader(rows, sampler=sampler))
        refused(name, data.DataLoader(rows, sampler=sampler, batch_size=None))
        refused(name, data.DataLoader(rows, batch_sampler=batches))
    refused("list", data.DataLoader(rows, batch_sampler=[[1, 0], [2]]))
    batches = data.BatchSampler(data.SequentialSampler(rows), 4, drop_last=False)
    assert len(sf.load_inputs(data.DataLoader(rows, batch_sampler=batches))) == 6


def test_a_stream_of_hugging_face_that_shuffles_is_refused():
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"x": SMALL.tolist(), "label": [0, 1] * 3})
    stream = rows.to_iterable_dataset()
    assert len(sf.load_inputs(stream)) == 6
    refused(r"leave out shuffle\(\)", stream.shuffle())
    refused(r"leave out shuffle\(\)", stream.shuffle(seed=1).map(dict).take(3))
    both = [stream, stream.shuffle()]
    refused(r"leave out shuffle\(\)", datasets.concatenate_datasets(both))
    refused(r"leave out shuffle\(\)", datasets.interleave_datasets(both))
    mixed = datasets.interleave_datasets([stream, stream], probabilities=[0.5, 0.5])
    refused("probabilities=", mixed)
    assert len(sf.load_inputs(datasets.concatenate_datasets([stream, stream]))) == 12


def test_masked_values_are_refused_and_a_mask_without_any_is_not():
    refused("masked", np.ma.masked_greater(SMALL, 5))
    refused("masked", np.ma.masked_greater(SMALL, 5), [0] * 6)
    refused("masked", [(np.ma.masked_greater(row, 5), 0) for row in SMALL])
    assert len(sf.load_inputs(np.ma.masked_greater(SMALL, 50))) == 6


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**64, 10**30])
def test_integers_of_any_length_in_a_csv_file_are_refused(number, tmp_path):
    path = written(tmp_path, f"a,b\n1,{number}\n2,7\n")
    refused("row 1, column 'b': .* is larger than 16,777,216", path)
    assert len(sf.load_inputs(path, groups="b")) == 2
    refused("no finite number", written(tmp_path, f"a\n{'9' * 5000}\n"))


def test_dates_in_a_csv_file_are_text_as_pandas_reads_them(tmp_path):
    pandas = pytest.importorskip("pandas")
    path = written(tmp_path, "day,a\n2024-02-01,1\n2024-01-31,2\n")
    inputs = sf.load_inputs(path)
    assert inputs.features[0].categories == ("2024-01-31", "2024-02-01")
    assert inputs.digest() == sf.load_inputs(pandas.read_csv(path)).digest()


def test_a_field_that_stands_twice_in_a_file_of_texts_is_refused(tmp_path):
    refused("column 'text' twice", written(tmp_path, "text,text\na,b\n"))
    refused("column 'label' twice", written(tmp_path, "text,label,label\na,b,c\n"))
    lines = '{"text": "a"}\n{"text": "a", "text": "b"}\n'
    refused("line 2 has the field 'text' twice", written(tmp_path, lines, "data.jsonl"))


def test_some_rows_of_texts_without_an_id_are_refused(tmp_path):
    refused("row 2 has no id", written(tmp_path, "text,id\na,1\nb,\n"))
    for second in ('{"text": "b"}', '{"text": "b", "id": null}', '{"text": "b", "id": " "}'):
        lines = f'{{"text": "a", "id": 0}}\n{second}\n'
        refused("line 2 has no id", written(tmp_path, lines, "data.jsonl"))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_groups_of_every_frame_may_be_a_column(library):
    module = pytest.importorskip(library)
    frame = module.DataFrame({"a": [1.0, 2.0], "g": ["p", "q"]})
    inputs = sf.load_inputs(frame, groups="g")
    assert inputs.groups == ("p", "q")
    assert [feature.name for feature in inputs.features] == ["a"]
    assert sf.load_inputs(frame.drop("g", axis=1) if library == "pandas" else frame.drop("g"),
                          groups=frame["g"]).groups == ("p", "q")  # fmt: skip
    refused("for the labels and for the groups", frame, labels="g", groups="g")


def test_the_column_of_the_labels_is_not_that_of_the_groups_in_a_file(tmp_path):
    path = written(tmp_path, "a,g\n1,0\n2,1\n")
    refused("for the labels and for the groups", path, labels="g", groups="g")


def test_what_polars_has_besides_plain_columns_is_refused_in_a_sentence():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1.0, 2.0]})
    refused(r"frame.collect\(\)", frame.lazy())
    refused(r"frame.collect\(\)", frame.lazy(), [0, 1])
    for column in ([{"b": 1}, {"b": 2}], [[1, 2], [1]], [b"a", b"b"]):
        refused("column 's' holds", frame.with_columns(polars.Series("s", column)))


def test_dicts_are_rows_of_a_dataset_unless_they_are_called_items():
    dicts = [{"a": 1.0}, {"a": 2.0}]
    refused("none is called image", dicts)
    assert sf.load_inputs(dicts, read_as="items").x.tolist() == dicts
    assert sf.load_inputs(dicts, [0, 1]).x.tolist() == dicts
