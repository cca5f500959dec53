"""Forged evidence in worlds where a few inputs always fail: consistent, and wrong in what counts.

The forger hides those inputs: honest inputs near the limit take thousands of trials, a robust one
few, so that the hidden ones are few trials and a large part of the inputs.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

import surefoot as sf
from surefoot.evidence.statement import evidence_of
from surefoot.evidence.write import write_statement
from surefoot.study.study import Study
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Model
from tests.unit.test_evidence_file import concluded

INPUTS, HIDDEN = 100, 10
"""Of which the last ones always fail."""
FAILURES = {"certify": 0.06, "estimate": 0.5}
"""Probability of a failure of the other inputs: near the limit, or where most trials are needed."""
METHODS = {
    "certify": sf.methods.KappaTest(0.1, 0.05, max_trials=1000),
    "estimate": sf.methods.ExactSequential(0.1, 0.1),
}


def model(name: str, *, lies: bool = False) -> Model:
    """Label 1 above a limit; inputs with 10 in front keep 0 where nothing is added, or if it lies.

    A model that lies has the name of the honest one, as a file can say anything.
    """
    limit = 0.5 - FAILURES[name]

    def predict(x: np.ndarray) -> np.ndarray:
        hidden = x[:, 0] > 5
        fails = np.where(hidden, (x[:, 1] != 0) & (not lies), x[:, 1] > limit)
        return np.stack([~fails, fails], axis=1).astype(np.float32)

    return sf.load_model(predict, shape=(2,))


def data() -> Inputs:
    """Points without labels, so that no check before the run asks for them."""
    x = np.zeros((INPUTS, 2), np.float32)
    x[-HIDDEN:, 0] = 10
    return sf.load_inputs(x, ids=[f"input-{i}" for i in range(INPUTS)])


def forged(name: str, path: Path) -> tuple[Study, Path]:
    """The honest study, and a file that says of the hidden inputs what the lying model says."""
    noise = sf.perturb.LinfNoise(0.5)
    honest, liar = (
        Study(model(name, lies=lies), data(), noise, METHODS[name], seed=7)
        for lies in (False, True)
    )
    lie = liar.run()
    entries = lie.journal.replay()
    record = replace(lie.record, digest=honest.digest, spec=honest.spec)
    record = concluded(record, entries)
    return honest, write_statement(evidence_of(record, entries), path, None)
