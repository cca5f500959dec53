"""Several results on one page: a summary, then a section for each."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.report.view import Figure, View


@dataclass(frozen=True)
class Chapter:
    """One result among several: the question it answers, and its view.

    `id` is its place on the page; `about` says which model answers, where that needs saying.
    """

    id: str
    question: str
    view: View
    about: str = ""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The main figure; where a result has two, the one that no other kind of result has."""
        first = self.view.sections[0].figures if self.view.sections else ()
        return first[-1:]


@dataclass(frozen=True)
class Collection:
    """A title, what all results share in plain sentences, and the results in order.

    `closing` says what the reader can do next, each line with a command to type or without one.
    """

    title: str
    lines: tuple[str, ...]
    chapters: tuple[Chapter, ...]
    closing: tuple[tuple[str, str], ...] = ()
