"""Perturbations of audio and time series."""
