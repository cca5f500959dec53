"""Functions whose source is the same and whose state is not are different models."""

import numpy as np

import surefoot as sf


def threshold_model(at: float) -> object:
    """A function that hides its threshold in a closure; far from it, all answer alike."""

    def classify(batch: np.ndarray) -> np.ndarray:
        margin = np.sign(batch[:, 0].astype(np.float64) - at)
        return np.stack([-margin, margin], axis=1)

    return sf.load_model(classify, shape=(1,))


def study(at: float, x: np.ndarray) -> sf.Study:
    noise = sf.perturb.GaussianNoise(0.1)
    return sf.Study(threshold_model(at), sf.load_inputs(x), noise, sf.methods.FixedSize(0.3, 0.1))


def test_the_store_does_not_answer_for_another_closure(tmp_path):
    x = np.linspace(30.0, 60.0, 8, dtype=np.float32)[:, None]
    where = str(tmp_path / "s.db")
    first = study(40.0, x).run(where)
    second = study(50.0, x).run(where)
    assert not second.from_store
    assert second.record.digest != first.record.digest
    assert study(40.0, x).run(where).from_store
