"""`python -m papers`: the tables and figures of five papers, made with surefoot."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import surefoot as sf
from papers import PAPERS, Exhibit, Paper, make, make_all, paper_named
from papers.exhibit import check_name, page_of, write_whole
from papers.paper import FILE_OPTIONS, PART_OPTIONS, STORE, InvalidArgument, Option

ERROR = 3
"""The exit code of a refusal: 1 and 2 are verdicts of surefoot's own commands."""
_ABOUT = """Make the tables and figures of five papers with your own models, or with embedded ones.
Without a paper: the list of papers. With a paper alone: its tables and figures. With --quick or
with models and data, and without --table and --figure: all of them, on one page with --report.
Example: python -m papers asap --table 1 --quick"""
_OUTPUT = {
    "table": Option("The table of this number."),
    "figure": Option("The figure of this number."),
    "models": Option("Model files: --models a.onnx b.onnx", "several"),
    "data": Option("Inputs, as for estimate."),
    "brackets": Option("File of brackets, for tables made from certified radii (CSV)."),
    "quick": Option("A small version; without models and data, on the embedded ones.", "flag"),
    "report": Option("Write the HTML report to this file."),
    "save": Option("Write the table (.csv, .md, .tex) or the figure (.svg, .png, .pdf, .json)."),
    "json": Option("Print the whole result as JSON.", "flag"),
}
_RUN = {
    "seed": Option("Random seed.", "integer", 0, 1),
    "store": Option(
        "File or postgresql:// URL of the evidence; the same command resumes from it.",
        "text",
        0,
        STORE,
    ),
    "workers": Option("Worker threads (default: chosen for the model).", "integer", 1),
}
_GROUPS = {
    "What to make": _OUTPUT,
    "Options of tables and figures": PART_OPTIONS,
    "Running": _RUN,
    "Reading model and data, choosing inputs: as for `surefoot estimate`": {
        name: Option("", kind) for name, kind in FILE_OPTIONS.items()
    },
}


_HOW: dict[str, dict[str, Any]] = {
    "texts": {"action": "append", "metavar": "text"},
    "several": {"nargs": "+", "metavar": "file"},
    "flag": {"action": "store_true"},
}
"""How options of a kind are given; others have one value."""
_REPEATED = [f"--{name}" for name, option in PART_OPTIONS.items() if option.kind == "texts"]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence, as of any other refusal."""
        raise InvalidArgument(f"{message}: try 'python -m papers --help'")


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; a refusal is one sentence on stderr and exit code 3."""
    typed = list(sys.argv[1:] if words is None else words)
    warnings.showwarning = lambda message, *_, **__: _say(str(message))
    try:
        for word in typed:
            if word.startswith("--") and typed.count(word) > 1 and word not in _REPEATED:
                raise InvalidArgument(f"{word} is given twice, and one value is lost: give it once")
        _run(typed, vars(_parser().parse_args(typed)))
    except BrokenPipeError:  # nobody reads any more, as in `python -m papers | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (sf.errors.SurefootError, OSError) as error:
        _say(f"papers: {error}")
        return ERROR
    except KeyboardInterrupt:
        _say("papers: stopped: the same command continues from what is in the store")
        return ERROR
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m papers",
        usage="python -m papers [paper] [--table N | --figure N] [options]",
        description=_ABOUT,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paper", nargs="?", help=f"{', '.join(PAPERS)}; without it: a list.")
    for title, options in _GROUPS.items():
        group = parser.add_argument_group(title)
        for name, option in options.items():
            how: dict[str, Any] = _HOW.get(option.kind, {"metavar": option.kind})
            flag, text = f"--{name.replace('_', '-')}", option.text.replace("%", "%%")
            group.add_argument(flag, default=option.default, help=text, **how)
    return parser


def _run(typed: Sequence[str], values: dict[str, Any]) -> None:
    paper, table, figure, models = (values.pop(n) for n in ("paper", "table", "figure", "models"))
    asked = {n: values.pop(n) for n in ("report", "save", "json")}
    every = {name: option for group in _GROUPS.values() for name, option in group.items()}
    values = {n: v if v is None else every[n].read(n, v) for n, v in values.items()}
    if paper is None:
        _list_papers()
        return
    known, chosen = paper_named(paper), table is not None or figure is not None
    if not chosen and not (models or values["data"] or values["brackets"] or values["quick"]):
        _list_parts(known)
        return
    if asked["save"] is not None:
        if not chosen:
            raise InvalidArgument("--save is for one table or figure: add --table 1 or --figure 1")
        check_name(asked["save"], known.part(table, figure).name)
    for path in filter(None, (asked["report"], asked["save"])):  # before hours of work
        if Path(path).is_dir() or not Path(path).absolute().parent.is_dir():
            raise InvalidArgument(f"{path} is no file in a folder that is there: name one")
    # the command as it was typed, without the password of a store
    public = [re.sub(r"(postgresql://[^:/@]+):[^@]*@", r"\1@", word) for word in typed]
    command = f"python -m papers {shlex.join(public)}"
    values |= {"command": command, "progress": True, "announce": _say}
    if chosen:
        exhibits = [make(paper, table, figure, models or (), **values)]
    else:
        exhibits = [
            replace(exhibit, command=_command_of(exhibit.name, exhibit.command))
            for exhibit in make_all(paper, models or (), **values)
        ]
    _present(known, exhibits, asked, whole=not chosen)


def _present(
    paper: Paper, exhibits: Sequence[Exhibit], asked: dict[str, Any], *, whole: bool
) -> None:
    if asked["report"] is not None:
        lead = (f"{paper.authors}, {paper.published}.", paper.summary)
        page = page_of(exhibits, paper.title, lead) if whole else exhibits[0].page()
        _say(f"report written to {write_whole(asked['report'], page)}")
    if asked["save"] is not None:
        _say(f"written to {exhibits[0].save(asked['save'])}")
    if asked["json"]:
        plain = [exhibit.plain() for exhibit in exhibits]
        print(json.dumps(plain if whole else plain[0], ensure_ascii=False))
    else:
        print("\n\n".join(map(str, exhibits)))


def _command_of(part: str, command: str) -> str:
    """The command that makes one part, from the one that makes all of them."""
    words = shlex.split(command)
    for name, length in (("--report", 2), ("--json", 1)):
        while name in words:
            del words[words.index(name) : words.index(name) + length]
    kind, number = part.split(" ", 1)
    return shlex.join([*words[:4], f"--{kind}", number, *words[4:]])


def _list_papers() -> None:
    for paper in PAPERS.values():
        print(f"{paper.name}\n  {paper.authors}: {paper.title} ({paper.published})")
        print(f"  {paper.summary}")
    print("\nTables and figures of one: python -m papers asap")


def _list_parts(paper: Paper) -> None:
    print(f"{paper.authors}: {paper.title} ({paper.published})\n{paper.summary}\n")
    needs = {"models": "--models model.onnx", "data": "--data test.npz",
             "brackets": "--brackets results.csv"}  # fmt: skip
    for part in paper.parts:
        kind, number = part.name.split(" ", 1)
        command = f"python -m papers {paper.name} --{kind} {number}"
        print(
            f"{part.name}: {part.title}\n  {' '.join([command, *(needs[n] for n in part.needs)])}"
        )
        if part.options:
            options = [_typed(n, v) for n, v in part.options.items() if v is not None]
            print(f"  as in the paper: {' '.join(options)}")
    print(f"\nAll of them, small: python -m papers {paper.name} --quick")


def _typed(name: str, value: Any) -> str:
    """The option as it is typed: texts one by one, numbers with commas."""
    values, flag = value if isinstance(value, tuple) else (value,), f"--{name.replace('_', '-')}"
    if any(isinstance(one, str) for one in values):
        return " ".join(f"{flag} {one}" for one in values)
    return f"{flag} {','.join(f'{one:g}' for one in values)}"


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")


if __name__ == "__main__":
    sys.exit(main())
