"""The dashboard as an ASGI application."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from surefoot.core.claims import Verdict
from surefoot.errors import InvalidArgument, SurefootError
from surefoot.records.record import Example
from surefoot.serve import guard as values
from surefoot.serve import runs
from surefoot.serve.guard import HEALTH, Guard
from surefoot.serve.live import StorePoller, live_messages
from surefoot.serve.pages import policy_of_report, render, script, stylesheet
from surefoot.serve.replay import ReplayedTrial, Replayer
from surefoot.serve.runs import Filter, ListedRun, State, comparability, run_page, with_headlines
from surefoot.serve.settings import Settings
from surefoot.serve.stores import NotThere, ServedStore, served_stores
from surefoot.serve.trends import Trend, trends
from surefoot.store.runs import FirstFailure, RunLine
from surefoot.system.user_code import raised_words

_MOST_ROWS = 200_000
"""Of a journal that is searched for the first failures of a page: half a second."""
_MOST_WATCHERS = 64
"""Pages that watch at the same time."""
_READERS, _WRITERS = 8, 2
"""Pages of whole results, and files or replays, that are made at the same time: each holds one of
the forty threads that answer, and the list of runs needs one too."""
_MOST_QUEUED = 64
"""Requests that wait for their turn, of each of both kinds."""
PIECE = 2**18
"""Bytes of a download that are sent before the next ones are."""

_Page = Callable[[Request], Response]


class Turns:
    """Pages of one kind: a few at a time, a limited number in line, in the order they came."""

    def __init__(self, at_once: int) -> None:
        self._free, self._queued = asyncio.Semaphore(at_once), 0

    async def take(
        self, page: Callable[..., Response], request: Request, *more: dict[str, str]
    ) -> Response:
        """The page, made in a thread; nothing for a reader who has gone meanwhile."""
        if self._queued >= _MOST_QUEUED:
            headers = {"Retry-After": "10"}
            return PlainTextResponse("busy: try again in a few seconds", 503, headers)
        self._queued += 1
        try:
            async with self._free:
                if await request.is_disconnected():
                    return Response(status_code=503)
                return await run_in_threadpool(page, request, *more)
        finally:
            self._queued -= 1

    def __call__(self, page: _Page) -> Callable[[Request], Awaitable[Response]]:
        """The page as a route."""

        async def answer(request: Request) -> Response:
            return await self.take(page, request)

        return answer


@dataclass
class Dashboard:
    """What all pages share: the stores, their pollers, and who may replay."""

    settings: Settings
    stores: tuple[ServedStore, ...] = field(init=False)
    pollers: tuple[StorePoller, ...] = field(init=False)
    replayer: Replayer = field(init=False)
    form_key: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    watchers: int = 0
    readers: Turns = field(default_factory=lambda: Turns(_READERS))
    writers: Turns = field(default_factory=lambda: Turns(_WRITERS))

    def __post_init__(self) -> None:
        self.stores = served_stores(self.settings.stores)
        self.pollers = tuple(StorePoller(store) for store in self.stores)
        self.replayer = Replayer(self.settings)

    def list_runs(self, request: Request) -> Response:
        """The list of runs."""
        store = values.text(request, "store")
        wanted = Filter(
            values.text(request, "q"),
            values.text(request, "state"),
            values.whole(store, "store") if store else None,
            values.text(request, "verdict"),
            bool(values.text(request, "cells")),
        )
        page = run_page(self.stores, wanted, values.whole(values.text(request, "page"), "page", 1))
        return HTMLResponse(
            render(
                "runs.html.j2",
                page=page, wanted=wanted, states=State, verdicts=Verdict, stores=self.stores,
            )
        )  # fmt: skip

    def show_run(self, request: Request) -> Response:
        """What is known of one run, and where more is."""
        store, line = self._run(request)
        result = store.result(line) if line.finished else None
        (listed,) = with_headlines([(store, line)], [])
        view = None if result is None else result.view
        trend = self._trend(line, [])
        page = render("run.html.j2", run=listed, view=view, result=result, trend=trend)
        return HTMLResponse(page)

    def trends(self, request: Request) -> Response:
        """The questions that several versions of a model answered; of one run, its own."""
        name, problems = values.text(request, "run"), list[str]()
        if not name:
            found = trends(self.stores, problems)
            return HTMLResponse(render("trends.html.j2", trends=found, problems=problems))
        _, line = self._stored(*name.partition(":")[::2])
        trend = self._trend(line, problems)
        if trend is None:
            raise NotThere(
                f"run {line.digest[:12]} has no other version yet: run the same study of another "
                "model"
            )
        return HTMLResponse(render("trend.html.j2", trend=trend, problems=problems))

    def _trend(self, line: RunLine, problems: list[str]) -> Trend | None:
        found = trends(self.stores, problems, line.question) if line.question else []
        own = (t for t in found if line.digest in {run.line.digest for run in t.runs})
        return next(own, None)

    def report(self, request: Request) -> Response:
        """The report, as `surefoot report` writes it."""
        store, line = self._run(request)
        page = store.report(line)
        return HTMLResponse(page, headers={"Content-Security-Policy": policy_of_report(page)})

    def json(self, request: Request) -> Response:
        """The whole result for machines, as a download."""
        store, line = self._run(request)
        name = f"surefoot-{line.digest[:12]}.json"
        return _download(store.result(line).to_json().encode(), name)

    def evidence(self, request: Request) -> Response:
        """The evidence file as a download, unsigned, as its name says."""
        store, line = self._run(request)
        name = f"surefoot-{line.digest[:12]}.unsigned.evidence.json"
        return _download(store.evidence(line), name)

    def inputs(self, request: Request) -> Response:
        """The table of inputs."""
        store, line = self._run(request)
        wanted = runs.InputFilter(
            values.text(request, "q"),
            values.text(request, "class"),
            values.text(request, "state"),
            values.share(values.text(request, "least"), "least"),
            values.text(request, "sort") or "weakest",
        )
        number = values.whole(values.text(request, "page"), "page", 1)
        result = store.result(line)
        page = runs.input_page(result.record, wanted, number)
        rows = page.rows
        if rows and line.rows <= _MOST_ROWS:
            first = store.first_failures(line, [row.id for row in rows])
            rows = runs.with_failures(rows, first)
        return HTMLResponse(
            render(
                "inputs.html.j2",
                run=ListedRun(store, line),
                result=result, page=page, rows=rows, wanted=wanted, states=runs.STATES,
                sorts=tuple(runs.SORTS), least=values.text(request, "least"),
            )
        )  # fmt: skip

    def one_input(self, request: Request) -> Response:
        """One input with its failing trial."""
        store, line = self._run(request)
        return self._input_page(store, line, request.query_params.get("id", ""))

    async def replay(self, request: Request) -> Response:
        """One trial run again: only from a form of our own."""
        fields = await values.form(request)
        if not hmac.compare_digest(fields.get("key", "").encode(), self.form_key.encode()):
            raise InvalidArgument("this form is out of date: open the page of the input again")
        return await self.writers.take(self._replay, request, fields)

    def compare(self, request: Request) -> Response:
        """Two runs side by side."""
        names = request.query_params.getlist("run")
        if len(names) != 2:
            raise InvalidArgument(f"choose two runs of the list to compare, got {len(names)}")
        # as the list names runs: number of the store, colon, digest
        pair = [self._stored(*name.partition(":")[::2]) for name in names]
        results = [store.result(line) for store, line in pair]
        runs = [with_headlines([one], [])[0] for one in pair]
        answer = comparability(results[0].record, results[1].record)
        shown = list(zip(runs, (result.view for result in results), strict=True))
        return HTMLResponse(render("compare.html.j2", runs=shown, answer=answer))

    async def live(self, request: Request) -> Response:
        """Server-sent events on all stores."""
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        if self.watchers >= _MOST_WATCHERS:
            return PlainTextResponse("too many pages watch: close some", 503)

        self.watchers += 1  # here, before the next request is looked at
        return _Watch(live_messages(self.pollers), self._leave)

    def health(self, request: Request) -> Response:
        """That it answers, for whoever watches the service."""
        return PlainTextResponse("ok")

    def style(self, request: Request) -> Response:
        """The stylesheet."""
        return Response(stylesheet(), media_type="text/css")

    def script(self, request: Request) -> Response:
        """The script of pages that watch."""
        return Response(script(), media_type="text/javascript")

    def _leave(self) -> None:
        self.watchers -= 1

    def _replay(self, request: Request, fields: dict[str, str]) -> Response:
        store, line = self._run(request)
        subject = fields.get("input", "")
        result = store.result(line)
        trial = fields.get("trial", "").strip()
        if trial:
            number = values.whole(trial, "trial")
            among = FirstFailure(number, number + 1)
        else:
            known = store.first_failures(line, [subject])
            among = known.get(subject, FirstFailure(0, 1))
        source = result.record.source
        replayed = self.replayer.replay(store.where, line.digest, source, subject, among)
        return self._input_page(store, line, subject, replayed)

    def _input_page(
        self, store: ServedStore, line: RunLine, name: str, replayed: ReplayedTrial | None = None
    ) -> Response:
        record = store.result(line).record
        row = runs.one_input(record, name)
        if row is None:
            raise NotThere(
                f"there is no input {name[:60]!r} in run {line.digest[:12]}: choose one of its list"
            )
        failures = store.first_failures(line, [name])
        page = render(
            "input.html.j2",
            run=ListedRun(store, line),
            row=runs.with_failures([row], failures)[0],
            sampled=isinstance(row.example, Example),
            replayed=replayed,
            replay=self.replayer.is_on,
            key=self.form_key,
        )
        return HTMLResponse(page)

    def _run(self, request: Request) -> tuple[ServedStore, RunLine]:
        parts = request.path_params
        return self._stored(str(parts["store"]), str(parts["run"]))

    def _stored(self, number: str, digest: str) -> tuple[ServedStore, RunLine]:
        at = values.whole(number, "store")
        if at >= len(self.stores):
            raise NotThere(
                f"there is no store {at}: {len(self.stores)} are served; choose one of the list"
            )
        store = self.stores[at]
        return store, store.line(digest)


class _Watch(StreamingResponse):  # type: ignore[misc]  # starlette may not be installed
    """Messages to a page that watches; `leave` is called at their end, whatever ends them."""

    def __init__(self, messages: AsyncIterator[str], leave: Callable[[], None]) -> None:
        super().__init__(messages, media_type="text/event-stream")
        self._leave = leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._leave()


def _download(content: bytes, name: str) -> Response:
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Length": str(len(content)),
    }

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(content), PIECE):
            yield content[start : start + PIECE]

    return StreamingResponse(pieces(), media_type="application/json", headers=headers)


_RUN_ADDRESS = "/runs/{store}/{run}"
_WORDS = {404: "there is no such page", 405: "this page takes no such request"}


def create_app(settings: Settings) -> Guard:
    """The application with all its pages; every store is opened for reading alone."""
    pages = Dashboard(settings)
    routes = [
        Route("/", pages.list_runs),
        Route("/live", pages.live),
        Route(HEALTH, pages.health),
        Route("/compare", pages.readers(pages.compare)),
        Route("/trends", pages.readers(pages.trends)),
        Route("/static/style.css", pages.style),
        Route("/static/live.js", pages.script),
        Route(_RUN_ADDRESS, pages.readers(pages.show_run)),
        Route(f"{_RUN_ADDRESS}/report", pages.readers(pages.report)),
        Route(f"{_RUN_ADDRESS}/json", pages.writers(pages.json)),
        Route(f"{_RUN_ADDRESS}/evidence", pages.writers(pages.evidence)),
        Route(f"{_RUN_ADDRESS}/inputs", pages.readers(pages.inputs)),
        Route(f"{_RUN_ADDRESS}/input", pages.readers(pages.one_input)),
        Route(f"{_RUN_ADDRESS}/replay", pages.replay, methods=["POST"]),
    ]
    handlers = dict.fromkeys((HTTPException, SurefootError, OverflowError, Exception), _problem)
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Guard(app, settings)


def _problem(request: Request, error: Exception) -> Response:
    """An error that we raise on purpose is a sentence on the page."""
    status, sentence, headers = 503, str(error), {}
    if isinstance(error, HTTPException):
        status, headers = error.status_code, dict(error.headers or {})
        sentence = _WORDS.get(status, error.detail)
    elif isinstance(error, OverflowError):  # a sealed record may still hold infinity for a share
        sentence = "this run has a number that cannot be: surefoot show --check says more"
    elif isinstance(error, NotThere | InvalidArgument):
        status = 404 if isinstance(error, NotThere) else 400
    elif not isinstance(error, SurefootError):
        status, sentence = 500, f"a fault in surefoot, please report it: {raised_words(error)}"
    page = render("problem.html.j2", title="That did not work", sentences=[sentence])
    return HTMLResponse(page, status, headers)
