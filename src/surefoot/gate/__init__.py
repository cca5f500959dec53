"""A file of studies and requirements, checked together: `surefoot run study.toml`.

`read_gate` and `check_study` are the seam: the command line, `sf.run_studies` and the tests of
pytest all read a file with the first and run each of its studies with the second.
"""

from surefoot.gate.check_study import check_study, prepare_study
from surefoot.gate.gate import Gate, GateStudy, GateVerdict, Outcome, Regression, StudyOutcome
from surefoot.gate.read_gate import read_gate

__all__ = [
    "Gate",
    "GateStudy",
    "GateVerdict",
    "Outcome",
    "Regression",
    "StudyOutcome",
    "check_study",
    "prepare_study",
    "read_gate",
]
