"""What holds of every table of a paper, and the values that its quick exhibits have.

`python -m tests.exhibits` writes exhibits.json anew: for every table the sum of each column of
numbers, but for those that are times.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import papers
from papers import Exhibit, Sheet

KEPT = Path(__file__).with_name("exhibits.json")
_TIMES = ("seconds", "saved", "minutes", "time", "each", "least", "most", "mean", "all_inputs",
          "ratio", "share", "calls")  # fmt: skip
"""Words of columns that are, or follow from, times; those of a run are so in a few tables alone."""
_TIMED = ("Seconds", "Runtime")


def checked(exhibit: Exhibit, *optional: str) -> Exhibit:
    """The exhibit itself; `optional` are keys that a small table may lack."""
    for sheet in exhibit.sheets:
        known = {key for row in sheet.rows for key in row}
        if "beside ours" not in sheet.title:  # nothing of ours may be about the same
            assert {column.key for column in sheet.columns} - known <= set(optional), sheet.title
        assert sheet.csv() and sheet.markdown() and sheet.latex()
    assert exhibit.title in str(exhibit)
    return exhibit


def values(paper: str, store: str) -> dict[str, Any]:
    """The values of all quick exhibits of a paper, by part and table; they share one store."""
    quick = {"quick": True, "store": store, "progress": False, "workers": 1}
    return {made.name: [_sums(s) for s in made.sheets] for made in papers.make_all(paper, **quick)}


def _sums(sheet: Sheet) -> dict[str, float]:
    """The number of rows, and the sum of each column of numbers; an interval counts both ends."""
    sums: dict[str, float] = {"rows": len(sheet.rows)}
    for key in dict.fromkeys(column.key for column in sheet.columns if not column.less):
        timed = key.rpartition("_")[2] in _TIMES[:5] and not key.startswith("published")
        last = key if key in _TIMES else key.rpartition("_")[2]
        if timed or (sheet.title.startswith(_TIMED) and last in _TIMES):
            continue
        cells = [row.get(key) for row in sheet.rows]
        ends = [e for c in cells for e in ((c.low, c.high) if hasattr(c, "low") else (c,))]
        numbers = [float(e) for e in ends if isinstance(e, int | float) and abs(e) < 1e300]
        if numbers:
            sums[key] = float(f"{sum(numbers):.9g}")
    return sums


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        every = {name: values(name, f"{folder}/{name}.db") for name in papers.PAPERS}
    lines = (
        f'"{paper}: {part}": {json.dumps(tables)}'
        for paper, parts in every.items()
        for part, tables in parts.items()
    )
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
