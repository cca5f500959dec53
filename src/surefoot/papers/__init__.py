"""The five papers that surefoot unites: their tables and figures, made with surefoot.

`PAPERS` lists them; `make` makes one table or figure and returns an `Exhibit`.
"""

from surefoot.commands.function import python_function
from surefoot.papers import make_exhibit as _make
from surefoot.papers.catalogue import PAPERS
from surefoot.papers.exhibit import Column, Exhibit, Sheet
from surefoot.papers.paper import Paper, Part

make = python_function(_make.make)

__all__ = ["PAPERS", "Column", "Exhibit", "Paper", "Part", "Sheet", "make"]
