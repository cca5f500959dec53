"""Who may read a dashboard: hosts, tokens, origins, sizes, and the headers of every answer."""

import asyncio
import os
import signal
import socket
import sqlite3
import threading
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from surefoot.errors import InvalidArgument, Stopped, StoreFailed
from surefoot.serve.settings import Settings, token_from
from surefoot.store import database, open_store
from surefoot.testing.conformance import example_spec

pytest.importorskip("starlette")
import httpx
from starlette.requests import ClientDisconnect, Request
from typer.testing import CliRunner

from surefoot.cli.main import app as cli
from surefoot.serve import app, guard
from surefoot.serve.app import Dashboard, create_app
from surefoot.serve.server import Server
from surefoot.serve.stores import ServedStore
from tests.unit.test_serve import client_of

TOKEN = "a-token-of-24-characters"
RUN = "/runs/0/" + "c" * 64


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("guard") / "runs.db")
    with closing(open_store(path)) as store:
        store.begin("c" * 64, example_spec(1), None, {})
    return path


@pytest.fixture
def client(where):
    return client_of(where)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8420", 200),
        ("localhost:9", 200),
        ("[::1]:8420", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost@evil.example", 421),
        ("evil.example@127.0.0.1", 421),
        ("127.0.0.1/evil.example", 421),
        ("[", 421),
        ("", 421),
    ],
)
def test_a_name_that_leads_here_by_dns_alone_is_refused(client, host, status):
    assert client.get("/", headers={"host": host}).status_code == status


def test_the_address_that_is_printed_is_answered(where):
    client = client_of(where, base="http://127.0.0.2:8420", host="127.0.0.2")
    assert client.get("/").status_code == 200
    assert client.get("/", headers={"host": "127.0.0.3"}).status_code == 421


@pytest.mark.parametrize(
    "path", ["/", RUN, "/static/style.css", "/static/live.js", "/nope", "/?page=x"]
)
def test_every_answer_has_the_headers_that_keep_it_apart(client, path):
    headers = client.get(path).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"


def test_requests_that_no_page_sends_are_refused_in_a_sentence(client):
    assert client.head("/").status_code == client.head("/live").status_code == 200
    unknown = {"/nope": 404, f"/runs/0/{'d' * 64}": 404, "/runs/7/x": 404, "/runs/x/x": 400}
    refused = {**unknown, "/compare?run=a": 400, f"/?q={'x' * 3000}": 414}
    assert {path: client.get(path).status_code for path in refused} == refused
    own = {"origin": "http://127.0.0.1:8420"}
    assert client.post("/", headers=own).status_code == 405
    assert client.post(f"{RUN}/replay", headers=own, content=b"x" * 9000).status_code == 413
    chunks = (b"x" * 1000 for _ in range(9))
    assert client.post(f"{RUN}/replay", headers=own, content=chunks).status_code == 400
    many = client.post(f"{RUN}/replay", headers=own, content="&".join(["a=1"] * 30))
    assert many.status_code == 400
    assert "at most 20 fields" in many.text
    assert 'role="alert"' in client.get("/nope").text


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "https://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "http://127.0.0.1:8420", "sec-fetch-site": "cross-site"},
    ],
)
def test_a_form_of_another_site_is_refused(where, headers, tmp_path):
    client = client_of(where, folders=(tmp_path,))
    assert client.post(f"{RUN}/replay", headers=headers).status_code == 403
    own = {"origin": "http://127.0.0.1:8420"}
    without_key = client.post(f"{RUN}/replay", headers=own, content="input=a&trial=1&key=guess")
    assert "out of date" in without_key.text


def test_a_token_opens_the_dashboard_once_and_a_cookie_then(where):
    client = client_of(where, base="http://host.example:80", host="0.0.0.0", token=TOKEN)
    for path in ("/", RUN, "/live", f"{RUN}/json", "/?token=wrong", "/?token="):
        refused = client.get(path)
        assert refused.status_code == 401
        assert "c" * 12 not in refused.text
        assert "set-cookie" not in refused.headers
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert client.get("/", headers=bearer).status_code == 200
    assert client.get("/", headers={"authorization": "Bearer wrong"}).status_code == 401
    assert client.get("/", headers={"cookie": "surefoot_session=wrong"}).status_code == 401
    assert client.get("/health").text == "ok"
    opened = client.get(f"/?q=a&token={TOKEN}")
    cookie = opened.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert TOKEN not in opened.text + cookie
    assert 'url=/?q=a"' in opened.text
    assert client.get("/").status_code == 200
    for token in (TOKEN, "old", ""):
        again = client.get(f"/?token={token}&q=a", follow_redirects=False)
        assert (again.status_code, again.headers["location"]) == (303, "/?q=a")
    away = client_of(where, base="http://host.example:80", host="0.0.0.0", token=TOKEN)
    assert "url=/%5Cevil" in away.get(f"/%5Cevil.example/?token={TOKEN}").text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"host": "0.0.0.0"}, "--token-env"),
        ({"host": "192.168.1.4"}, "--no-token is for this machine"),
        ({"host": "::"}, "--no-token is for this machine"),
        ({"host": "localhost.evil.example"}, "--no-token is for this machine"),
        ({"port": 70000}, "from 0 to 65535, got 70000"),
        ({"stores": ()}, "needs a store"),
        ({"stores": ("a.db", "a.db")}, "named twice"),
        ({"trust": True}, "--trust is for --replay"),
    ],
)
def test_settings_that_open_more_than_was_meant_are_refused(changes, words):
    with pytest.raises(InvalidArgument, match=words):
        Settings(**{"stores": ("a.db",), **changes})


def test_a_token_comes_from_the_environment_and_is_never_printed(monkeypatch):
    monkeypatch.setenv("SHORT", "short")
    monkeypatch.setenv("GOOD", TOKEN)
    assert token_from("GOOD") == TOKEN
    assert TOKEN not in repr(Settings(("a.db",), token=TOKEN))
    for name in ("SHORT", "NOT_SET"):
        with pytest.raises(InvalidArgument) as refusal:
            token_from(name)
        assert "short" not in str(refusal.value)


@pytest.mark.parametrize("words", [(), ("--no-token",), ("--token-env", "GOOD")])
def test_the_printed_link_opens_the_dashboard_unless_the_token_is_ones_own(
    where, words, monkeypatch
):
    monkeypatch.setenv("GOOD", TOKEN)
    monkeypatch.setattr(Server, "run", lambda own, began: (began(), own._socket.close()))
    settings = []
    monkeypatch.setattr(app, "create_app", settings.append)
    printed = CliRunner().invoke(cli, ["serve", "--store", where, "--port", "0", *words])
    link = urlsplit(printed.stdout.split()[0])
    token = {(): f"token={settings[0].token}"}.get(words, "")
    assert link.query == token
    assert (settings[0].token is None) == ("--no-token" in words)
    both = ["serve", "--store", where, "--no-token", "--token-env", "GOOD"]
    assert "exclude each other" in str(CliRunner().invoke(cli, both).exception)


def test_a_port_in_use_and_a_store_that_is_not_there_are_one_sentence(where, tmp_path):
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidArgument, match=f"port {port} of 127.0.0.1 is in use"):
            Server(Settings((where,), port=port))
    Path(tmp_path / "other.db").write_bytes(b"SQLite format 3")
    with pytest.raises(StoreFailed, match=r"there is no store at .*none\.db: check the path$"):
        Server(Settings((str(tmp_path / "none.db"),), port=0))
    beside = str(Path(where).with_name("none.db"))
    os.mkfifo(Path(where).with_name("pipe.db"))
    with pytest.raises(StoreFailed, match=r"check the path; in this folder there is runs\.db$"):
        Server(Settings((beside,), port=0))


@pytest.fixture
def address(where):
    """Of a server that runs."""
    server = Server(Settings((where,), port=0))
    server.start()
    yield "127.0.0.1", int(server.address.rsplit(":", 1)[1].strip("/"))
    server.stop()


def is_answered(connection, request=b"GET /static/live.js HTTP/1.1\r\nHost: localhost\r\n\r\n"):
    connection.settimeout(60)
    connection.sendall(request)
    return connection.recv(4096).startswith(b"HTTP/1.1 200")


def test_half_a_request_is_given_up_and_others_are_answered(address, monkeypatch):
    monkeypatch.setattr(guard, "REQUEST_SECONDS", 0.05)
    start = b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"
    for part in (b"", start, start + b"\r\nabc"):
        with closing(socket.create_connection(address)) as slow:
            slow.settimeout(60)
            with suppress(ConnectionError):  # it may be closed before anything is sent
                slow.sendall(part)
                while slow.recv(4096):
                    pass
    monkeypatch.setattr(guard, "REQUEST_SECONDS", 60)
    with closing(socket.create_connection(address)) as whole:
        assert is_answered(whole)


def test_wrong_tokens_are_limited_and_known_readers_are_not(where, monkeypatch):
    client, known = (client_of(where, token=TOKEN) for _ in range(2))
    client.app = known.app
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert known.get(f"/?token={TOKEN}").status_code == 200
    assert list(known.cookies) == ["surefoot_session_8420"]  # of this port alone
    wrong = [client.get(path, headers=headers).status_code
             for path, headers in [("/?token=wrong", {}), ("/", {"authorization": "Bearer x"})]
             for _ in range(6)]  # fmt: skip
    assert wrong == [401] * 10 + [429] * 2
    assert client.get("/", headers=bearer).status_code == 429  # not looked at either
    assert client.get("/").status_code == 401  # the page that asks
    assert client.get("/health").status_code == 200
    assert known.get("/").status_code == 200
    monkeypatch.setattr(guard, "GUESS_SECONDS", 0)
    assert client.get("/", headers=bearer).status_code == 200


def test_who_guesses_does_not_keep_out_the_owner_of_a_token_that_nobody_guesses(where):
    client, token = client_of(where, token="x" * 32), "x" * 32
    assert [client.get("/?token=wrong").status_code for _ in range(12)][-1] == 429
    assert client.get("/", headers={"authorization": f"Bearer {token}"}).status_code == 200
    assert client.get(f"/?token={token}").status_code == 200


def test_half_open_connections_take_no_place_of_others(address):
    """More than are served at all: the oldest go, and a whole request is answered."""
    with ExitStack() as stack:
        for _ in range(300):
            half = stack.enter_context(closing(socket.create_connection(address)))
            with suppress(ConnectionError):
                half.sendall(b"GET / HTTP/1.1\r\n")
        assert is_answered(stack.enter_context(closing(socket.create_connection(address))))
        assert is_answered(half, b"Host: localhost\r\n\r\n")  # the youngest stays


def test_long_work_leaves_threads_for_the_list(where, monkeypatch):
    """More downloads than there are threads, none of which ends before the list is there."""
    go_on, begun = threading.Event(), threading.Semaphore(0)

    def evidence(self, line):
        begun.release()
        assert go_on.wait(60)
        return b"{}"

    monkeypatch.setattr(ServedStore, "evidence", evidence)
    served = create_app(Settings((where,)))

    async def ask():
        transport = httpx.ASGITransport(served)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            downloads = [asyncio.create_task(client.get(f"{RUN}/evidence")) for _ in range(70)]
            await asyncio.to_thread(begun.acquire)
            listed = await asyncio.wait_for(client.get("/"), 60)
            go_on.set()
            answers = [await download for download in downloads]
        assert listed.status_code == 200
        codes = [answer.status_code for answer in answers]
        assert (codes.count(200), codes.count(503)) == (64, 6)

    asyncio.run(ask())


def test_a_signal_ends_the_server_before_its_socket_is_closed(where, monkeypatch):
    failed = []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    server = Server(Settings((where,), port=0))
    waiting = Server.run.__code__

    def stop(_, frame):
        while frame is not None and frame.f_code is not waiting:
            frame = frame.f_back
        if frame is not None and begun.is_set() and not stopped:
            stopped.append(True)
            raise Stopped

    begun, stopped = threading.Event(), []
    known = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)  # again and again, until it waits
    try:
        server.run(begun.set)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, known)
    assert server._ended.wait(60)
    assert (stopped, failed, server._socket.fileno()) == ([True], [], -1)


def test_pages_that_watch_are_counted_before_the_next_one_is_let_in(where):
    dashboard = Dashboard(Settings((where,)))
    request = Request({"type": "http", "method": "GET", "headers": []})

    async def watch():
        answers = [await dashboard.live(request) for _ in range(65)]
        assert [answer.status_code for answer in answers] == [*[200] * 64, 503]

        async def fail(_):
            raise OSError

        for answer in answers[:64]:
            with suppress(ClientDisconnect):
                await answer({"type": "http", "asgi": {"spec_version": "2.4"}}, fail, fail)

    asyncio.run(watch())
    assert dashboard.watchers == 0


def test_a_locked_store_is_a_sentence_within_seconds(where, client, monkeypatch):
    monkeypatch.setattr(database, "_READ_TIMEOUT_SECONDS", 0.01)
    monkeypatch.setattr(database, "_LOCK_TIMEOUT_SECONDS", 3600)
    with closing(sqlite3.connect(where)) as db:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        page = client.get("/")
    assert page.status_code == 200
    assert "is in use by another process" in page.text
