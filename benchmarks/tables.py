"""A plain table, as every benchmark prints one."""

from __future__ import annotations

from collections.abc import Sequence


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their longest cell."""
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        cells = [f"{cell!s:<{w}}" for cell, w in zip(row, widths, strict=True)]
        print("  ".join(cells).rstrip())
