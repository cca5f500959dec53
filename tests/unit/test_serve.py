"""The dashboard: what its pages say of runs, and that they write nothing."""

import hashlib
import html
import json
import re
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

import surefoot as sf
from surefoot.core.counts import Counts
from surefoot.core.tasks import Subject, Task
from surefoot.errors import StoreFailed
from surefoot.records.record import Source
from surefoot.records.spec import PartSpec
from surefoot.report.page import html_of
from surefoot.report.view import Figure
from surefoot.serve.settings import Settings
from surefoot.store import open_store, reading
from surefoot.store.chains import seal_of
from surefoot.study.read_store import read_result
from surefoot.testing.conformance import example_spec
from tests.worlds import points, study

pytest.importorskip("starlette")
from starlette.testclient import TestClient

from surefoot.serve.app import create_app
from surefoot.serve.pages import PageNumbers
from surefoot.serve.runs import comparability
from surefoot.serve.stores import ServedStore

NASTY = "<script>document.title='owned'</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A store with an estimate, a test, a run of hostile names, and one that goes on."""
    where = str(tmp_path_factory.mktemp("serve") / "runs.db")
    hostile = sf.load_inputs(
        points().x,
        points().labels,
        ids=[f"{NASTY}{i}" for i in range(12)],
        class_names=[NASTY, "b"],
    )
    results = {
        "estimate": study().run(where),
        "test": study(method=sf.methods.KappaTest(0.1, 0.1, 200)).run(where),
        "hostile": study(inputs=hostile, perturbation=sf.perturb.LinfNoise(0.9)).run(
            where, source=Source(f"{NASTY}.onnx", NASTY, {}, f"surefoot estimate {NASTY}", NASTY)
        ),
    }
    digests = {name: result.record.digest for name, result in results.items()}
    with closing(open_store(where)) as store:
        store.begin("f" * 64, example_spec(5), Source("slow.onnx", "d.npz"), {})
        store.journal("f" * 64).append([(Task(Subject("7", (0,)), 0.1, 0, 64), Counts(64, 60))])
    with closing(sqlite3.connect(where)) as db, db:  # it goes on for as long as the tests take
        db.execute("UPDATE surefoot_runs SET written = '9999-01-01' WHERE digest = ?", ["f" * 64])
    return where, digests | {"going on": "f" * 64}


@pytest.fixture(scope="module")
def client(runs):
    return client_of(runs[0])


def client_of(*stores, base="http://127.0.0.1:8420", **settings):
    app = create_app(Settings(stores, **settings))
    return TestClient(app, base_url=base, raise_server_exceptions=False)


def text_of(page):
    return html.unescape(re.sub(r"<[^>]*>", " ", page.text)).replace("\u00a0", " ")


def alerts(page):
    return [html.unescape(a) for a in re.findall(r'role="alert">([^<]+)<', page.text)]


def rows_of(page):
    return re.findall(r'<tr data-run="0:(\w+)"', page.text)


def test_the_list_is_newest_first_with_state_and_the_number_of_the_report(runs, client):
    where, digests = runs
    page = client.get("/")
    assert rows_of(page) == list(reversed(digests.values()))
    for name in ("estimate", "test", "hostile"):
        key = read_result(where, digests[name]).view.key_figures[0]
        assert key.number in text_of(page)
        assert key.interval in text_of(page)
    assert "in progress" in text_of(page)
    assert "64 trials" in text_of(page)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("q=slow.onnx", ["going on"]),
        ("q=KAPPA-test", ["test"]),
        ("q=kappa+nothing", []),
        ("state=in+progress", ["going on"]),
        ("state=finished&q=estimate", ["hostile"]),
        ("store=1", []),
    ],
)
def test_the_list_is_filtered_by_words_state_and_store(runs, client, query, names):
    assert rows_of(client.get(f"/?{query}")) == [runs[1][name] for name in names]


@pytest.mark.parametrize(
    ("page", "rows", "expected"),
    [(1, 0, (1, 1, 0, 0)), (1, 50, (1, 1, 0, 50)), (2, 51, (2, 2, 50, 51)),
     (9, 100, (2, 2, 50, 100)), (0, 101, (1, 3, 0, 50))],
)  # fmt: skip
def test_the_last_page_has_a_row_and_another_number_is_the_nearest_page(page, rows, expected):
    numbers = PageNumbers.of(page, rows, 50)
    assert (numbers.page, numbers.pages, numbers.start, numbers.stop) == expected


def test_a_report_is_exactly_the_page_of_surefoot_report(runs, monkeypatch):
    where, digests = runs
    monkeypatch.setattr(Figure, "svg", "<svg></svg>")  # drawing takes seconds
    answer = client_of(where).get(f"/runs/0/{digests['estimate']}/report")
    assert answer.text == html_of(read_result(where, digests["estimate"]).view)
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


def test_downloads_are_the_json_and_an_evidence_file_that_says_it_is_unsigned(
    runs, client, tmp_path
):
    where, digests = runs
    run = f"/runs/0/{digests['estimate']}"
    assert client.get(f"{run}/json").json() == json.loads(
        read_result(where, digests["estimate"]).to_json()
    )
    evidence = client.get(f"{run}/evidence")
    assert "unsigned" in evidence.headers["content-disposition"]
    file = sf.write_evidence(digests["estimate"], tmp_path / "e.json", store=where)
    assert evidence.content == file.read_bytes()


def test_inputs_are_filtered_and_sorted_by_the_server(runs, client):
    where, digests = runs
    address = f"/runs/0/{digests['estimate']}/inputs"

    def ids(query):
        return re.findall(r"input\?id=(\w+)", client.get(f"{address}?{query}").text)

    results = read_result(where, digests["estimate"]).by_id
    weakest = sorted(results, key=lambda name: results[name].value)
    assert ids("") == weakest
    assert ids("sort=input") == sorted(results)
    failing = [n for n in weakest if 1 - results[n].value >= 0.2]
    assert 0 < len(failing) < 12
    assert ids("least=20") == failing
    assert set(ids("class=0")) | set(ids("class=1")) == set(results)
    assert ids("q=p11") == ["p11"]
    tests = read_result(where, digests["test"])
    robust = {row.id for row in tests.inputs if getattr(row.result, "holds", False)}
    address = f"/runs/0/{digests['test']}/inputs"
    assert set(ids("state=robust")) == robust


def test_an_input_shows_the_first_trial_that_failed(runs, client):
    where, digests = runs
    example = read_result(where, digests["estimate"]).details.examples[0]
    page = client.get(f"/runs/0/{digests['estimate']}/input", params={"id": example.id})
    assert f"trial {example.trial}" in text_of(page)
    assert "among trials 0 to" in text_of(page)
    assert "Replay a trial" not in text_of(page)


def test_every_name_from_outside_is_text(runs, client):
    digest = runs[1]["hostile"]
    run = f"/runs/0/{digest}"
    pair = f"/compare?run=0:{digest}&run=0:{runs[1]['estimate']}"
    for address in ("/", run, f"{run}/inputs", pair, f"/?q={NASTY}",
                    f"{run}/input?id={NASTY}0", f"/{NASTY}", f"/?state={NASTY}"):  # fmt: skip
        page = client.get(address)
        assert "<script>" not in page.text, address
        assert "<img src=x" not in page.text, address
    assert NASTY in html.unescape(client.get(run).text)


def test_two_runs_are_compared_only_where_their_question_is_the_same(runs):
    record = read_result(runs[0], runs[1]["estimate"]).record
    spec = record.spec
    others = {
        (): spec,
        ("model",): replace(spec, model=replace(spec.model, digest="other")),
        ("perturbation",): replace(spec, perturbation=PartSpec("linf", {"level": 0.3})),
        ("data",): replace(spec, inputs=replace(spec.inputs, digest="other")),
        ("quantity",): replace(spec, method=PartSpec("kappa-test", {"kappa": 0.1})),
        ("seed",): replace(spec, seed=9),
    }
    answers = {
        parts: comparability(record, replace(record, spec=other)) for parts, other in others.items()
    }
    prevented = {parts: answer.prevented for parts, answer in answers.items()}
    assert prevented == {
        parts: () if parts in (("model",), ("seed",)) else parts for parts in others
    }
    assert "same model" in answers[()].sentence
    assert "`surefoot compare` measures" in answers["model",].sentence
    assert "cannot be compared: they differ in the data" in answers["data",].sentence


def test_no_page_writes_to_a_store(runs):
    where, digests = runs
    with closing(sqlite3.connect(where)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = hashlib.sha256(Path(where).read_bytes()).digest()
    client = client_of(where)
    for digest in (digests["test"], digests["going on"]):
        for part in ("", "/inputs", "/json", "/evidence", "/input?id=p1"):
            client.get(f"/runs/0/{digest}{part}")
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            for part in ("", "/replay", "/json"):
                own = {"origin": "http://127.0.0.1:8420"}
                answer = client.request(method, f"/runs/0/{digest}{part}", headers=own)
                assert answer.status_code in (400, 405)
    assert hashlib.sha256(Path(where).read_bytes()).digest() == before
    with reading(where) as store, pytest.raises(StoreFailed):
        store.begin("a" * 64, example_spec(1), None, {})


def test_a_dashboard_that_ends_leaves_no_files_unless_a_run_has_written(runs, tmp_path):
    pytest.importorskip("uvicorn")
    from surefoot.serve.server import Server

    where, waiting = tmp_path / "runs.db", tmp_path / "runs.db-wal"
    shutil.copy(runs[0], where)
    before = where.read_bytes()

    def serve():
        server = Server(Settings((str(where),), port=0))
        server.start()
        server.stop()

    serve()
    assert [file.name for file in tmp_path.iterdir()] == [where.name]
    with closing(sqlite3.connect(where)) as run:
        run.execute("PRAGMA wal_autocheckpoint = 0")
        run.execute("UPDATE surefoot_runs SET seconds = 9")
        run.commit()
        written = waiting.read_bytes()
        serve()
        assert waiting.read_bytes() == written != b""
    assert where.read_bytes() != before
    serve()
    assert [file.name for file in tmp_path.iterdir()] == [where.name]


def test_a_damaged_store_is_a_sentence_beside_the_others(runs, tmp_path):
    where, digests = runs
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"no database, " * 1000)
    wrong = tmp_path / "wrong.db"
    shutil.copy(where, wrong)
    with closing(sqlite3.connect(wrong)) as db:
        db.execute("UPDATE surefoot_runs SET spec = '[]', record = '{' WHERE digest = ?",
                   [digests["estimate"]])  # fmt: skip
        db.commit()
    client = client_of(str(damaged), str(wrong), str(tmp_path / "gone.db"))
    page = client.get("/")
    assert page.status_code == 200
    assert [a for a in alerts(page) if "not a surefoot store" in a]
    assert [a for a in alerts(page) if "there is no store" in a]
    assert "this run is damaged: surefoot show --check" in text_of(page)
    assert "kappa-test" in text_of(page)
    for part in ("", "/report", "/json", "/evidence", "/inputs"):
        answer = client.get(f"/runs/1/{digests['estimate']}{part}")
        assert answer.status_code == 503
        assert "Traceback" not in answer.text
        assert len(alerts(answer)) == 1


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
