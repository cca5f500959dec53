"""Methods that search all points around an input: how far its label holds, and an attack."""

from surefoot.region.attack_method import Attack
from surefoot.region.critical_level import CriticalLevel

__all__ = ["Attack", "CriticalLevel"]
