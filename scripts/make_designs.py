"""Make and prove the designs that ship with the package: src/surefoot/statistics/designs.json.

python scripts/make_designs.py        a few minutes; prints each design as it is proved
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from surefoot.statistics.designs import calibrate
from surefoot.statistics.fixed_width import design_values

SETTINGS = (
    *((0.1, error) for error in (0.1, 0.05, 0.01)),
    *((0.05, error) for error in (0.1, 0.05, 0.01)),
    *((0.03, error) for error in (0.05, 0.03, 0.01)),
    *((0.02, error) for error in (0.05, 0.02, 0.01, 0.001)),
    *((0.01, error) for error in (0.05, 0.01, 0.001)),
    *((0.005, error) for error in (0.05, 0.01, 0.001)),
    (0.003, 0.001),
    (0.002, 0.001),
    (0.001, 0.001),
)


def main() -> None:
    """Calibrate every setting and write them all."""
    lines = []
    for width, error in SETTINGS:
        begun = time.perf_counter()
        design = calibrate(width, error)
        print(design, f"({time.perf_counter() - begun:.1f} s)", sep="\n", flush=True)
        lines.append(json.dumps(design_values(design)))
    place = Path(__file__).parents[1] / "src" / "surefoot" / "statistics" / "designs.json"
    place.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
