"""How a result is cited: surefoot itself, and the paper whose method was used."""

from __future__ import annotations

from collections.abc import Iterable

from surefoot.catalogue.methods import METHODS

BU_SUN = (
    "H. Bu and M. Sun, Measuring Robustness of Deep Neural Networks from the Lens of Statistical "
    "Model Checking, IJCNN 2023"
)
MU_LIM = (
    "W. Mu and K. H. Lim, Towards Precise Observations of Neural Model Robustness in "
    "Classification, ICSE Companion 2024"
)
ROMA = (
    "N. Levy and G. Katz, RoMA: a Method for Neural Network Robustness Measurement and "
    "Assessment, 2021"
)
KIELHOEFER = (
    "L. L. Kielhöfer, Robustness Measure for Deep Neural Networks, thesis, Universiteit Leiden 2024"
)
ASAP = (
    "P. Arcaini, A. Bombarda, S. Bonfanti and A. Gargantini, Efficient Computation of Robustness "
    "of Convolutional Neural Networks, AITest 2021"
)
OKAMOTO = (
    "M. Okamoto, Some inequalities relating to the partial sum of binomial probabilities, Annals "
    "of the Institute of Statistical Mathematics 10, 1958"
)
CHEN = (
    "Z. Chen and X. Chen, Exact group sequential methods for estimating a binomial proportion, 2013"
)
MADRY = (
    "A. Madry, A. Makelov, L. Schmidt, D. Tsipras and A. Vladu, Towards Deep Learning Models "
    "Resistant to Adversarial Attacks, ICLR 2018"
)
PUBLISHED = {
    "bu-sun": BU_SUN,
    "okamoto": OKAMOTO,
    "exact-binomial": MU_LIM,
    "normal-tail": ROMA,
    "asap-curve": ASAP,
    "pgd": MADRY,
}
"""Methods as published, and their papers."""
AFTER = {
    "exact-sequential": CHEN,
    "kappa-test": MU_LIM,
    "sequential-curve": ASAP,
    "critical-level": KIELHOEFER,
    "critical-quantile": KIELHOEFER,
}
"""Methods of surefoot that answer the question of a paper in another way."""
_CALLED = "attack-function"
"""A function of the user's own: whose method that is, the run does not know."""


def citations(version: str, methods: Iterable[str]) -> list[str]:
    """A sentence for surefoot, and one for each method by its name in a record."""
    software = f"Cite surefoot as: The surefoot authors, surefoot, version {version} (software)."
    return [software, *filter(None, map(_method, methods))]


def _method(kind: str) -> str:
    """Whose method it is; empty for a class of the user's own."""
    if kind in PUBLISHED:
        return f"The method, {kind}, is that of: {PUBLISHED[kind]}."
    if kind in AFTER:
        return f"The method, {kind}, is surefoot's own; it is built on: {AFTER[kind]}."
    return f"The method, {kind}, is surefoot's own." if kind in METHODS and kind != _CALLED else ""
