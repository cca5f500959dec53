"""Kernels that several perturbations share."""
