"""Draw the page of the catalogue: docs/catalogue.md and docs/figures/catalogue/*.jpg.

python scripts/make_catalogue.py [KIND ...]

The image is drawn here, so that none from elsewhere is shipped.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

import surefoot as sf
from surefoot.catalogue.parse import parse_perturbation
from surefoot.catalogue.registry import PERTURBATIONS, Entry, entries
from surefoot.core.results import UNIT
from surefoot.engine.sampling_bench import draws_nothing
from surefoot.engine.streams import stream
from surefoot.study.draw_sheet import sheet
from surefoot.subject.items import as_item_array
from surefoot.subject.protocols import View

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "docs" / "figures" / "catalogue"
SIZE, SHOWN = 224, 112
"""Pixels along an edge: of the image that is perturbed, and of its copy on the page."""
# The strongest level shown, where there are no published severities; else the highest there is.
STRONG = {
    "linf": 0.2, "l2": 30.0, "l1": 4000.0, "uniform": 0.5, "hue": 120.0, "gamma": 1.5,
    "desaturate": 1.0,
    "occlusion": 0.3, "dropout": 0.5, "rotation": 45.0, "translate-x": 0.4, "translate-y": 0.4,
    "zoom": 0.8, "shear": 30.0, "perspective": 0.5, "dead-pixels": 0.05, "dead-lines": 0.3,
    "banding": 0.5, "chromatic-aberration": 0.05, "white-balance": 0.5, "dirt": 0.3,
}  # fmt: skip


TEXT_LEVEL = 0.2


def example_image() -> np.ndarray:
    """A house by a lake: edges, textures, smooth areas and all colours, (3, 224, 224) in [0, 1]."""
    big = 4 * SIZE
    rng = np.random.default_rng(7)
    down = np.linspace(0, 1, big)[:, None, None]
    sky = np.array([0.36, 0.6, 0.9]) * (1 - down) + np.array([0.95, 0.85, 0.7]) * down
    image = Image.fromarray((np.broadcast_to(sky, (big, big, 3)) * 255).astype(np.uint8))
    pen = ImageDraw.Draw(image)
    s = big / 100
    pen.ellipse([72 * s, 10 * s, 86 * s, 24 * s], fill=(255, 236, 150))
    for x, y, r in ((15, 18, 7), (23, 16, 9), (32, 19, 6), (50, 10, 5), (56, 9, 6)):
        pen.ellipse([(x - r) * s, (y - r / 2) * s, (x + r) * s, (y + r / 2) * s], fill="white")
    ridge = [(0, 52), (14, 34), (24, 44), (40, 24), (56, 46), (70, 33), (84, 45), (100, 36)]
    pen.polygon([(x * s, y * s) for x, y in [*ridge, (100, 64), (0, 64)]], fill=(94, 104, 138))
    pen.polygon([(34 * s, 31 * s), (40 * s, 24 * s), (46 * s, 32 * s)], fill=(245, 248, 252))
    pen.rectangle([0, 60 * s, big, big], fill=(106, 150, 74))
    pen.ellipse([45 * s, 70 * s, 125 * s, 100 * s], fill=(66, 132, 178))
    pen.rectangle([14 * s, 54 * s, 40 * s, 76 * s], fill=(214, 178, 132))
    pen.polygon([(11 * s, 55 * s), (27 * s, 41 * s), (43 * s, 55 * s)], fill=(164, 54, 44))
    for x in (18, 31):
        pen.rectangle([x * s, 58 * s, (x + 5) * s, 64 * s], fill=(60, 80, 110))
    pen.rectangle([24 * s, 66 * s, 29 * s, 76 * s], fill=(92, 56, 34))
    pen.rectangle([60 * s, 52 * s, 63 * s, 70 * s], fill=(84, 58, 38))
    for x, y, r in ((61, 46, 9), (56, 50, 6), (67, 50, 6)):
        pen.ellipse([(x - r) * s, (y - r) * s, (x + r) * s, (y + r) * s], fill=(46, 104, 52))
    small = image.filter(ImageFilter.GaussianBlur(1)).resize((SIZE, SIZE), Image.Resampling.LANCZOS)
    pixels = np.asarray(small, dtype=np.float32) / 255
    grain = rng.normal(0, 0.015, pixels.shape)
    return np.ascontiguousarray(np.moveaxis(np.clip(pixels + grain, 0, 1), -1, 0), np.float32)


def strip(kind: str, image: np.ndarray) -> Image.Image:
    """One strip: the clean image, then rising levels, two samples each."""
    presets = getattr(PERTURBATIONS[kind], "presets", None)
    strongest = STRONG.get(kind) or PERTURBATIONS[kind].levels(UNIT).high
    levels = list(presets["large"]) if presets else [strongest * i / 5 for i in range(1, 6)]
    perturbation = parse_perturbation(f"{kind}:{max(levels)!r}")
    samples = 1 if draws_nothing(perturbation, sf.load_inputs(image[None])) else 2
    large = sheet(image, perturbation, [0.0, *levels], n=samples, height=SIZE)
    share = SHOWN / SIZE
    return large.resize(
        (int(large.width * share), int(large.height * share)), Image.Resampling.LANCZOS
    )


def on_text(kind: str) -> str:
    """One sample of a text."""
    perturbation = PERTURBATIONS[kind](TEXT_LEVEL)
    x = as_item_array(["A clever modern film, with charming music and 10 good jokes."])
    drawn = perturbation.draw(stream(1, "catalogue", kind, 0, x), 1, ())
    return f"`{perturbation.apply(x, drawn, TEXT_LEVEL, None)[0]}`"


def levels(entry: Entry) -> str:
    """The range of levels and their unit, and the options."""
    options = f". Options: {entry.options}" if entry.options else ""
    return f"Levels: {entry.levels}" + (f" ({entry.unit})" if entry.unit else "") + options


def page(with_image: list[Entry], others: list[Entry]) -> str:
    """The page in Markdown."""
    lines = [
        "# The catalogue",
        "",
        "Images: clean at the left, then the published severities 1 to 5 where there are any, "
        "otherwise five rising levels; two samples where the perturbation is random. `surefoot "
        "perturb fog` prints the exact definition, its source and its options; in Python they are "
        "in the [reference](api/perturb.md). [How to write them](methods/perturbations.md).",
    ]
    for entry in with_image:
        lines += ["", f"## {entry.kind}", "", f"{entry.about} {levels(entry)}."]
        lines += [f"\n![{entry.kind} at rising levels](figures/catalogue/{entry.kind}.jpg)"]
    for entry in others:
        lines += ["", f"## {entry.kind}", ""]
        lines += [f"{entry.about} {levels(entry)}. Inputs: {entry.of}."]
        if PERTURBATIONS[entry.kind].view is View.TEXT:
            lines += ["", f"At {TEXT_LEVEL}: {on_text(entry.kind)}"]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page, and the images of these kinds or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*")
    kinds = parser.parse_args().kinds
    PLACE.mkdir(parents=True, exist_ok=True)
    image, with_image, others = example_image(), [], []
    for entry in entries():
        definition = PERTURBATIONS[entry.kind]
        visible = definition.view is View.IMAGE or hasattr(definition, "presets")
        (with_image if visible or entry.kind in STRONG else others).append(entry)
    for entry in with_image:
        if not kinds or entry.kind in kinds:
            strip(entry.kind, image).save(PLACE / f"{entry.kind}.jpg", quality=78, optimize=True)
            print(entry.kind, flush=True)
    (ROOT / "docs" / "catalogue.md").write_text(page(with_image, others), encoding="utf-8")


if __name__ == "__main__":
    main()
