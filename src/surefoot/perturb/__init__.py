"""Perturbations: frozen values that draw and apply on NumPy and Torch arrays alike.

All of them are imported with the first name that is used from here. A worker process finds its own
by the module that defines it, and imports no other.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surefoot.perturb.catalogue import *  # noqa: F403

_LISTS = ("CATALOGUE", "COMBINED", "UNLISTED", "SIGNALS", "TEXTS", "__all__")


def __getattr__(name: str) -> Any:  # noqa: ANN401  any public name
    every = import_module("surefoot.perturb.catalogue")
    if name not in _LISTS and name not in every.__all__:
        raise AttributeError(f"module 'surefoot.perturb' has no attribute {name!r}")
    return getattr(every, name)


def __dir__() -> list[str]:
    return sorted(__getattr__("__all__"))
