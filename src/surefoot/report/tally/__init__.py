"""Outcomes that were counted elsewhere."""
