"""What the style guide asks of the whole tree: words, names, no circles, one place for a class."""

import ast
import re
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import grimp
import pytest
import typer.main
from typer.testing import CliRunner

import surefoot
from surefoot.catalogue import methods
from surefoot.catalogue.methods import METHODS
from surefoot.catalogue.registry import PERTURBATIONS, PROPERTIES
from surefoot.cli.main import app
from surefoot.cli.parsing import MOST_AT_ONCE
from surefoot.core.counts import Counts
from surefoot.core.procedure import Needs
from surefoot.models.endpoint import EndpointModel
from surefoot.models.onnx import OnnxModel
from surefoot.models.python import PythonModel
from surefoot.models.torch import TorchModel
from surefoot.store import MemoryStore
from surefoot.store.sql import SqlStore
from surefoot.testing import check_procedure
from tests.equality.canonical import RESULTS, read_lines
from tests.unit.test_fitting import SMALL

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


def test_help_uses_one_word_for_one_thing() -> None:
    """The kept texts, which tests/equality finds to be those of today."""
    kept = read_lines(RESULTS / "helps.json").values()
    printed = [texts["out"] for help in kept for texts in (help, help.get("all", help))]
    assert refused_words("\n".join(printed)) == []


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


SOURCE = Path(surefoot.__file__).parent
TESTS = Path(__file__).parents[1]
DOCS = TESTS.parent / "docs"
MODELS = (EndpointModel, OnnxModel, PythonModel, TorchModel)
STORES = (MemoryStore, SqlStore)

OWN_ROLE = {
    "Attack": {"commands/options.py", "engine/attack_search.py"},  # beside sampling
    "PGD": {
        "commands/options.py", "engine/attack_bench.py", "engine/attack_search.py",
        "study/measure.py",
    },
    "AttackFunction": {
        "commands/options.py", "engine/attack_bench.py", "study/measure.py",
        "evidence/recompute.py",
    },
    "CriticalLevel": {"commands/critical.py", "study/external.py"},
    "CriticalQuantile": {  # one search over all inputs, where others go input by input
        "commands/critical.py", "conclude/radii.py",
    },
    "NormalTail": {"statistics/splitting.py"},  # beside it
    "SetMean": {"population/cells.py"},  # a cell of a suite is one
    "KappaTest": {"conclude/accuracy.py", "population/family.py"},  # all inputs go on together
    "SmoothedRadius": {"commands/smooth.py", "conclude/facts.py"},  # a radius, and its noise
    "CellMean": {"study/study.py"},
    "CellPasses": {"study/study.py"},
    "PopulationMean": {"study/study.py"},
    "SameLabel": {  # the default
        "engine/perturbation_checks.py", "engine/smoothed_model.py", "study/parts.py",
    },
    "PublishedDoubling": {  # promises nothing: no claim, requirement or single trial as of others
        "commands/request.py", "conclude/accuracy.py", "conclude/sampling.py",
    },
    "SqlStore": {"store/rescue.py"},  # a damaged file of SQLite is saved into a new one
    "TrueLabel": {"study/parts.py"},  # the default where labels are known
}  # fmt: skip


@cache
def trees() -> dict[str, ast.Module]:
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text())
        for path in SOURCE.rglob("*.py")
    }


@cache
def named_classes() -> dict[str, set[int]]:
    """By file: what it imports from the package or takes from `perturb`, each by its id."""
    named: dict[str, set[int]] = {}
    for name, tree in trees().items():
        things = named[name] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("surefoot"):
                module = import_module(node.module)
                things.update(id(getattr(module, alias.name, None)) for alias in node.names)
            match node:
                case ast.Attribute(value=ast.Name(id="perturb"), attr=attribute):
                    things.add(id(getattr(surefoot.perturb, attribute, None)))
    return named


def files_that_name(class_: type) -> set[str]:
    """Files of the package, besides the class's own module."""
    home = Path(sys.modules[class_.__module__].__file__).relative_to(SOURCE).as_posix()
    return {
        name for name, things in named_classes().items() if name != home and id(class_) in things
    }


def registries(class_: type) -> set[str]:
    """The files that name a class besides its own module."""
    if class_ in PERTURBATIONS.values():
        return {"perturb/catalogue.py"}
    if class_ in METHODS.values():
        return {f"{class_.__module__.split('.')[1]}/__init__.py", "catalogue/methods.py"}
    return {"properties/__init__.py"} if class_ in PROPERTIES.values() else set()


def test_a_class_is_named_in_its_module_and_the_lists_of_its_kind(torch):
    """And nowhere else; a model adapter in its own module alone."""
    every = [*PERTURBATIONS.values(), *METHODS.values(), *PROPERTIES.values(), *MODELS]
    for class_ in every:
        named = files_that_name(class_) - OWN_ROLE.get(class_.__name__, set())
        assert named == registries(class_), class_
    for class_ in STORES:  # by import, or as text in the table of URL schemes
        assert class_.__name__ in (SOURCE / "store" / "__init__.py").read_text()
        named = files_that_name(class_) - OWN_ROLE.get(class_.__name__, set())
        assert named <= {"store/__init__.py"}


def test_every_exception_is_needed(torch):
    listed = (PERTURBATIONS, METHODS, PROPERTIES)
    classes = {c.__name__: c for c in (*STORES, *(c for d in listed for c in d.values()))}
    for name, files in OWN_ROLE.items():
        assert files <= files_that_name(classes[name]), name


def test_every_method_can_be_had_from_the_list_of_methods():
    assert {class_.__name__ for class_ in METHODS.values()} <= set(methods.__all__)
    assert all(getattr(methods, name).__doc__ for name in methods.__all__)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_page(name):
    folders = (DOCS / "methods", DOCS / "how-to")
    pages = "".join(page.read_text() for folder in folders for page in folder.glob("*.md"))
    assert name.removesuffix("-curve") in pages or METHODS[name].__name__ in pages


COUNTING = [
    name for name, m in METHODS.items() if m.needs is Needs.SAMPLES and m.evidence is Counts
]


@pytest.mark.parametrize("name", COUNTING)
def test_every_method_that_counts_conforms(name):
    check_procedure(SMALL[name])
