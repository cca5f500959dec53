"""The commands as `sf.estimate`, `sf.curve` and so on."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from surefoot.commands import certify as _certify
from surefoot.commands import compare as _compare
from surefoot.commands import critical as _critical
from surefoot.commands import curve as _curve
from surefoot.commands import doctor as _doctor
from surefoot.commands import estimate as _estimate
from surefoot.commands import plan as _plan
from surefoot.commands import tail as _tail
from surefoot.commands import verify as _verify
from surefoot.commands.function import python_function
from surefoot.errors import InvalidArgument
from surefoot.study import Result, Study
from surefoot.study.comparison import compare as compare_studies
from surefoot.study.load_files import FileOptions

_NAMES = {"FileOptions": FileOptions, "Result": Result}
estimate = python_function(_estimate.estimate, _NAMES)
certify = python_function(_certify.certify, _NAMES)
tail = python_function(_tail.tail, _NAMES)
curve = python_function(_curve.curve, _NAMES)
critical = python_function(_critical.critical, _NAMES)
doctor = python_function(_doctor.doctor, _NAMES)
plan = python_function(_plan.plan, _NAMES)
check_evidence = python_function(_verify.check_evidence, _NAMES)
_compare_models = python_function(_compare.compare, _NAMES)


@functools.wraps(_compare_models)
def compare(models: Any, data: Any = None, *arguments: Any, **options: Any) -> Result:  # noqa: ANN401, D103  any kinds of models
    if data is not None:
        return _compare_models(models, data, *arguments, **options)
    if not isinstance(models, Mapping) or not all(isinstance(m, Study) for m in models.values()):
        raise InvalidArgument(
            "compare needs models, data and a perturbation, or a dict of studies by name: pass "
            "either"
        )
    return compare_studies(models, **options)
