"""Draw the figures of the method pages: docs/figures/NAME.svg.

python scripts/make_figures.py [NAME ...]      all of them, in under two minutes
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from figures import (
    critical,
    curves,
    decisions,
    noise,
    pairs,
    populations,
    precisions,
    quantiles,
    rare,
    smoothing,
    tails,
    widths,
)

FIGURES: dict[str, Callable[[], str]] = {
    "exact-sequential": widths.exact_sequential,
    "bu-sun": widths.bu_sun,
    "fixed-size": widths.fixed_size,
    "okamoto": widths.okamoto_bound,
    "kappa-test": decisions.kappa_test,
    "robust-share": decisions.robust_share,
    "population-mean": populations.population_mean,
    "precision": precisions.precision,
    "critical-level": critical.critical_level,
    "critical-quantile": quantiles.critical_quantile,
    "comparison": pairs.comparison,
    "curves": curves.curves,
    "normal-tail": tails.normal_tail,
    "splitting": rare.splitting,
    "smoothed-radius": smoothing.smoothed_radius,
    "perturbations": noise.perturbations,
}
PLACE = Path(__file__).parents[1] / "docs" / "figures"


def main() -> None:
    """Write the figures that were asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FIGURES))
    parser.add_argument("--out", type=Path, default=PLACE, help="the folder to write them to")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(FIGURES)
    if unknown:
        parser.error(f"there is no figure {min(unknown)}: choose among {', '.join(FIGURES)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or FIGURES:
        start = time.perf_counter()
        figure = FIGURES[name]()
        (arguments.out / f"{name}.svg").write_text(figure + "\n", encoding="utf-8")
        print(
            f"{name}: {len(figure) / 1000:.0f} kB, {time.perf_counter() - start:.1f} s", flush=True
        )


if __name__ == "__main__":
    main()
