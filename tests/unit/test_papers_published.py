"""What the papers print, beside what their exhibits compute: values, not exit codes alone."""

import pytest

import papers
from papers.exhibit import Sheet
from tests.exhibits import checked

PAIRS = ("0.05,0.05", "0.03,0.03")


def test_table_1_of_bu_and_sun_is_what_they_print_to_simulation():
    table = checked(papers.make("bu-sun", table=1, quick=True, pairs=PAIRS, progress=False))
    for row in table.sheets[0].rows:
        for name, allowed in (("average", 0.01), ("largest", 0.04), ("smallest", 0.003)):
            assert row[f"bu_sun_{name}"] == pytest.approx(row[f"published_{name}"], abs=allowed)
            assert row[f"ours_{name}"] < row[f"bu_sun_{name}"]
    okamoto = [(row["okamoto"], row["published_okamoto"]) for row in table.sheets[0].rows]
    assert okamoto == [(738, 738), (2334, 2334)]
    headings = table.sheets[0].headings
    assert headings.count("published") == headings.count("difference") == 4


def test_a_number_of_a_paper_is_followed_by_the_difference_where_both_are_numbers():
    rows = ({"a": 3.5, "published_a": 3.0}, {"a": 1.0})
    sheet = Sheet("t", "a; published=published_a; another=published_b", rows)
    assert sheet.headings == ("a", "published", "difference", "another")
    assert [line[2] for line in sheet.cells] == ["+0.5", ""]
    assert sheet.csv().splitlines()[0] == "a,published_a,published_b"
