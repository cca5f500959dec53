"""The dashboard as an ASGI application."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from surefoot.errors import InvalidArgument, SurefootError
from surefoot.serve.guard import Guard
from surefoot.serve.pages import render
from surefoot.serve.routes import Dashboard
from surefoot.serve.settings import Settings
from surefoot.serve.stores import NotThere
from surefoot.system.user_code import raised_words

_RUN = "/runs/{store}/{run}"
_WORDS = {404: "there is no such page", 405: "this page takes no such request"}


def create_app(settings: Settings) -> Guard:
    """The application with all its pages; every store is opened for reading alone."""
    pages = Dashboard(settings)
    routes = [
        Route("/", pages.list_runs),
        Route("/live", pages.live),
        Route("/compare", pages.compare),
        Route("/static/style.css", pages.style),
        Route("/static/live.js", pages.script),
        Route(_RUN, pages.show_run),
        Route(f"{_RUN}/report", pages.report),
        Route(f"{_RUN}/json", pages.json),
        Route(f"{_RUN}/evidence", pages.evidence),
        Route(f"{_RUN}/inputs", pages.inputs),
        Route(f"{_RUN}/input", pages.one_input),
        Route(f"{_RUN}/replay", pages.replay, methods=["POST"]),
    ]
    handlers = {
        HTTPException: _http_problem,
        SurefootError: _problem,
        OverflowError: _no_number,
        Exception: _fault,
    }
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Guard(app, settings)


def _http_problem(request: Request, error: HTTPException) -> Response:
    sentence = _WORDS.get(error.status_code, error.detail)
    return _page(error.status_code, sentence, dict(error.headers or {}))


def _problem(request: Request, error: SurefootError) -> Response:
    """An error that we raise on purpose is a sentence on the page."""
    status = 503
    if isinstance(error, NotThere):
        status = 404
    elif isinstance(error, InvalidArgument):
        status = 400
    return _page(status, str(error), {})


def _no_number(request: Request, error: OverflowError) -> Response:
    """A record may be sealed and still hold infinity for a share."""
    return _page(503, "this run has a number that cannot be: surefoot show --check says more", {})


def _fault(request: Request, error: Exception) -> Response:
    return _page(500, f"a fault in surefoot, please report it: {raised_words(error)}", {})


def _page(status: int, sentence: str, headers: dict[str, str]) -> Response:
    page = render("problem.html.j2", title="That did not work", sentences=[sentence])
    return HTMLResponse(page, status, headers)
