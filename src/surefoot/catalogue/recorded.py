"""A perturbation made again from what a record says of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surefoot.catalogue.registry import COMBINED, PERTURBATIONS
from surefoot.errors import InvalidArgument
from surefoot.perturb.table.columns import Feature, OneHot
from surefoot.subject.protocols import Perturbation


def perturbation_of(kind: str, options: Mapping[str, Any]) -> Perturbation:
    """A perturbation of the catalogue, and its parts, from what a record says of it."""
    catalogue = PERTURBATIONS | COMBINED
    if kind not in catalogue:
        raise InvalidArgument(f"{kind} is not in the catalogue: run the study again in Python")
    values = {name: _value(value) for name, value in options.items()}
    perturbation: Perturbation = catalogue[kind](**values)
    return perturbation


def _value(value: Any) -> Any:  # noqa: ANN401  what JSON holds
    if isinstance(value, list):
        return tuple(map(_value, value))
    if not isinstance(value, dict):
        return value
    if "kind" in value:
        return perturbation_of(value["kind"], {n: v for n, v in value.items() if n != "kind"})
    fields = {name: _value(part) for name, part in value.items()}
    return OneHot(**fields) if "names" in fields else Feature(**fields)
