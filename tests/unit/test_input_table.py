"""Rows of inputs by columns: the same rows, and a cost that follows the trials."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import surefoot as sf
from surefoot.catalogue.methods import SetMean
from surefoot.errors import StoreFailed
from surefoot.records import input_table
from surefoot.records.input_table import InputTable, clean_kinds, tried_rows
from surefoot.records.json_records import record_from_json, record_to_json


def _scores(x: np.ndarray) -> np.ndarray:
    mean = x.reshape(len(x), -1).mean(axis=1)
    return np.stack([mean, 1 - mean], axis=1)


def _study(number: int, ids: tuple[str, ...] | None = None) -> sf.Study:
    x = np.random.default_rng(0).random((number, 4), dtype=np.float32)
    labels = (x.mean(axis=1) < 0.5).astype(np.int64)
    labels[::7] = 1 - labels[::7]
    model = sf.load_model(_scores, shape=(4,), bounds=(0, 1))
    inputs = sf.load_inputs(x, labels, ids=ids)
    return sf.Study(model, inputs, sf.perturb.LinfNoise(0.05), SetMean(0.1, 0.1))


@pytest.fixture(scope="module")
def result() -> sf.Result:
    return _study(2000).run()


def test_a_table_has_the_rows_of_all_inputs(result: sf.Result) -> None:
    table = result.inputs
    assert isinstance(table, InputTable)
    rows = list(table)
    assert len(rows) == len(table) == 2000
    assert table == tuple(rows)
    assert tuple(rows) == table
    assert table[-1] == rows[-1]
    assert table[3:5] == (rows[3], rows[4])
    assert [row for row in rows if row.result.trials] == list(tried_rows(table))
    assert sum(row.result.trials for row in tried_rows(table)) == result.record.trials
    assert clean_kinds(table) == clean_kinds(tuple(rows))


@pytest.mark.parametrize("own_ids", [False, True])
def test_a_record_comes_back_from_its_text(own_ids: bool) -> None:
    ids = tuple(f"file é {i}" for i in range(1200)) if own_ids else None
    record = _study(1200, ids).run().record
    again = record_from_json(record_to_json(record))
    assert again == record
    assert isinstance(again.inputs, InputTable)


@pytest.mark.parametrize(
    "change",
    [
        {"number": 3}, {"number": 10**12}, {"tried": [0]}, {"digests": "AAAA"}, {"labels": None},
        {"clean_kept": "AAAA"}, {"ids": "AAAA"}, {"predicted": "AAAA"},
    ],
    ids=lambda change: next(iter(change)),
)  # fmt: skip
def test_damaged_columns_are_refused(result: sf.Result, change: dict[str, object]) -> None:
    plain = json.loads(record_to_json(result.record))
    plain["inputs"] |= change
    if "labels" in change:
        plain["inputs"]["labels"] = plain["inputs"]["clean_kept"]
    with pytest.raises(StoreFailed):
        record_from_json(json.dumps(plain))


def test_an_input_without_a_trial_takes_no_bytes_of_a_store(
    monkeypatch: pytest.MonkeyPatch, result: sf.Result
) -> None:
    small = len(record_to_json(result.record))
    monkeypatch.setattr(input_table, "MOST_NAMED", 1000)
    monkeypatch.setattr("surefoot.study.parts.MOST_NAMED", 1000)
    large = _study(40_000).run().record
    assert len(record_to_json(large)) < small
    assert all(row.digest for row in tried_rows(large.inputs))
    assert sum(bool(row.digest) for row in large.inputs) == len(tried_rows(large.inputs))
    assert record_from_json(record_to_json(large)) == large


def test_evidence_of_a_table_follows(tmp_path: Path, result: sf.Result) -> None:
    path = result.evidence(tmp_path / "evidence.json")
    assert sf.check_evidence(path).exit_code == 0
