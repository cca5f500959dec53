"""`python -m papers`: the tables and figures of five papers, made with surefoot."""

from __future__ import annotations

import json as jsonlib
import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from papers import make_exhibit as papers_of
from papers.catalogue import PAPERS
from papers.paper import Paper
from surefoot.cli import options as o
from surefoot.cli.options import OnceCommand
from surefoot.cli.terminal import HOLDS, open_console, print_view, progress_on_stderr
from surefoot.commands.caller import Caller
from surefoot.commands.output_files import check_file, check_page_file, check_text_file
from surefoot.errors import InvalidArgument, SurefootError
from surefoot.store.locations import public_location

if TYPE_CHECKING:
    from papers.exhibit import Exhibit


ERROR = 3
"""The exit code of a refusal: 1 and 2 are verdicts of the package's own commands."""
app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(cls=OnceCommand)
@o.options_of(papers_of.make)
def papers(
    paper: Annotated[
        str | None, typer.Argument(help="bu-sun, mu-lim, roma, sigma or asap; without it: a list.")
    ] = None,
    more_models: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    *,
    table: Annotated[str | None, typer.Option(help="The table of this number.")] = None,
    figure: Annotated[str | None, typer.Option(help="The figure of this number.")] = None,
    models: Annotated[
        list[str] | None, typer.Option(help="Model files: --models a.onnx b.onnx")
    ] = None,
    report: o.ReportOption = None,
    save: Annotated[
        str | None,
        typer.Option(help="Write the table (.csv, .md, .tex) or the figure (.svg, .png, .json)."),
    ] = None,
    json: o.Json = False,
    **options: Any,  # noqa: ANN401  handed on as they are
) -> int:
    """Make the tables and figures of five papers with your own models, or with embedded ones.

    Without a paper: the list of papers. With a paper alone: its tables and figures. With --quick or
    with models and data, and without --table and --figure: all of them, on one page with --report.

    Example: python -m papers asap --table 1 --quick
    """
    from papers.save import check_kind, check_name
    from papers.save import save as save_exhibit

    if paper is None:
        return _list_papers()
    known = papers_of.paper_named(paper)
    every = [*(models or ()), *(more_models or ())]
    chosen = table is not None or figure is not None
    sources = options["sources"]
    if not chosen and not (every or sources.data or sources.brackets or sources.quick):
        return _list_parts(known)
    check_page_file("report", report)
    if save is not None:
        if not chosen:
            raise InvalidArgument("--save is for one table or figure: add --table 1 or --figure 1")
        check_name(save)
        check_kind(known.part(table, figure), save)
        (check_file if save.endswith(".png") else check_text_file)(save)
    caller = Caller(_command_line(), progress_on_stderr, announce=_say, remark=_say)
    if chosen:
        exhibits = [papers_of.make(paper, table, figure, every, **options, caller=caller)]
    else:
        exhibits = [
            replace(exhibit, command=_command_of(exhibit.name, caller.command))
            for exhibit in papers_of.make_all(paper, every, **options, caller=caller)
        ]
    if report is not None:
        _write_page(known, exhibits, report, whole=not chosen)
    if save is not None:
        _say(f"written to {save_exhibit(exhibits[0], save)}")
    return _present(exhibits, as_json=json, whole=not chosen)


def _command_of(part: str, command: str) -> str:
    """The command that makes one part, from the one that makes all of them."""
    words = shlex.split(command)
    for name in ("--report", "--json"):
        while name in words:
            place = words.index(name)
            del words[place : place + (2 if name == "--report" else 1)]
    kind, number = part.split(" ", 1)
    return shlex.join([*words[:4], f"--{kind}", number, *words[4:]])


def _write_page(paper: Paper, exhibits: list[Exhibit], report: str, *, whole: bool) -> None:
    from pathlib import Path

    from papers.exhibit import view_of_paper
    from surefoot.report.page import write_page

    if whole:
        by = f"{paper.authors}, {paper.published}."
        write_page(view_of_paper(paper.title, (by, paper.summary), exhibits), Path(report))
    else:
        exhibits[0].report(report)
    _say(f"report written to {report}")


def _present(exhibits: list[Exhibit], *, as_json: bool, whole: bool) -> int:
    if as_json:
        plain = [exhibit.plain() for exhibit in exhibits]
        typer.echo(jsonlib.dumps(plain if whole else plain[0], ensure_ascii=False))
        return HOLDS
    for i, exhibit in enumerate(exhibits):
        if i:
            typer.echo()
        print_view(exhibit.view)
    return HOLDS


def _list_papers() -> int:
    console = open_console()
    for paper in PAPERS.values():
        console.print(paper.name, style="bold", markup=False)
        console.print(f"  {paper.authors}: {paper.title} ({paper.published})", markup=False)
        console.print(f"  {paper.summary}", markup=False)
    console.print("\nTables and figures of one: python -m papers asap", markup=False)
    return HOLDS


def _list_parts(paper: Paper) -> int:
    console = open_console()
    console.print(f"{paper.authors}: {paper.title} ({paper.published})", markup=False)
    console.print(f"{paper.summary}\n", markup=False)
    for part in paper.parts:
        kind, number = part.name.split(" ", 1)
        needs = {
            "models": "--models model.onnx",
            "data": "--data test.npz",
            "brackets": "--brackets results.csv",
        }
        command = " ".join(
            [f"python -m papers {paper.name} --{kind} {number}", *(needs[n] for n in part.needs)]
        )
        console.print(f"{part.name}: {part.title}", style="bold", markup=False)
        console.print(f"  {command}", markup=False)
        if part.options:
            options = " ".join(
                _words(f"--{n.replace('_', '-')}", v)
                for n, v in part.options.items()
                if v is not None
            )
            console.print(f"  as in the paper: {options}", markup=False)
    console.print(f"\nAll of them, small: python -m papers {paper.name} --quick", markup=False)
    return HOLDS


def _words(name: str, value: Any) -> str:  # noqa: ANN401  what a user gives
    """The option as it is typed: texts one by one, numbers with commas."""
    values = value if isinstance(value, list | tuple) else (value,)
    if any(isinstance(one, str) for one in values):
        return " ".join(f"{name} {one}" for one in values)
    return f"{name} {','.join(f'{one:g}' for one in values)}"


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")


def _command_line() -> str:
    """The command as it was typed, without the password of a store."""
    return "python -m papers " + shlex.join(public_location(word) for word in sys.argv[1:])


def main() -> int:
    """Run the command; an error is one sentence on stderr and exit code 3."""
    try:
        code = app(prog_name="python -m papers", standalone_mode=False)
    except SurefootError as error:
        sentence = str(error)
    except typer.Abort:
        sentence = "stopped: the same command continues from what is in the store"
    except Exception as error:
        if not hasattr(error, "format_message"):  # of a word that cannot be read as an option
            raise
        sentence = f"{error.format_message().rstrip('.')}: try 'python -m papers --help'"
    else:
        return code if isinstance(code, int) else 0
    _say(f"papers: {sentence}")
    return ERROR


if __name__ == "__main__":
    sys.exit(main())
