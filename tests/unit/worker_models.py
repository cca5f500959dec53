"""Models and a perturbation that worker processes import: few packages, so that they start fast."""

import os
import signal
from pathlib import Path

import numpy as np

import surefoot as sf
from surefoot.executors.worker import is_worker
from tests.worlds import linear


@sf.perturb.custom(0.2)
def shift(x, rng, level):
    return x + np.float32(level * rng.uniform())


STATE = {"sign": 1.0}


def depends_on_state(x):
    return STATE["sign"] * linear(x)


def fails_in_the_middle(x):
    if len(x) == 16:
        raise ConnectionError("endpoint lost")
    return linear(x)


def never_ends_in_a_worker(x):
    while is_worker() and len(x) == 16:
        pass
    return linear(x)


FLAG = "SUREFOOT_TEST_FLAG"


def kills_its_process_once(x):
    """Ends a worker as the system does when memory runs out; again only if there is no flag."""
    flag = os.environ.get(FLAG)
    if is_worker() and len(x) == 16 and (flag is None or not Path(flag).exists()):
        if flag is not None:
            Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return linear(x)
