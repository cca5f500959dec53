"""A pickled model is named by its file, however it would pickle again."""

import numpy as np
import pytest

import surefoot as sf


def test_a_forest_has_the_same_digest_each_time_it_is_loaded(tmp_path):
    joblib = pytest.importorskip("joblib")
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(0)
    x = rng.random((60, 4))
    forest = RandomForestClassifier(12, random_state=0).fit(x, (x[:, 0] > 0.5).astype(int))
    path = tmp_path / "forest.joblib"
    joblib.dump(forest, path)
    digests = {sf.load_model(path, trust=True, bounds=(0, 1)).signature.digest for _ in range(4)}
    assert len(digests) == 1
    assert sf.load_model(path, trust=True).signature.covers == "the bytes of the pickle"
