"""A segmentation: how dark may an image get before the mask of a disc is lost?

Discs on a grey ground, drawn here; the model calls a pixel disc where it is brighter than 0.5.
Writes segmentation.html.
"""

import numpy as np

import surefoot as sf

SIZE, DISCS = 32, 40


def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """One image and the mask of its disc."""
    down, right = np.mgrid[:SIZE, :SIZE]
    centre, radius = rng.uniform(10, SIZE - 10, 2), rng.uniform(4, 9)
    mask = (down - centre[0]) ** 2 + (right - centre[1]) ** 2 <= radius**2
    image = np.where(mask, rng.uniform(0.6, 0.9), rng.uniform(0.1, 0.3))
    return image + rng.normal(0, 0.02, image.shape), mask


def segment(x: np.ndarray) -> np.ndarray:
    """Scores of ground and disc for each pixel: (n, 2, height, width)."""
    return np.stack([0.5 - x, x - 0.5], axis=1)


rng = np.random.default_rng(1)
images, masks = (np.stack(parts) for parts in zip(*(draw(rng) for _ in range(DISCS)), strict=True))

model = sf.load_model(segment, shape=(SIZE, SIZE), bounds=(0, 1), scores="values")
inputs = sf.load_inputs(images.clip(0, 1), targets=masks)

curve = sf.Study(
    model,
    inputs,
    sf.perturb.Brightness(),
    sf.methods.SequentialCurve(-0.5, 0.0, thresholds=(0.8,), resolution=0.01),
    property=sf.properties.MaskIoU(0.8, label=1, of="true"),
).run()
print(curve)
curve.report("segmentation.html")

noise = sf.Study(
    model,
    inputs,
    sf.perturb.GaussianNoise(0.1),
    sf.methods.KappaTest(kappa=0.1, error=0.05, max_trials=2000),
    property=sf.properties.PixelsKept(0.95),
)
print(noise.run())
