"""How accurate is a classifier when its input is perturbed, and how certain is that number?

Nouns and verbs of everyday use are here; methods, perturbations, properties and results are in the
modules `methods`, `perturb`, `properties`, `population`, `results`, `claims`, `assumptions`,
`errors`, `executors`, `statistics` and `testing`. Each name is imported when it is first used, so
that `surefoot --help` is quick.

PYTEST_DONT_REWRITE: a run of pytest in a program that has imported this package is not warned of.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # a signal is answered before `typing` is imported
if TYPE_CHECKING:
    from typing import Any

    from surefoot import errors, executors, perturb, population, properties, statistics, testing
    from surefoot.catalogue import methods
    from surefoot.catalogue.parse import parse_perturbation
    from surefoot.catalogue.registry import parse_property
    from surefoot.commands.functions import (
        certify,
        check_evidence,
        compare,
        critical,
        curve,
        doctor,
        estimate,
        init,
        load,
        plan,
        smooth,
        suite,
        tail,
        tally,
    )
    from surefoot.core import assumptions, claims, reasons, results
    from surefoot.core.claims import Claim, Verdict
    from surefoot.core.results import Undecided
    from surefoot.engine.smoothed_model import Smoothed
    from surefoot.evidence.envelope import new_key
    from surefoot.evidence.write import write_evidence
    from surefoot.gate.check_study import run_studies
    from surefoot.inputs import Selection, load_inputs, read_brackets
    from surefoot.models import load_model
    from surefoot.report.reasons import reason_words
    from surefoot.report.sentences import sentences
    from surefoot.store.outcomes import check_store, repair_run, runs
    from surefoot.store.rescue import rescue_runs
    from surefoot.study import Result, Study, select, sweep
    from surefoot.study.draw_sheet import contact_sheet
    from surefoot.study.external import brackets
    from surefoot.study.read_store import read_result, read_study
    from surefoot.testing.robust import assert_robust

__version__ = "0.1.0"

__all__ = [
    "Claim",
    "Result",
    "Selection",
    "Smoothed",
    "Study",
    "Undecided",
    "Verdict",
    "assert_robust",
    "assumptions",
    "brackets",
    "certify",
    "check_evidence",
    "check_store",
    "claims",
    "compare",
    "contact_sheet",
    "critical",
    "curve",
    "doctor",
    "errors",
    "estimate",
    "executors",
    "init",
    "load",
    "load_inputs",
    "load_model",
    "methods",
    "new_key",
    "parse_perturbation",
    "parse_property",
    "perturb",
    "plan",
    "population",
    "properties",
    "read_brackets",
    "read_result",
    "read_study",
    "reason_words",
    "reasons",
    "repair_run",
    "rescue_runs",
    "results",
    "run_studies",
    "runs",
    "select",
    "sentences",
    "smooth",
    "statistics",
    "suite",
    "sweep",
    "tail",
    "tally",
    "testing",
    "write_evidence",
]

_NAMES = {
    "catalogue.parse": "parse_perturbation",
    "catalogue.registry": "parse_property",
    "commands.functions": "certify check_evidence compare critical curve "
    "doctor estimate init load plan smooth suite tail tally",
    "core.claims": "Claim Verdict",
    "core.results": "Undecided",
    "engine.smoothed_model": "Smoothed",
    "evidence.envelope": "new_key",
    "evidence.write": "write_evidence",
    "gate.check_study": "run_studies",
    "inputs": "Selection load_inputs read_brackets",
    "models": "load_model",
    "report.reasons": "reason_words",
    "report.sentences": "sentences",
    "store.outcomes": "check_store repair_run runs",
    "store.rescue": "rescue_runs",
    "study": "Result Study select sweep",
    "study.draw_sheet": "contact_sheet",
    "study.external": "brackets",
    "study.read_store": "read_result read_study",
    "testing.robust": "assert_robust",
}
"""The names that a module defines; a name of `__all__` that is not here is itself a module."""
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names.split()}

_ROOM_OF = {
    **dict.fromkeys(("assumptions", "claims", "reasons", "results"), "core"),
    "methods": "catalogue",
}
"""The room of a public module that has one."""


def __getattr__(name: str) -> Any:  # noqa: ANN401  any public name
    if name in _MODULE_OF:
        return getattr(import_module(f"surefoot.{_MODULE_OF[name]}"), name)
    if name in __all__:
        return import_module(".".join(filter(None, ("surefoot", _ROOM_OF.get(name), name))))
    raise AttributeError(f"module 'surefoot' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
