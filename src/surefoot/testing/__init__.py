"""Conformance suites for parts of your own: call them in your tests; they raise AssertionError.

from surefoot.testing import check_perturbation
def test_my_noise_conforms():
    check_perturbation(MyNoise(0.1), shape=(3, 8, 8))
"""

from surefoot.testing.journals import check_journal
from surefoot.testing.models import check_model
from surefoot.testing.perturbations import check_image_perturbation, check_perturbation
from surefoot.testing.procedures import check_procedure, outcomes
from surefoot.testing.stores import check_store

__all__ = [
    "check_image_perturbation",
    "check_journal",
    "check_model",
    "check_perturbation",
    "check_procedure",
    "check_store",
    "outcomes",
]
