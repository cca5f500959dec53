"""What holds of every table of a paper: no column is empty by a wrong key; it can be written."""

from __future__ import annotations

from papers import Exhibit


def checked(exhibit: Exhibit, *optional: str) -> Exhibit:
    """The exhibit itself; `optional` are keys that a small table may lack."""
    for sheet in exhibit.sheets:
        known = {key for row in sheet.rows for key in row}
        assert {column.key for column in sheet.columns} - known <= set(optional), sheet.title
        assert sheet.csv() and sheet.markdown() and sheet.latex()
    assert exhibit.title in str(exhibit)
    return exhibit
