"""The five papers that surefoot unites: their tables and figures, made with its public API alone.

`PAPERS` lists them; `make` makes one table or figure and returns an `Exhibit`. In a shell:
`python -m papers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from papers import asap_figures, bu_sun_figures, mu_lim, roma, sigma
from papers.exhibit import Column, Exhibit, Sheet
from papers.paper import PART_OPTIONS, InvalidArgument, Paper, Part, Request

__all__ = ["PAPERS", "Column", "Exhibit", "Paper", "Part", "Sheet", "make", "make_all"]

PAPERS = {
    one.name: one
    for one in (bu_sun_figures.PAPER, mu_lim.PAPER, roma.PAPER, sigma.PAPER, asap_figures.PAPER)
}
"""Each paper with its tables and figures, by the name that `python -m papers` takes."""


def make(
    paper: str,
    table: str | int | None = None,
    figure: str | int | None = None,
    models: Any = (),
    **options: Any,
) -> Exhibit:
    """Make one table or figure of a paper.

    `models`: one or several, in a list or by name in a dict. Options: those of the part
    (`PAPERS["asap"].part(table=1).options`), how models and `data` are read, as for `sf.estimate`,
    `brackets` for tables made from certified radii, `quick` for a small version, on the embedded
    networks if none are given; `seed`, `store`, `workers` and `progress`.

    Example: papers.make("asap", table=1, models=["model.onnx"], data="test.npz")
    """
    known = paper_named(paper)
    if (table is None) == (figure is None):
        raise InvalidArgument("choose either a table (--table 1) or a figure (--figure 1)")
    return Request.of(known.part(table, figure), models, options).make()


def make_all(paper: str, models: Any = (), **options: Any) -> Iterator[Exhibit]:
    """Every table and figure of a paper that can be made from what is given, one after the other.

    Each takes those of the options that it reads.
    """
    for part in paper_named(paper).parts:
        own = {n: v for n, v in options.items() if n not in PART_OPTIONS or n in part.options}
        request = Request.of(part, models, own)
        if not request.missing:
            request.announce(f"{part.name}: {part.title}")
            yield request.make()


def paper_named(name: str) -> Paper:
    """The paper of this name."""
    if name not in PAPERS:
        raise InvalidArgument(f"there is no paper {name!r}: choose one of {', '.join(PAPERS)}")
    return PAPERS[name]
