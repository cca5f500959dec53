"""`serve`: the runs of stores in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from surefoot.cli import options as o
from surefoot.cli.terminal import HOLDS

_HOST, _PORT = "127.0.0.1", 8420


def serve(
    store: Annotated[
        list[str] | None,
        typer.Option("--store", help="File or postgresql:// URL with runs; may be repeated."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; another than this machine needs a token.")
    ] = _HOST,
    port: Annotated[int, typer.Option(help="Port to listen on; 0 is any free one.")] = _PORT,
    token_env: Annotated[
        str | None,
        typer.Option(
            "--token-env", help="Environment variable with the token that readers must give."
        ),
    ] = None,
    replay: Annotated[
        list[str] | None,
        typer.Option(
            "--replay",
            help="Let readers replay trials of runs whose model and data are in this folder; may "
            "be repeated.",
        ),
    ] = None,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="With --replay: run code, ask servers that a run names."),
    ] = False,
) -> int:
    """Show the runs of one or several stores in a browser: list, live progress, reports, inputs.

    Stores are only read. Ctrl-C ends it.

    Example: surefoot serve --store surefoot.db
    """
    from surefoot.serve.server import Server
    from surefoot.serve.settings import Settings, token_from

    settings = Settings(
        tuple(store or [o.DEFAULT_STORE]),
        host,
        port,
        token_from(token_env),
        tuple(Path(folder) for folder in replay or ()),
        trust,
    )
    server = Server(settings)
    server.start()
    typer.echo(f"{server.address} shows {_stores(settings.stores)}; Ctrl-C ends it")
    server.wait()
    typer.echo("the dashboard has ended")
    return HOLDS


def _stores(stores: tuple[str, ...]) -> str:
    from surefoot.store.locations import public_location

    return public_location(stores[0]) if len(stores) == 1 else f"{len(stores)} stores"
