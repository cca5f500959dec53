"""Refusals and failures of models as tests expect them: the error, in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from surefoot.errors import InvalidArgument, ModelFailed, SurefootError


def refused(match: str, call: Callable[..., object], *args: Any, **options: Any) -> str:
    """The sentence with which the call is refused; `match` is searched in it."""
    return _sentence(InvalidArgument, match, call, args, options)


def failed(match: str, call: Callable[..., object], *args: Any, **options: Any) -> str:
    """The sentence with which a model fails in the call."""
    return _sentence(ModelFailed, match, call, args, options)


def _sentence(
    kind: type[SurefootError],
    match: str,
    call: Callable[..., object],
    args: tuple[Any, ...],
    options: dict[str, Any],
) -> str:
    with pytest.raises(kind, match=match or None) as caught:
        call(*args, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)
