"""The options of tables and figures: from what they are made, and what each of them reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.commands.option import PANEL_OF_RUN
from surefoot.commands.options import SEED, STORE
from surefoot.commands.values import Number, Numbers
from surefoot.records.options import option

Texts = str | Sequence[str]
"""One text or several."""


@dataclass(frozen=True)
class PaperOptions:
    """The options of all tables and figures; each reads some of them and refuses the others."""

    perturb: Texts | None = option(
        None, "Perturbation, as for estimate; may be given several times.", repeats=True
    )
    levels: Numbers | None = option(None, "Levels of the perturbation: 0.01,0.02,0.04.")
    width: Number | None = option(None, "How far each estimate may be from the truth.")
    pairs: Texts | None = option(
        None, "Width and error: 0.05,0.05; may be given several times.", repeats=True
    )
    confidence: Number | None = option(None, "Confidence of the result.")
    kappa: Numbers | None = option(None, "Largest allowed failure probabilities: 0.1,0.01.")
    property: str | None = option(None, "What must hold: true (label), same (label), …")
    attack_step: Number | None = option(None, "Length of a step of PGD: 2/255.")
    attack_iterations: int | None = option(None, "Steps of PGD.", least=1)
    attack_starts: int | None = option(None, "Random starts of PGD.", least=1)
    limit: Number | None = option(None, "Confidence that no wrong class may reach.")
    draws: int | None = option(None, "Trials per input.", least=20)
    input: str | None = option(None, "The input that is shown, by its id (default: a fitting one).")
    threshold: Numbers | None = option(None, "Accuracies that the curve must not fall below.")
    points: Numbers | None = option(None, "ASAP's n: the numbers of levels allowed.")
    curvature: Numbers | None = option(None, "ASAP's â: the assumed curvatures.")
    oracle: int | None = option(None, "Levels at which a whole curve is evaluated.", least=21)
    time_limit: str | None = option(None, "Conclude each curve after this time: 60, 90s, 10m.")
    images: Numbers | None = option(None, "Numbers of images: 10,20,50.")
    repeats: int | None = option(None, "How often an experiment is repeated.", least=1)
    quantile: Number | None = option(None, "σ: the share of inputs that may be less robust.")
    gamma: Number | None = option(None, "γ: the interval is shorter than this when it stops.")
    radius: Number | None = option(None, "Radius at which robustness is asked for: 8/255.")
    seconds: Number | None = option(None, "Seconds of proof per input.")
    split: str | None = option(None, "The rows of a file of brackets with this split: test.")


@dataclass(frozen=True)
class SourceOptions:
    """What a table or figure is made from, and how it is run."""

    data: Any = option(None, "Inputs, as for estimate.")
    brackets: str | Path | None = option(
        None, "File of brackets, for tables that are made from certified radii (CSV)."
    )
    quick: bool = option(False, "A small version; without models and data, on the embedded ones.")
    seed: int = option(SEED, "Random seed.", least=0)
    store: str | Path | None = option(
        STORE, "File or postgresql:// URL of the evidence; the same command resumes from it."
    )
    workers: int | None = option(
        None, "Worker threads (default: chosen for the model).", least=1, panel=PANEL_OF_RUN
    )
