"""How often does a classifier of raw bytes fail when some of them are corrupted?

The classifier tells text from other data by the share of printable bytes. Run it:
python examples/bytes.py
"""

import numpy as np

import surefoot as sf


def classify(files: list[bytes]) -> np.ndarray:
    """Scores of "text" and "data": text is nearly all printable."""
    values = [np.frombuffer(file, np.uint8) for file in files]
    printable = [np.count_nonzero((bytes_ >= 32) & (bytes_ < 127)) for bytes_ in values]
    margin = np.array(printable) / [max(len(file), 1) for file in files] - 0.9
    return np.stack([margin, -margin], axis=1)


def corrupt(data: bytes, rng: np.random.Generator, level: float) -> bytes:
    """Each byte becomes a random one with probability `level`."""
    values = np.frombuffer(data, np.uint8).copy()
    hit = rng.random(len(values)) < level
    values[hit] = rng.integers(0, 256, hit.sum(), dtype=np.uint8)
    return values.tobytes()


rng = np.random.default_rng(7)
texts = [b"All happy families are alike." * n for n in (2, 8, 20)]
data = [rng.bytes(n) for n in (60, 240, 600)]
inputs = sf.load_inputs(texts + data, ["text"] * 3 + ["data"] * 3, class_names=["text", "data"])
model = sf.load_model(classify, examples=inputs)

study = sf.Study(
    model,
    inputs,
    sf.perturb.custom(corrupt, level=0.1),
    sf.methods.ExactSequential(width=0.1, error=0.05),
)
print(study.run())

curve = sf.Study(
    model,
    inputs,
    sf.perturb.custom(corrupt),  # the method chooses the levels
    sf.methods.SequentialCurve(
        0,
        0.5,
        thresholds=(0.8,),
        error=0.1,
        assume="one-crossing",
        fixed_draws=True,  # one draw for each file: a second, where the mean over draws takes ten
    ),
)
print(curve.run(batch=256).view.headings[0])
