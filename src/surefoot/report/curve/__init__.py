"""Robustness curves."""
