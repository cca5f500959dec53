"""A detector: how often does blur or noise cost a box?

Bright rectangles on a dark ground, drawn here; the model gives the box around each bright region,
in the form of torchvision's detectors. Writes detection.html with the boxes drawn.
"""

import numpy as np
from scipy.ndimage import find_objects, label

import surefoot as sf

SIZE, IMAGES = 48, 20


def draw(rng: np.random.Generator) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """One image with a rectangle on each side, and its true boxes."""
    image, boxes = rng.uniform(0.05, 0.15, (SIZE, SIZE)), []
    for side in (0, SIZE // 2):
        width, height = rng.integers(8, 16, 2)
        left, top = side + rng.integers(2, 6), rng.integers(3, SIZE - 20)
        image[top : top + height, left : left + width] = rng.uniform(0.6, 0.95)
        boxes.append((left, top, left + width, top + height))
    return image, {"boxes": np.array(boxes), "labels": np.zeros(2, int)}


def detect(x: np.ndarray) -> list[dict[str, np.ndarray]]:
    """The box around each region brighter than 0.5; its score is its mean brightness."""
    answers = []
    for image in x:
        regions, _ = label(image > 0.5)
        found = [(down, right) for down, right in find_objects(regions)]
        corners = [(r.start, d.start, r.stop, d.stop) for d, r in found]
        answers.append(
            {
                "boxes": np.array(corners, dtype=float).reshape(-1, 4),
                "labels": np.zeros(len(found), dtype=int),
                "scores": np.array([image[place].mean() for place in found]),
            }
        )
    return answers


rng = np.random.default_rng(1)
images, boxes = zip(*(draw(rng) for _ in range(IMAGES)), strict=True)

model = sf.load_model(detect, shape=(SIZE, SIZE), bounds=(0, 1), scores="objects")
inputs = sf.load_inputs(np.stack(images), targets=boxes)

result = sf.Study(
    model,
    inputs,
    sf.perturb.GaussianNoise(0.18),
    sf.methods.ExactSequential(width=0.1, error=0.05),
    property=sf.properties.BoxesKept(0.75, of="true"),
).run()
print(result)
result.report("detection.html")

curve = sf.Study(
    model,
    inputs,
    sf.perturb.GaussianBlur(),
    sf.methods.SequentialCurve(0.0, 8.0, thresholds=(0.8,), resolution=0.02),
    property=sf.properties.BoxesKept(0.75),
).run()
print(curve)
