"""The five papers that surefoot unites: their tables and figures, made with surefoot.

`PAPERS` lists them; `make` makes one table or figure and returns an `Exhibit`. Each name is
imported when it is first used, so that `surefoot --help` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from papers.catalogue import PAPERS
    from papers.exhibit import Column, Exhibit, Sheet
    from papers.function import make
    from papers.paper import Paper, Part

__all__ = ["PAPERS", "Column", "Exhibit", "Paper", "Part", "Sheet", "make"]

_MODULE_OF = {
    "PAPERS": "catalogue",
    **dict.fromkeys(("Column", "Exhibit", "Sheet"), "exhibit"),
    **dict.fromkeys(("Paper", "Part"), "paper"),
    "make": "function",
}
"""Where each name is defined."""


def __getattr__(name: str) -> Any:  # noqa: ANN401  any public name
    if name in _MODULE_OF:
        return getattr(import_module(f"papers.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'papers' has no attribute {name!r}")
