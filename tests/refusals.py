"""Refusals and failures of models as tests expect them: the error, in one sentence."""

from collections.abc import Callable
from typing import Any

import pytest

from surefoot.errors import InvalidArgument, ModelFailed, SurefootError


def refused(match: str, call: Callable[..., object], /, *args: Any, **options: Any) -> str:
    """The sentence with which the call is refused; `match` is searched in it."""
    return raised(InvalidArgument, match, call, *args, **options)


def failed(match: str, call: Callable[..., object], /, *args: Any, **options: Any) -> str:
    """The sentence with which a model fails in the call."""
    return raised(ModelFailed, match, call, *args, **options)


def raised(
    kind: type[SurefootError],
    match: str,
    call: Callable[..., object],
    /,
    *args: Any,
    **options: Any,
) -> str:
    """The sentence of this error of the call."""
    with pytest.raises(kind, match=match or None) as caught:
        call(*args, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)
