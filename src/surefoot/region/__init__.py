"""Methods that search all points around an input: how far its label holds, and attacks."""

from surefoot.region.attack_method import PGD, Attack, AttackFunction
from surefoot.region.critical_level import CriticalLevel

__all__ = ["PGD", "Attack", "AttackFunction", "CriticalLevel"]
