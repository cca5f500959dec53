"""The commands as `sf.estimate`, `sf.curve` and so on.

Their options are keyword arguments, and they take `progress`.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from surefoot.commands import certify as _certify
from surefoot.commands import compare as _compare
from surefoot.commands import critical as _critical
from surefoot.commands import curve as _curve
from surefoot.commands import estimate as _estimate
from surefoot.commands import init as _init
from surefoot.commands import plan as _plan
from surefoot.commands import request as _request
from surefoot.commands import smooth as _smooth
from surefoot.commands import suite as _suite
from surefoot.commands import tail as _tail
from surefoot.commands import tally as _tally
from surefoot.commands import verify as _verify
from surefoot.commands.caller import Caller, choose_display
from surefoot.commands.option import Groups, check_options, expanded_signature
from surefoot.commands.values import AnyData, AnyModel, Given, check_distinct, is_plain
from surefoot.engine.devices import prepare_gpu
from surefoot.errors import InvalidArgument
from surefoot.study import Result, Study
from surefoot.study.study import compare as compare_studies
from surefoot.study.study import compare_results

R = TypeVar("R")
_PROGRESS = inspect.Parameter(
    "progress", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=bool | None
)
"""None: where somebody watches, that is in a notebook and on a terminal."""


def python_function(function: Callable[..., R]) -> Callable[..., R]:
    """The function with every class of options replaced by keyword arguments.

    A name that is no option is refused, with the near ones. A function that takes a `caller` takes
    `progress` instead: True, False, or None for where somebody watches.
    """
    takes_caller = "caller" in inspect.signature(function).parameters
    groups = Groups.of(function)
    signature = expanded_signature(function, groups, [_PROGRESS] if takes_caller else [])

    every = signature.parameters.values()
    many = "".join(p.name for p in every if p.kind is inspect.Parameter.VAR_POSITIONAL)

    @functools.wraps(function)
    def call(*arguments: Given, **named: Given) -> R:
        check_options(function.__name__, groups, signature, named)
        values = dict(signature.bind(*arguments, **named).arguments)
        check_distinct({n: p.default for n, p in signature.parameters.items()} | values)
        prepare_gpu(values.get("device"))
        words = call_in_words(function.__name__, signature, values)
        if takes_caller:
            display = choose_display(values.pop("progress", None))
            values["caller"] = Caller(words, display, remark=warnings.warn)
        chosen = groups.build(values)
        if many:
            return function(*values.pop(many, ()), **chosen, **values)
        return function(**chosen, **values)

    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__annotations__ = {}
    return call


def call_in_words(name: str, signature: inspect.Signature, values: Mapping[str, Given]) -> str:
    """The line of Python that repeats the call; empty where a value cannot be written down."""
    if not all(is_plain(value) for value in values.values()):
        return ""
    words = []
    for parameter in signature.parameters.values():
        if parameter.name in values and parameter.name != "progress":
            value = values[parameter.name]
            text = repr(str(value) if isinstance(value, Path) else value)
            named = parameter.kind is inspect.Parameter.KEYWORD_ONLY
            words.append(f"{parameter.name}={text}" if named else text)
    return f"sf.{name}({', '.join(words)})"


estimate = python_function(_estimate.estimate)
certify = python_function(_certify.certify)
tail = python_function(_tail.tail)
curve = python_function(_curve.curve)
critical = python_function(_critical.critical)
doctor = python_function(_plan.doctor)
init = python_function(_init.init)
plan = python_function(_plan.plan)
smooth = python_function(_smooth.smooth)
suite = python_function(_suite.suite)
tally = python_function(_tally.tally)
load = python_function(_request.load)
check_evidence = python_function(_verify.check_evidence)
_compare_models = python_function(_compare.compare)


@functools.wraps(_compare_models)
def compare(models: AnyModel, data: AnyData = None, *arguments: Given, **options: Given) -> Result:  # noqa: D103  it is that of the function below
    if data is not None:
        return _compare_models(models, data, *arguments, **options)
    given = list(models.values()) if isinstance(models, Mapping) else []
    if given and all(isinstance(one, Result) for one in given):
        return compare_results(models, **options)
    if not isinstance(models, Mapping) or not all(isinstance(one, Study) for one in given):
        raise InvalidArgument(
            "compare needs models, data and a perturbation, or a dict of studies or of results by "
            "name: pass one of these"
        )
    return compare_studies(models, **options)
