"""What of a recorded source names code that reading it again would run."""

from __future__ import annotations

import re

from surefoot.records.record import Source

_PYTHON_NAME = re.compile(r"(?:[A-Za-z_][\w.]*|.*\.py):[A-Za-z_][\w.]*", re.DOTALL)
"""A model such as mymodel:scores or mymodel.py:scores."""
_PYTHON_PART = re.compile(r"(?:^|[+|])\s*@|\.py\s*:")
"""A perturbation such as @mine:dim or mine.py:dim:0.1, alone or as a part of one; a property."""


def named_code(source: Source) -> tuple[str, ...]:
    """Models, perturbations and properties that are Python names; models read with trust."""
    models = source.models or (source.model,)
    trusted = bool(source.reading.get("trust"))
    named = [name for name in models if trusted or _PYTHON_NAME.fullmatch(name)]
    written = (source.perturb, source.property)
    return (*named, *(text for text in written if _PYTHON_PART.search(text)))
