"""Tables on the command line: a pipeline on a CSV file, continued, repeated and refused."""

import json
import runpy
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from surefoot.cli.main import app
from surefoot.errors import StoreFailed
from tests.refusals import refused

pytest.importorskip("pandas")
pytest.importorskip("sklearn")
pytestmark = pytest.mark.slow
EXAMPLE = Path(__file__).parents[2] / "examples" / "tabular.py"
STUDY = ("estimate", "pipeline.joblib", "patients.csv", "--labels", "risk", "--trust")
NOISE = ("--perturb", "table:0.1sd,features=columns.toml", "--each", "0.15")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    return folder


@pytest.fixture(autouse=True)
def folder(files, tmp_path, monkeypatch):
    for name in ("pipeline.joblib", "patients.csv", "columns.toml"):
        shutil.copy(files / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    done = CliRunner().invoke(app, list(words), standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    assert done.return_value == 0, done.output
    return done


def test_the_page_says_columns_units_scales_and_classes(folder):
    run(*STUDY, *NOISE, "--report", "report.html")
    page = (folder / "report.html").read_text()
    for text in (" years</td>", " mmHg</td>", "age sd 25 years", "true class high", "pressure sd"):
        assert text in page
    assert "value 0" not in page


def test_a_finished_run_comes_from_the_store_and_its_trials_can_be_repeated():
    first = json.loads(run(*STUDY, *NOISE, "--json").stdout)
    again = run(*STUDY, *NOISE, "--json")
    assert json.loads(again.stdout)["digest"] == first["digest"]
    assert "already finished" in again.stderr
    example = first["details"]["examples"][0]
    repeated = run("replay", "latest", example["id"], str(example["trial"]), "--json", "--trust")
    answer = json.loads(repeated.stdout)
    assert answer["kept"] is False
    assert answer["perturbed"] == example["failed_class"]


def test_a_changed_table_is_not_replayed(folder):
    run(*STUDY, *NOISE)
    text = (folder / "patients.csv").read_text()
    (folder / "patients.csv").write_text(text.replace(",north,", ",south,", 1))
    with pytest.raises(StoreFailed, match="the digests differ"):
        run("replay", "latest", "03", "0", "--trust")


def test_classes_are_numbered_as_the_estimators_where_the_table_lacks_one(folder):
    lines = (folder / "patients.csv").read_text().splitlines()
    (folder / "patients.csv").write_text(
        "\n".join([lines[0], *(line for line in lines[1:] if line.endswith(",low"))])
    )
    record = json.loads(run(*STUDY, *NOISE, "--json").stdout)
    assert record["spec"]["inputs"]["class_names"] == ["high", "low"]
    accuracy = next(f for f in record["findings"] if f["name"] == "labels and clean accuracy")
    assert float(accuracy["finding"].split(" %")[0]) > 70


def test_mistakes_are_refused_with_the_columns_there_are():
    refused(r"no column 'rsk' .* do you mean risk", run, *STUDY[:4], "rsk", "--trust", *NOISE)
    refused("but the data also have risk", run, *STUDY[:3], "--trust", *NOISE)
    refused("smoker is one of daily, former, never, but", run, *STUDY, "--perturb", "linf:0.1")
