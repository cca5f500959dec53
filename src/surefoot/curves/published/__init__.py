"""Curve methods as they were published: ASAP, and what it was compared with."""
