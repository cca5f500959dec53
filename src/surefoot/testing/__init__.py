"""Robustness in your tests, and conformance suites for parts of your own.

import surefoot as sf
def test_the_model_is_robust():
    sf.assert_robust("model.onnx", "test.npz", "linf:8/255", at_least=0.95)

from surefoot.testing import check_perturbation

def test_my_noise_conforms():
    check_perturbation(MyNoise(0.1), shape=(3, 8, 8))

All raise AssertionError. Each name is imported when it is first used: pytest loads this package
with its plugin `surefoot.testing.pytest_plugin`, in every run.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # a plugin that every run of pytest loads imports no `typing`
if TYPE_CHECKING:
    from typing import Any

    from surefoot.testing.assertions import NotRobust, RobustnessUndecided
    from surefoot.testing.conformance import (
        check_image_perturbation,
        check_journal,
        check_model,
        check_perturbation,
        check_procedure,
        check_store,
        outcomes,
    )
    from surefoot.testing.robust import assert_robust

__all__ = [
    "NotRobust",
    "RobustnessUndecided",
    "assert_robust",
    "check_image_perturbation",
    "check_journal",
    "check_model",
    "check_perturbation",
    "check_procedure",
    "check_store",
    "outcomes",
]

_MODULE_OF = {
    **dict.fromkeys(("NotRobust", "RobustnessUndecided"), "assertions"),
    "assert_robust": "robust",
}
"""Where a name is defined that is not in `conformance`."""


def __getattr__(name: str) -> Any:  # noqa: ANN401  any public name
    if name not in __all__:
        raise AttributeError(f"module 'surefoot.testing' has no attribute {name!r}")
    return getattr(import_module(f"surefoot.testing.{_MODULE_OF.get(name, 'conformance')}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
