"""Models behind HTTP: servers with every kind of fault, in one sentence or waited for."""

from __future__ import annotations

import re

import numpy as np
import pytest
from starlette.responses import JSONResponse, RedirectResponse, Response

import surefoot as sf
from surefoot.errors import (
    InvalidArgument,
    ModelChanged,
    ModelFailed,
    StoreFailed,
    SurefootWarning,
)
from surefoot.models import endpoint, endpoint_connection
from surefoot.models.endpoint_connection import Patience
from tests.system.faulty_server import (
    CLASSES,
    NEVER,
    SHAPE,
    answer_of,
    numbers,
    scores,
    study_of,
)
from tests.unit.small_models import batch


@pytest.fixture
def impatient(monkeypatch):
    """Few tries, one after the other; each may take long, as on a busy machine."""
    few = Patience(timeout_seconds=100.0, tries=4, total_seconds=300.0, first_pause_seconds=0.02)
    monkeypatch.setattr(endpoint, "patience_of_user", lambda: few)


def busy_once(number, request, right):
    if number == 3:
        return JSONResponse({"error": "later"}, 429, {"Retry-After": "1"})
    return JSONResponse({"error": "oops"}, 500) if number in (5, 6, 7) else None


def test_a_busy_server_and_three_errors_in_a_row_are_waited_for(server, monkeypatch):
    expected = numbers(study_of(server.address).run(batch=64))
    pauses = []
    monkeypatch.setattr(endpoint_connection.time, "sleep", pauses.append)
    server.requests, server.fault = 0, busy_once
    with pytest.warns(SurefootWarning) as said:
        assert numbers(study_of(server.address).run(batch=64, workers=1)) == expected
    assert pauses == [1.0, 0.25, 0.5, 1.0]
    (once,) = (str(one.message) for one in said)
    assert once.startswith("the server did not answer at once (http://127.0.0.1:")
    assert re.search(r"HTTP 429 .*\): tried again once in [\d.]+ s, then it answered$", once)


def test_a_batch_that_is_too_large_is_halved(server):
    expected = numbers(study_of(server.address).run(batch=64))
    sizes = []

    def refuse(number, request, right):
        sizes.append(right["outputs"][0]["shape"][0])
        return Response("no", 413) if sizes[-1] > 6 else None

    server.fault = refuse
    assert numbers(study_of(server.address).run(batch=64)) == expected
    assert max(sizes) > 6
    assert sum(size > 6 for size in sizes) < len(sizes) / 2
    server.fault = lambda *_: JSONResponse({"error": "request too large"}, 400)
    with pytest.raises(ModelFailed, match="and it is a single input: raise its limit"):
        sf.load_model(server.address)


def with_output(**changes):
    return lambda number, request, right: {"outputs": [right["outputs"][0] | changes]}


def dropped_row(number, request, right):
    rows, columns = right["outputs"][0]["shape"]
    return answer_of(np.zeros((rows - 1, columns))) if rows > 1 else None


FAULTS = {
    "no JSON": (lambda *_: Response("<html>hello</html>"), "is no JSON"),
    "JSON of something else": (lambda *_: JSONResponse([1, 2]), "JSON that is no object"),
    "no outputs": (lambda *_: JSONResponse({}), "answers without outputs"),
    "one row dropped": (dropped_row, r"was sent \d inputs and answers with \d rows"),
    "one value dropped": (
        lambda n, r, right: with_output(data=right["outputs"][0]["data"][1:])(n, r, right),
        r"answers with \d+ values for an output of shape",
    ),
    "text as data": (with_output(data=["a"]), "is no list of numbers"),
    "null as data": (with_output(data=[None] * CLASSES), "is no list of numbers"),
    "wrong type": (with_output(datatype="BYTES"), "answers with BYTES: scores are numbers"),
    "another output": (with_output(name="z"), "without the output 'y': it gives z"),
    "always 500": (lambda *_: JSONResponse({"error": "oops"}, 500), "HTTP 500 .*after 4 tries"),
    "Retry-After of an hour": (
        lambda *_: Response("", 503, {"Retry-After": "3600"}),
        "HTTP 503 and asks to wait 3600 s, after one try",
    ),
    "another refusal": (lambda *_: JSONResponse({"error": "bad\x07 x"}, 422), "HTTP 422"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_one_sentence(server, impatient, name):
    server.fault, sentence = FAULTS[name]
    with pytest.raises(ModelFailed, match=sentence) as refused:
        sf.load_model(server.address)
    assert "\n" not in str(refused.value)


def test_a_server_that_is_too_slow_is_one_sentence(server, monkeypatch):
    short = Patience(timeout_seconds=0.1, tries=3, total_seconds=300, first_pause_seconds=0.02)
    monkeypatch.setattr(endpoint, "patience_of_user", lambda: short)
    server.fault = lambda *_: NEVER
    with pytest.raises(ModelFailed, match=r"does not answer within 0.1 s .* after 3 tries"):
        sf.load_model(server.address)


def stated(**changes):
    return lambda right: right | {"inputs": [right["inputs"][0] | changes]}


METADATA = {
    "no protocol": (lambda _: JSONResponse({"hello": 1}), "does not state the name and the inputs"),
    "a page": (lambda _: Response("<html>"), "is no JSON"),
    "no such model": (lambda _: Response("", 404), "has no model at /v2/models/linear"),
    "text as input": (stated(datatype="BYTES"), "takes BYTES: serve the model with numbers"),
    "no batch axis": (stated(shape=[16]), "without a batch axis"),
    "two inputs": (lambda right: right | {"inputs": 2 * right["inputs"]}, "must state one input"),
    "labels only": (
        lambda right: right | {"outputs": [{"name": "y", "datatype": "INT64", "shape": [-1]}]},
        "no output of scores: it has y INT64",
    ),
    "elsewhere": (lambda _: RedirectResponse("http://localhost:9/v2"), "redirects to http://loc"),
}


@pytest.mark.parametrize("name", METADATA)
def test_metadata_that_do_not_fit_are_one_sentence(server, impatient, name):
    server.on_metadata, sentence = METADATA[name]
    with pytest.raises(ModelFailed, match=re.escape(sentence)):
        sf.load_model(server.address)


def test_another_shape_and_no_server_are_refused(server, impatient):
    with pytest.raises(InvalidArgument, match=r"takes inputs of shape \(1, 4, 4\), got \(16,\)"):
        sf.load_model(server.address, shape=(16,))
    with pytest.raises(InvalidArgument, match=r"shape"):
        sf.estimate(server.address, (batch(3, (1, 5, 5)), [0, 1, 2]), "linf:0.1", bounds=(0, 1))
    server.stop()
    with pytest.raises(ModelFailed, match=r"cannot be reached .* after 3 tries"):
        sf.load_model(server.address)


def test_nan_is_refused_before_anything_is_measured(server, tmp_path):
    server.fault = lambda number, request, right: answer_of(
        np.full(right["outputs"][0]["shape"], np.nan)
    )
    with pytest.raises((InvalidArgument, ModelFailed), match="NaN or infinity"):
        study_of(server.address).run(store=str(tmp_path / "s.db"))


def test_a_fixed_batch_size_is_filled_up(server):
    server.on_metadata = stated(shape=[4, *SHAPE])
    model = sf.load_model(server.address, bounds=(0, 1))
    x = batch(6, SHAPE)
    assert np.allclose(model.predict(x), scores(x), atol=1e-5)
    assert server.largest == 4


def test_a_model_that_changes_during_the_run_gives_no_result(server, tmp_path):
    """Also where it was away before: another one may have come back."""
    store, away = str(tmp_path / "s.db"), [True]
    study = study_of(server.address)

    def another(number, request, right):
        if away and away.pop():
            return Response("", 503)
        return answer_of(np.asarray(right["outputs"][0]["data"]).reshape(-1, CLASSES)[:, ::-1])

    def change(progress):
        server.fault = another

    with (
        pytest.warns(SurefootWarning, match=r"HTTP 503.* tried again once"),
        pytest.raises(ModelChanged, match=r"changed during the run.*no result is recorded"),
    ):
        study.run(store=store, on_progress=change)
    assert [run.finished for run in sf.runs(store)] == [False]
    server.fault = lambda *_: None
    with pytest.raises(StoreFailed, match="the model changed during an earlier run"):
        study_of(server.address).run(store=store)
    assert len(study_of(server.address).run(store=str(tmp_path / "t.db")).claims) > 0


def test_another_version_in_the_middle_of_a_run_is_refused(server):
    version = iter(range(1, 10_000))
    server.fault = lambda number, request, right: right | {"model_version": "2"}
    study = study_of(server.address)
    server.fault = lambda number, request, right: right | {"model_version": str(next(version))}
    with pytest.raises(
        (InvalidArgument, ModelChanged), match="version '1' answers, and version '2'"
    ):
        study.run()


def test_a_shape_that_no_memory_holds_is_one_sentence_with_the_way_out(server):
    for shape in ([-1, 999_999_999, 999_999_999], [999_999_999, 999_999_999]):
        server.on_metadata = lambda stated, shape=shape: {
            **stated, "inputs": [{**stated["inputs"][0], "shape": shape}],
        }  # fmt: skip
        with pytest.raises(InvalidArgument, match="GiB of memory are free: serve the model with a"):
            sf.load_model(server.address)


def test_a_compressed_answer_is_not_unpacked(server):
    import gzip

    bomb = gzip.compress(gzip.compress(bytes(2**24)))
    server.on_metadata = lambda _: Response(bomb, headers={"content-encoding": "gzip, gzip"})
    with pytest.raises(ModelFailed, match="compressed form that was not asked for: serve"):
        sf.load_model(server.address)
