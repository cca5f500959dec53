"""Models behind HTTP: a real server of an ONNX file, tokens, certificates and addresses."""

import json
import pickle
import re
import shutil
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import httpx
import numpy as np
import pytest
from starlette.responses import JSONResponse, RedirectResponse, Response

import surefoot as sf
from surefoot.core.assumptions import Assumed
from surefoot.errors import InvalidArgument, ModelChanged, ModelFailed, StoreFailed, SurefootWarning
from surefoot.models import endpoint, endpoint_connection
from surefoot.models.endpoint_connection import Connection, Patience, read_address
from surefoot.testing import check_model
from tests.ports import free_port
from tests.refusals import failed
from tests.system import forked
from tests.system.faulty_server import (
    CLASSES,
    NEVER,
    SHAPE,
    FaultyServer,
    answer_of,
    numbers,
    scores,
    study_of,
)
from tests.system.hold import SECONDS, wait_for
from tests.unit.small_models import batch, relu_net

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "endpoint.py"
STUDY = {"each": 0.3, "bounds": (0, 1)}
TOKEN = "a-token-that-nobody-may-see"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("endpoint")
    relu_net(folder / "net.onnx")
    np.savez(folder / "test.npz", x=batch(6, (1, 6, 6)), y=[0, 1, 2, 3, 0, 1])
    return folder


def start(model: Path, *options: str) -> forked.Command:
    return forked.Command([str(EXAMPLE), str(model), *options], model.parent)


def address_of(server: forked.Command) -> str:
    """The line that it prints once it listens."""
    return wait_for(lambda: re.match(r"(.+)\n", server.text("out"))).group(1)


def end(server: forked.Command) -> None:
    server.kill()
    server.communicate(SECONDS)


@pytest.fixture(scope="module")
def served(folder):
    """The addresses of the file: with binary tensors, and with JSON and small batches only."""
    limited = ("--json-only", "--max-batch", "5")
    servers = [start(folder / "net.onnx", "--port", "0", *more) for more in ((), limited)]
    yield [address_of(server) for server in servers]
    for server in servers:
        end(server)


def test_the_example_says_why_it_cannot_serve(folder, served, tmp_path):
    (tmp_path / "text.onnx").write_text("no network")
    taken = re.search(r":(\d+)/", served[0]).group(1)
    for model, port, sentence in (
        (tmp_path / "none.onnx", "0", "none.onnx is no file: check the path"),
        (tmp_path / "text.onnx", "0", "text.onnx cannot be read as an ONNX file"),
        (folder / "net.onnx", taken, f"port {taken} cannot be listened on"),
    ):
        done = forked.run([str(EXAMPLE), str(model), "--port", port], tmp_path, SECONDS)
        assert (done.returncode, len(done.stderr.splitlines())) == (3, 1), done.stderr
        assert sentence in done.stderr


def loaded(address: str, data: str):
    return sf.load_model(address, bounds=(0, 1)), sf.load_inputs(data)


@pytest.mark.parametrize("which", [0, 1], ids=["binary", "JSON, batches of 5"])
def test_a_served_file_gives_the_numbers_of_the_file_itself(folder, served, which):
    data = str(folder / "test.npz")
    own = sf.estimate(str(folder / "net.onnx"), data, "linf:0.1", **STUDY)
    there = sf.estimate(served[which], data, "linf:0.1", **STUDY)
    assert numbers(there) == numbers(own)
    assert there.record.trials == own.record.trials


def test_a_served_file_is_a_model_as_any_other_and_json_and_binary_agree(folder, served):
    x = batch(12, (1, 6, 6))
    models = [sf.load_model(address, bounds=(0, 1)) for address in served]
    file = sf.load_model(str(folder / "net.onnx"), bounds=(0, 1))
    assert [model.binary for model in models] == [True, False]
    assert models[0].signature == models[1].signature
    assert models[0].signature.covers.startswith("only the name net, version 1")
    check_model(models[0], x)
    small = np.concatenate([models[1].predict(x[i : i + 4]) for i in range(0, 12, 4)])
    assert np.allclose(models[0].predict(x), file.predict(x), rtol=1e-6)
    assert np.array_equal(models[0].predict(x).round(5), small.round(5))
    pinned = sf.load_model(f"{served[0]}/versions/1", bounds=(0, 1))
    assert pinned.signature.digest == models[0].signature.digest
    failed(r"has no model at .*/versions/7", sf.load_model, f"{served[0]}/versions/7")


def test_commands_take_an_address_and_replay_asks_it_again(served, folder, workspace):
    data, address = str(folder / "test.npz"), served[0]
    words = ("estimate", address, data, "--perturb", "linf:0.1", "--each", "0.3",
             "--bounds", "0,1", "--report", "page.html")  # fmt: skip
    first = workspace.succeed(*words)
    assert "If the model behind the address did not change during the run" in first.stdout
    assert "Note: the model may change: it is behind an address" in first.stdout
    page = (workspace.folder / "page.html").read_text()
    assert address in page
    assert "only the name net, version 1 as the server states it" in page
    assert "its owner can change it" in page
    refused = workspace.run("replay", "latest", "0", "2")
    assert refused.returncode == 3
    assert "pass --trust" in refused.stderr
    replayed = workspace.succeed("replay", "latest", "0", "2", "--trust")
    assert "trial 2" in replayed.stdout


def test_doctor_compare_and_critical_take_an_address_or_say_why_not(served, folder):
    data, own = str(folder / "test.npz"), str(folder / "net.onnx")
    assert "the model may change" in str(sf.doctor(*loaded(served[0], data)))
    found = sf.compare([served[0], own], data, "linf:0.1", not_worse=0.5, **STUDY)
    assert found.verdicts
    for claim in (*found.claims, *found.verdicts):
        if claim.guarantee.footing != "none":
            assert Assumed.MODEL_UNCHANGED in claim.guarantee.assumptions, claim
    with pytest.raises(InvalidArgument, match="give the ONNX file that the server runs"):
        sf.critical(served[0], data, bounds=(0, 1), first=2)


def need_token(number, request, right):
    given = request.headers.get("authorization")
    return None if given == f"Bearer {TOKEN}" else JSONResponse({"error": f"no: {given}"}, 401)


def test_a_token_is_sent_and_kept_nowhere(server, workspace, monkeypatch):
    server.fault = need_token
    workspace.save("small.npz", x=batch(4, SHAPE), y=[0, 1, 2, 0])
    words = ("estimate", server.address, "small.npz", "--perturb", "linf:0.3", "--each", "0.3",
             "--bounds", "0,1", "--report", "page.html", "--json")  # fmt: skip
    monkeypatch.delenv("SUREFOOT_TOKEN", raising=False)
    refused = workspace.run(*words)
    assert refused.returncode == 3
    assert "put a bearer token into the environment variable SUREFOOT_TOKEN" in refused.stderr
    assert workspace.files() == {"model.onnx", "test.npz", "small.npz"}
    monkeypatch.setenv("SUREFOOT_TOKEN", "another-token")
    refused = workspace.run(*words)
    assert "the token in SUREFOOT_TOKEN is not accepted" in refused.stderr
    assert "another-token" not in refused.stderr
    monkeypatch.setenv("MY_TOKEN", TOKEN)
    accepted = workspace.succeed(*words, "--token-variable", "MY_TOKEN")
    assert "--token-variable MY_TOKEN" in json.loads(accepted.stdout)["source"]["command"]
    assert TOKEN not in accepted.stdout + accepted.stderr
    for path in workspace.folder.iterdir():
        assert TOKEN.encode() not in path.read_bytes(), path
    model = sf.load_model(server.address, token_variable="MY_TOKEN")
    assert TOKEN not in repr(model)
    assert TOKEN.encode() not in pickle.dumps(model)
    assert pickle.loads(pickle.dumps(model)).predict(batch(2, SHAPE)).shape == (2, CLASSES)
    server.fault = lambda number, request, right: JSONResponse({"error": f"hm {TOKEN}"}, 422)
    failed("hm …", model.predict, batch(1, SHAPE))


def test_a_token_follows_no_redirect_to_another_host(server, monkeypatch):
    other = FaultyServer()
    try:
        monkeypatch.setenv("SUREFOOT_TOKEN", TOKEN)
        server.on_metadata = lambda _: RedirectResponse(other.address, 307)
        failed("a redirect to another host is not followed", sf.load_model, server.address)
        assert other.tokens == set()
        assert server.tokens == {f"Bearer {TOKEN}"}
    finally:
        other.stop()


def test_a_server_that_dies_in_the_middle_and_comes_back_changes_nothing(
    folder, served, monkeypatch
):
    """It comes back when it was missed: the pause before another try starts it."""

    def study(address):
        model, inputs = loaded(address, str(folder / "test.npz"))
        method = sf.methods.ExactSequential(width=0.1, error=0.05)  # trials enough to die among
        return sf.Study(model, inputs, sf.perturb.LinfNoise(0.1), method)

    port, starting = str(free_port()), threading.Lock()
    running = [start(folder / "net.onnx", "--port", port)]
    address = address_of(running[0])

    def die(progress):
        if progress.trials > 4 and len(running) == 1:
            end(running[0])

    def come_back(seconds):
        with starting:
            if len(running) == 1:
                running.append(start(folder / "net.onnx", "--port", port))
                assert address_of(running[1]) == address

    try:
        pausing = SimpleNamespace(**{**vars(time), "sleep": come_back})  # there alone
        monkeypatch.setattr(endpoint_connection, "time", pausing)
        with pytest.warns(SurefootWarning, match=r"tried again .* then it answered"):
            result = study(address).run(batch=4, workers=2, on_progress=die)
        assert len(running) == 2
        assert numbers(result) == numbers(study(served[0]).run(batch=4))
    finally:
        end(running[-1])


ADDRESSES = {
    "https://me:secret@host/v2/models/m": "holds a user or a password",
    "https://host/v2/models/m?token=secret": "goes on after its path",
    "https://host/models/m": "is no address of a model: write https://HOST/v2/models/NAME",
    "https://host:99999/v2/models/m": "names no host and port",
    "https:///v2/models/m": "names no host and port",
    "http://example.org/v2/models/m": "is not encrypted, and SUREFOOT_TOKEN holds a token",
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_that_would_give_a_secret_away_or_names_no_model_is_refused(
    address, monkeypatch
):
    monkeypatch.setenv("SUREFOOT_TOKEN", "a-secret-token")
    with pytest.raises(InvalidArgument, match=re.escape(ADDRESSES[address])) as refused:
        sf.load_model(address)
    assert "secret" not in str(refused.value)


def test_the_name_of_a_token_is_no_token_and_needs_an_address(monkeypatch):
    address = "https://host/v2/models/m"
    for given, sentence in (
        ("eyJ.not-a-name", "is the name of an environment variable"),
        ("NO_SUCH_VARIABLE", "is not set: give the name of one that holds the token"),
    ):
        with pytest.raises(InvalidArgument, match=sentence) as refused:
            sf.load_model(address, token_variable=given)
        assert given not in str(refused.value)
    with pytest.raises(InvalidArgument, match=r"is for a model behind HTTP, and m\.onnx is none"):
        sf.load_model("m.onnx", token_variable="MY_TOKEN")
    monkeypatch.setenv("SUREFOOT_TIMEOUT", "soon")
    with pytest.raises(InvalidArgument, match="SUREFOOT_TIMEOUT must be seconds above 0"):
        sf.load_model(address)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_a_certificate_is_verified_and_its_authority_can_be_named(tmp_path, monkeypatch):
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=here", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    server = FaultyServer(ssl_keyfile=key, ssl_certfile=certificate)
    try:
        failed(r"certificate of https.*SSL_CERT_FILE", sf.load_model, server.address)
        monkeypatch.setenv("SSL_CERT_FILE", certificate)
        assert sf.load_model(server.address).signature.classes == CLASSES
        monkeypatch.setenv("SSL_CERT_FILE", key + ".gone")
        with pytest.raises(InvalidArgument, match="SSL_CERT_FILE or SSL_CERT_DIR cannot be read"):
            sf.load_model(server.address)
    finally:
        server.stop()


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
    failed("and it is a single input: raise its limit", sf.load_model, server.address)


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
    failed(sentence, sf.load_model, server.address)


def test_a_server_that_is_too_slow_is_one_sentence(server, monkeypatch):
    short = Patience(timeout_seconds=0.1, tries=3, total_seconds=300, first_pause_seconds=0.02)
    monkeypatch.setattr(endpoint, "patience_of_user", lambda: short)
    server.fault = lambda *_: NEVER
    failed(r"does not answer within 0.1 s .* after \d tries", sf.load_model, server.address)


def test_a_server_that_hangs_is_tried_three_times_within_four_times_the_limit(monkeypatch):
    clock, tries = [0.0], []

    def hang(connection, *_, **__):
        tries.append(clock[0])
        clock[0] += connection.patience.timeout_seconds
        raise httpx.ReadTimeout("nothing came")

    def sleep(seconds):
        clock[0] += seconds

    time = SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep)
    monkeypatch.setattr(endpoint_connection, "time", time)
    monkeypatch.setattr(Connection, "_follow", hang)
    connection = Connection(read_address("http://127.0.0.1:9/v2/models/m", None), Patience(6.0))
    failed("does not answer within 6 s", connection.post, "/infer", b"", {}, 100)
    assert len(tries) == 3
    assert clock[0] <= 4 * 6.0


DRIPS = {
    "the first lines": (b"HTTP/1.1 200 OK\r\nX: ", b"a"),
    "answers before the answer": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "the size of a part": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"a"),
    "a body": (b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n", b"a"),
}


@pytest.mark.parametrize("name", DRIPS)
def test_a_server_that_sends_a_byte_now_and_then_has_no_more_time(name):
    begin, more = DRIPS[name]

    def drip(client):
        with client, suppress(OSError):
            client.sendall(begin)
            while True:
                client.sendall(more)
                time.sleep(0.02)

    def serve():
        with suppress(OSError):
            while True:
                threading.Thread(target=drip, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/v2/models/m"
        connection = Connection(read_address(address, None), Patience(0.2))
        failed("does not answer within 0.2 s", connection.post, "/infer", b"", {}, 10**7)
        listening.shutdown(socket.SHUT_RDWR)


def test_an_answer_is_no_longer_than_its_shape_allows(server):
    study = study_of(server.address)
    server.fault = lambda number, request, right: right | {"more": "x" * 2**21}
    with pytest.raises((InvalidArgument, ModelFailed), match="which is more than such an answer"):
        study.run()
    server.on_metadata = lambda stated: stated | {"more": "x" * 2**24}
    failed("more than such an answer", sf.load_model, server.address)


def test_the_first_answer_is_bounded_too(server, monkeypatch):
    monkeypatch.setattr(endpoint, "_FIRST_BYTES", 2**10)
    server.fault = lambda number, request, right: right | {"more": "x" * 2**21}
    failed("more than .* bytes.*state the shape of the output", sf.load_model, server.address)


def wider_every_second_time(number, request, right):
    """One class more in every second answer."""
    rows, columns = right["outputs"][0]["shape"]
    return answer_of(np.ones((rows, columns + 1))) if number % 2 == 0 else None


def test_a_server_that_gives_another_number_of_classes_is_one_sentence(server):
    study = study_of(server.address)
    server.fault = wider_every_second_time
    said = r"output of shape \[4\], and with \[3\] before"
    with pytest.raises((InvalidArgument, ModelChanged), match=said):
        study.run()
    with pytest.raises(ModelChanged, match=r"output of shape \[\d\], and with \[\d\] before"):
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
    failed(re.escape(sentence), sf.load_model, server.address)


def test_another_shape_and_no_server_are_refused(server, impatient):
    with pytest.raises(InvalidArgument, match=r"takes inputs of shape \(1, 4, 4\), got \(16,\)"):
        sf.load_model(server.address, shape=(16,))
    with pytest.raises(InvalidArgument, match=r"shape"):
        sf.estimate(server.address, (batch(3, (1, 5, 5)), [0, 1, 2]), "linf:0.1", bounds=(0, 1))
    server.stop()
    failed(r"cannot be reached .* after 3 tries", sf.load_model, server.address)


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
    failed("compressed form that was not asked for: serve", sf.load_model, server.address)
