"""What a robustness curve is of, by the kind of property."""

from __future__ import annotations

_QUANTITIES = {
    "true": "accuracy",
    "confidence": "mean confidence",
    "same": "share of labels kept",
}


def curve_quantity(property_kind: str) -> str:
    """The noun phrase for the height of the curve."""
    return _QUANTITIES.get(property_kind, "share of inputs kept")
