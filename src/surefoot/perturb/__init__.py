"""Perturbations: frozen values that draw and apply on NumPy and Torch arrays alike."""

from surefoot.perturb.balls import L1Noise, L2Noise, LinfNoise
from surefoot.perturb.noise import GaussianNoise, UniformNoise

__all__ = ["GaussianNoise", "L1Noise", "L2Noise", "LinfNoise", "UniformNoise"]
