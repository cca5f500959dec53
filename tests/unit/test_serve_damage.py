"""The dashboard beside damaged and hostile records: one sentence each, the other runs as always."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from surefoot.store.chains import seal_of

pytest.importorskip("starlette")

from surefoot.serve.stores import ServedStore
from tests.unit import test_serve
from tests.unit.test_serve import alerts, client_of, rows_of, text_of

runs = test_serve.runs  # a store with three finished runs and one that goes on


def set_column(db, column, value, digest):
    db.execute(f"UPDATE surefoot_runs SET {column} = ? WHERE digest = ?", [value, digest])


def test_one_damaged_run_is_a_sentence_in_its_own_row(runs, tmp_path):
    where, digests = runs
    wrong = tmp_path / "wrong.db"
    shutil.copy(where, wrong)
    query = "SELECT record FROM surefoot_runs WHERE digest = ?"
    with closing(sqlite3.connect(wrong)) as db:
        for name, value in (("estimate", 1e308), ("test", float("inf"))):
            (text,) = db.execute(query, [digests[name]]).fetchone()
            record = json.loads(text)
            for claim in record["claims"]:
                claim |= {n: value for n in ("value", "fragile") if n in claim}
            set_column(db, "record", json.dumps(record), digests[name])
        set_column(db, "source", json.dumps({"model": "\ud800.onnx"}), digests["going on"])
        db.execute("UPDATE surefoot_runs SET record = CAST(x'7bff' AS TEXT) WHERE digest = ?",
                   [digests["hostile"]])  # fmt: skip
        db.commit()
    client = client_of(str(wrong))
    page = client.get("/")
    assert page.status_code == 200
    assert len(rows_of(page)) == 4
    assert alerts(page) == []
    assert text_of(page).count("the record cannot be read: surefoot show --check") == 3
    assert client.get(f"/runs/0/{digests['going on']}").status_code == 200


def test_a_record_without_claims_is_one_sentence_on_every_page(runs, tmp_path):
    where, digests = runs
    empty, digest = str(tmp_path / "empty.db"), digests["estimate"]
    shutil.copy(where, empty)
    with closing(sqlite3.connect(empty)) as db:
        query = "SELECT record, finished, sealed_rows, heads FROM surefoot_runs WHERE digest = ?"
        text, *rest = db.execute(query, [digest]).fetchone()
        text = json.dumps({**json.loads(text), "claims": []})
        set_column(db, "record", text, digest)
        set_column(db, "seal", seal_of(text, *rest), digest)
        db.commit()
    client = client_of(empty)
    for path in (f"/runs/0/{digest}", f"/runs/0/{digest}/report",
                 f"/compare?run=0:{digest}&run=0:{digest}"):  # fmt: skip
        answer = client.get(path)
        assert answer.status_code == 503
        assert "it has no claims" in alerts(answer)[0]


def test_a_number_that_cannot_be_is_a_sentence(runs, monkeypatch):
    monkeypatch.setattr(ServedStore, "result", lambda *_: int(float("inf")))
    answer = client_of(runs[0]).get(f"/runs/0/{runs[1]['estimate']}")
    assert answer.status_code == 503
    assert alerts(answer) == [
        "this run has a number that cannot be: surefoot show --check says more"
    ]
