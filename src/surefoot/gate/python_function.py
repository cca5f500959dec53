"""`sf.run_studies`: the function with every option as a keyword argument."""

from surefoot.commands.functions import python_function
from surefoot.gate import run_studies as _module

run_studies = python_function(_module.run_studies)
