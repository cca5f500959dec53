"""Methods that search all points around an input: how far its label holds, and attacks."""

from surefoot.region.attack_method import (
    PGD,
    AnyAttack,
    Attack,
    AttackFunction,
    GivenAttack,
    as_attack,
)
from surefoot.region.critical_level import CriticalLevel

__all__ = [
    "PGD",
    "AnyAttack",
    "Attack",
    "AttackFunction",
    "CriticalLevel",
    "GivenAttack",
    "as_attack",
]
