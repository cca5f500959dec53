"""Adding something touches little: a class is named in its own module and in one registry.

A perturbation: its module and `perturb/catalogue`. A property: its module and
`properties/__init__`. A method: its module, its package and `catalogue/methods`. A model adapter:
its own module. A store: its module and `open_store`. Where a class is used for what it is, and not
as one of many, that is stated here.
"""

import ast
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import surefoot
from surefoot.catalogue import methods
from surefoot.catalogue.methods import METHODS
from surefoot.catalogue.registry import PERTURBATIONS, PROPERTIES
from surefoot.core.counts import Counts
from surefoot.core.procedure import Needs
from surefoot.models.endpoint import EndpointModel
from surefoot.models.onnx import OnnxModel
from surefoot.models.python import PythonModel
from surefoot.models.torch import TorchModel
from surefoot.store import MemoryStore
from surefoot.store.sql import SqlStore
from surefoot.testing import check_procedure
from tests.unit.test_fitting import SMALL

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


def test_a_class_is_named_in_its_module_and_the_lists_of_its_kind():
    """And nowhere else; a model adapter in its own module alone."""
    every = [*PERTURBATIONS.values(), *METHODS.values(), *PROPERTIES.values(), *MODELS]
    for class_ in every:
        named = files_that_name(class_) - OWN_ROLE.get(class_.__name__, set())
        assert named == registries(class_), class_
    for class_ in STORES:  # by import, or as text in the table of URL schemes
        assert class_.__name__ in (SOURCE / "store" / "__init__.py").read_text()
        named = files_that_name(class_) - OWN_ROLE.get(class_.__name__, set())
        assert named <= {"store/__init__.py"}


def test_every_exception_is_needed():
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
