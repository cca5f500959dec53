"""What every model adapter must do."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from surefoot.subject.protocols import Model, Scores, to_host
from surefoot.testing.expect import expect


def check_model(model: Model, x: NDArray[np.float32], tolerance: float = 1e-4) -> None:
    """`x` is a batch of at least four inputs in the model's shape.

    The model gives class scores, or values.
    """
    signature = model.signature
    expect(signature.scores is not Scores.OBJECTS, "objects are not compared by this suite")
    expect(x.shape[1:] == signature.shape, f"x has shape {x.shape[1:]}, not {signature.shape}")
    expect(len(x) >= 4, "the suite needs at least four inputs")
    expect(re.fullmatch(r"[0-9a-f]{64}", signature.digest) is not None, "the digest is no SHA-256")
    expect(bool(signature.covers), "the signature does not say what its digest covers")
    whole = _scores(model, x)
    columns = whole.shape[1] if not signature.classes and whole.ndim > 1 else signature.classes
    expect(whole.shape[:2] == (len(x), columns), f"scores have shape {whole.shape}")
    expect(whole.ndim == 2 or not signature.classes, f"scores have shape {whole.shape}")
    expect(bool(np.isfinite(whole).all()), "scores are not finite")
    if signature.scores is Scores.PROBABILITIES:
        expect(np.allclose(whole.sum(axis=1), 1, atol=1e-3), "probabilities do not add up to 1")
    again = _scores(model, x)
    _keeps_answers(model, x)
    _same(whole, again, tolerance, "the same batch scores differently twice")
    _same(whole[::-1], _scores(model, x[::-1].copy()), tolerance, "row order changes scores")
    for size in (1, 3):
        pieces = [_scores(model, x[i : i + size]) for i in range(0, len(x), size)]
        _same(whole, np.concatenate(pieces), tolerance, f"batches of {size} score differently")


def _scores(model: Model, x: NDArray[np.float32]) -> NDArray[np.floating]:
    """Scores of a batch that the model must leave as it is, there and where it came from."""
    batch = x.copy()
    placed = model.place(batch)
    before = to_host(placed).copy()
    scores = to_host(model.predict(placed)).copy()
    expect(np.array_equal(to_host(placed), before), "predict changed its input")
    expect(np.array_equal(batch, x), "predict changed the array that was placed")
    return scores


def _keeps_answers(model: Model, x: NDArray[np.float32]) -> None:
    first = to_host(model.predict(model.place(x.copy())))
    copy = first.copy()
    model.predict(model.place(x[::-1].copy()))
    expect(np.array_equal(first, copy), "predict overwrote its answer to the batch before")


def _same(a: NDArray[np.floating], b: NDArray[np.floating], gap: float, otherwise: str) -> None:
    worst = float(np.max(np.abs(a - b) / (1 + np.abs(a))))
    expect(worst <= gap, f"{otherwise}: by {worst:.2g}, allowed {gap:g}")
