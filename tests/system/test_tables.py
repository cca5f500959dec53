"""A pipeline on a CSV file: a finished run comes from the store, and its trials can be repeated."""

import json
import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "tabular.py"
STUDY = ("estimate", "pipeline.joblib", "patients.csv", "--labels", "risk", "--trust", "--perturb",
         "table:0.1sd,features=columns.toml", "--each", "0.15", "--json")  # fmt: skip


@pytest.mark.slow
def test_a_finished_run_comes_from_the_store_and_its_trials_can_be_repeated(workspace, monkeypatch):
    pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    monkeypatch.chdir(workspace.folder)
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    first, again = workspace.succeed(*STUDY), workspace.succeed(*STUDY)
    record = json.loads(first.stdout)
    assert json.loads(again.stdout)["digest"] == record["digest"]
    assert "already finished" in again.stderr
    example = record["details"]["examples"][0]
    trial = (example["id"], str(example["trial"]))
    repeated = json.loads(workspace.succeed("replay", "latest", *trial, "--json", "--trust").stdout)
    assert repeated["kept"] is False
    assert repeated["perturbed"] == example["failed_class"]
