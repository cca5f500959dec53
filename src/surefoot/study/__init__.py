"""The frozen specification of one study, and the run that answers it."""

from surefoot.study.load_files import select
from surefoot.study.result import Result
from surefoot.study.study import Study, compare, sweep

__all__ = ["Result", "Study", "compare", "select", "sweep"]
