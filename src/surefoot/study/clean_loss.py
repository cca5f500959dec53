"""The cross-entropy loss of the clean inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surefoot.records.record import CleanLoss
from surefoot.subject.protocols import Scores

if TYPE_CHECKING:
    from surefoot.study.setup import Setup


def clean_loss(study: Setup) -> CleanLoss | None:
    """Its mean over the inputs; None without labels, or where the model has no classes."""
    labels = study.fitted.labels
    if labels is None or not study.has_classes:
        return None
    return mean_loss(study.clean, labels, study.model.signature.scores)


def mean_loss(scores: NDArray[np.floating], labels: NDArray[Any], kind: Scores) -> CleanLoss | None:
    """The mean cross-entropy; None where a label is the number of no class."""
    if not ((labels >= 0) & (labels < scores.shape[1])).all():
        return None
    losses = cross_entropy(scores, labels, kind)
    infinite = int(np.isinf(losses).sum())
    return CleanLoss(None if infinite else float(losses.mean()), len(losses), infinite)


def cross_entropy(
    scores: NDArray[np.floating], labels: NDArray[Any], kind: Scores
) -> NDArray[np.float64]:
    """Minus the logarithm of the probability of the true class; infinite where that is 0."""
    from scipy.special import logsumexp

    exact = np.asarray(scores, dtype=np.float64)
    own = exact[np.arange(len(exact)), labels]
    if kind is Scores.LOGITS:
        losses: NDArray[np.float64] = logsumexp(exact, axis=1) - own
        return losses
    with np.errstate(divide="ignore"):
        of_own: NDArray[np.float64] = 0.0 - np.log(np.clip(own, 0.0, 1.0))
    return of_own
