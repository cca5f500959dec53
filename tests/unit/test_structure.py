"""What the style guide asks of the whole tree: words, names, no circles between files."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest
import typer.main
from typer.testing import CliRunner

from surefoot.cli.main import app
from surefoot.cli.parsing import MOST_AT_ONCE

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "surefoot"
WORDS = re.compile(
    r"slip(s|ped|ping)?|disturb\w*|told|shaken|struck|trays?|desks?|wish(es)?|pictures?"
    r"|alterations?|undisturbed"
)
"""DESIGN §10: words that the glossary replaces by one of its own."""
PARTICIPLES = {
    "asked", "chosen", "comparing", "concluding", "drawn", "found", "given", "judged", "kept",
    "looking", "made", "proving", "reading", "reached", "said", "seen", "shaken", "shown",
    "supposing", "taken", "telling", "told", "tracing", "wanted",
}  # fmt: skip
"""Names that say what happened to a thing, not what the module holds."""


def our_modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def refused_words(text: str) -> list[str]:
    """The refused words, also as parts of a name like `told_apart` or `DisturbedInput`."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", text).lower()
    return sorted({m.group() for m in re.finditer(rf"\b({WORDS.pattern})\b", apart)})


def test_the_package_uses_one_word_for_one_thing() -> None:
    files = [*our_modules(), *sorted(PACKAGE.rglob("*.j2"))]
    words = {name_of(path): refused_words(path.read_text()) for path in files}
    assert {name: refused for name, refused in words.items() if refused} == {}


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_documentation_uses_one_word_for_one_thing(page: Path) -> None:
    assert refused_words(page.read_text()) == []


@pytest.mark.parametrize("command", ["", *sorted(typer.main.get_command(app).commands)])
def test_help_uses_one_word_for_one_thing(command: str) -> None:
    for shown in ["--help-all", "--help"] if command else ["--help"]:
        printed = CliRunner().invoke(app, [*command.split(), shown])
        assert printed.exit_code == 0
        assert refused_words(printed.output) == []


@pytest.mark.parametrize("command", sorted(typer.main.get_command(app).commands))
def test_short_help_shows_few_options_and_the_long_one_all(command: str) -> None:
    made = typer.main.get_command(app).commands[command]
    names = {name for p in made.params for name in p.opts if name.startswith("--")}
    short, long = (
        set(re.findall(r"^│[ *]+(--[a-z-]+)", printed.output, re.MULTILINE))
        for printed in (
            CliRunner().invoke(app, [command, shown], env={"COLUMNS": "120"})
            for shown in ("--help", "--help-all")
        )
    )
    assert long == names | {"--help"}
    assert len(short - {"--help"}) <= MOST_AT_ONCE
    assert {p.opts[0] for p in made.params if p.required and p.opts[0] in names} <= short


def test_modules_are_named_by_what_they_hold() -> None:
    parts = {name_of(p): {p.stem, *p.stem.split("_")} & PARTICIPLES for p in our_modules()}
    assert {name: words for name, words in parts.items() if words} == {}


def circle(imports: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle, the first one found."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_file_imports_itself_through_others() -> None:
    """Circles between a package and its own modules too, which the import contracts let pass.

    A name for type checkers alone imports nothing: `Study.run` calls `run(study)`, which names the
    class of its argument.
    """
    graph = grimp.build_graph("surefoot", cache_dir=None, exclude_type_checking_imports=True)
    assert circle({m: graph.find_modules_directly_imported_by(m) for m in graph.modules}) == []
