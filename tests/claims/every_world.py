"""All worlds: every module of this folder enters its own into the registry."""

import importlib
import pkgutil

import tests.claims
from tests.claims.worlds import WORLDS

for _module in pkgutil.iter_modules(tests.claims.__path__):
    if not _module.name.startswith("test_") and _module.name != "every_world":
        importlib.import_module(f"tests.claims.{_module.name}")

__all__ = ["WORLDS"]
