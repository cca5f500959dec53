"""Worlds of items: letters are replaced with known probability, and the first one decides."""

import numpy as np

import surefoot as sf
from tests.claims.parts import QUICK
from tests.claims.worlds import Outcome, all_missed, judged, missed, of_kind, world

TEXTS = [f"{'a' * (1 + i % 4)}{'é😀 <b>' * (i % 3)}" for i in range(6)]
KAPPA = 0.1


def replace_letters(text: str, rng: np.random.Generator, level: float) -> str:
    """Every letter becomes another one with this probability."""
    return "".join("#" if rng.random() < level else letter for letter in text)


def flip_bytes(data: bytes, rng: np.random.Generator, level: float) -> bytes:
    """Every byte is inverted with this probability."""
    values = np.frombuffer(data, np.uint8)
    return np.where(rng.random(len(values)) < level, 255 - values, values).tobytes()


def first_letter(items: list[str] | list[bytes]) -> np.ndarray:
    """Fails exactly when the first letter is not what it was."""
    right = np.array([item[:1] in ("a", b"a") for item in items], float)
    return np.stack([0.5 - right, right - 0.5], axis=1)


def item_study(method: object, seed: int, level: float | None, items: list) -> sf.Study:
    """Every input fails with the level as its probability, whatever else it holds."""
    function = replace_letters if isinstance(items[0], str) else flip_bytes
    inputs = sf.load_inputs(items, np.ones(len(items), int))
    return sf.Study(
        sf.load_model(first_letter, examples=inputs),
        inputs,
        sf.perturb.custom(function, level),
        method,
        property=sf.properties.TopK(1),
        seed=seed,
    )


for _level in (0.02, 0.3, 1.0):

    @world("failure", f"each letter replaced with probability {_level}", 0.1)
    def _failure(seed: int, level: float = _level) -> Outcome:
        result = item_study(sf.methods.ExactSequential(0.2, 0.1), seed, level, TEXTS).run(**QUICK)
        claims = [result.claim_about(row.id) for row in result.inputs]
        return all_missed(claims, [level] * len(TEXTS))


@world("mean_set", "the first of some bytes flipped", 0.1)
def _bytes(seed: int) -> Outcome:
    files = [b"a" + bytes(n) for n in (0, 1, 50)]
    result = item_study(sf.methods.FixedSize(0.2, 0.1), seed, 0.25, files).run(**QUICK)
    return missed(of_kind(result.claims, "mean_set")[0], 0.25)


@world("kappa", "texts exactly at κ", 0.1)
def _kappa(seed: int) -> Outcome:
    result = item_study(sf.methods.KappaTest(KAPPA, 0.1, 400), seed, KAPPA, TEXTS[:1]).run(**QUICK)
    return judged(result.claim_about(result.inputs[0].id), holds=True)
