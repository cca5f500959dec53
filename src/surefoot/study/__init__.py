"""The frozen specification of one assessment, and the run that answers it."""

from surefoot.study.assessment import Assessment
from surefoot.study.comparing import compare, sweep
from surefoot.study.proving import prove
from surefoot.study.selecting import select
from surefoot.study.spec import Study
from surefoot.study.tracing import trace

__all__ = ["Assessment", "Study", "compare", "prove", "select", "sweep", "trace"]
