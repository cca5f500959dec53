"""Values of a wrong kind in Python: one sentence with the value and the way out."""

from pathlib import Path

import numpy as np
import pytest

import surefoot as sf
from surefoot.errors import InvalidArgument

X = np.full((3, 2), 0.5, np.float32)


def dim(x, u, level):
    return x * (1 - level * u)


@pytest.mark.parametrize("seed", [-1, None, "1", 1.5, True])
def test_a_seed_is_an_integer_from_0(seed):
    model = sf.load_model(lambda x: x, shape=(2,), bounds=(0, 1), scores="logits")
    method = sf.methods.ExactSequential(width=0.5, error=0.05)
    says = rf"seed must be an integer ≥ 0.* got {seed!r}"
    with pytest.raises(InvalidArgument, match=says):
        sf.Study(model, sf.load_inputs(X), sf.perturb.LinfNoise(0.1), method, seed=seed)
    with pytest.raises(InvalidArgument, match=says):
        sf.estimate(model, X, perturb="linf:0.1", seed=seed)


@pytest.mark.parametrize("level", ["0.5", ("a", 1), (1, 2, 3), (None, 1), True])
def test_a_level_of_a_function_is_a_number_or_two(level):
    with pytest.raises(InvalidArgument, match=r"dim: level must be a number such as 0\.1, two"):
        sf.perturb.custom(dim, level)
    with pytest.raises(InvalidArgument, match=r"custom: level must be a number such as 0\.1, two"):
        sf.perturb.custom(level)


def test_what_is_no_function_is_no_perturbation():
    with pytest.raises(InvalidArgument, match="the function must be callable, got 3: write it"):
        sf.perturb.custom(3, 0.1)
    with pytest.raises(InvalidArgument, match="is no perturbation: write it as 'linf:8/255'"):
        sf.estimate(lambda x: x, X, perturb=sf.perturb.custom(3))
    with pytest.raises(InvalidArgument, match=r"linf: level must be a number such as 0\.1"):
        sf.perturb.LinfNoise("0.5")


@pytest.mark.parametrize("store", [None, 3, Path("runs.db")])
def test_a_store_is_named_by_text(store):
    with pytest.raises(InvalidArgument, match="a store must be text"):
        sf.runs(store)
