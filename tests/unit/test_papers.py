"""Tables and figures of papers: how they are chosen, refused, printed and written."""

import json
from dataclasses import replace

import pytest

import papers
from papers import PAPERS, Column, Exhibit, Sheet
from papers.make_exhibit import make_all
from papers.options import PaperOptions, SourceOptions
from papers.request import chosen_options
from papers.save import as_csv, as_latex, as_markdown, check_kind, save
from surefoot.core.results import Interval
from surefoot.errors import InvalidArgument

PARTS = [(paper, part) for paper in PAPERS.values() for part in paper.parts]
SHEET = Sheet(
    "Networks",
    (Column("network", "name", is_name=True), Column("between", "interval"), Column("n", "n")),
    ({"name": "a_1|b", "interval": Interval(0.25, 0.5), "n": 1200}, {"name": "c", "n": 3}),
)
EXHIBIT = Exhibit("table 9", "Table 9: networks", ("Two networks.",), (SHEET,))


def test_every_paper_has_tables_or_figures_with_names_of_their_own():
    for paper in PAPERS.values():
        names = [part.name for part in paper.parts]
        assert names and len(set(names)) == len(names)
        assert all(name.split()[0] in ("table", "figure") for name in names)


@pytest.mark.parametrize(("paper", "part"), PARTS, ids=lambda value: value.name)
def test_a_part_reads_only_options_that_exist(paper, part):
    known = set(PaperOptions.__dataclass_fields__)
    assert set(part.options) <= known
    assert set(part.quick) <= set(part.options)
    assert set(part.needs) <= {"models", "data", "brackets"}


@pytest.mark.parametrize("number", [1, "1", "i", "I"])
def test_numbers_may_be_roman(number):
    assert PAPERS["mu-lim"].part(table=number).name == "table 1"


def test_what_is_not_there_is_refused_with_what_is():
    with pytest.raises(InvalidArgument, match="no paper 'asp': choose one of bu-sun"):
        papers.make("asp", table=1)
    with pytest.raises(InvalidArgument, match="mu-lim has no table 7: it has table 1"):
        papers.make("mu-lim", table=7)
    with pytest.raises(InvalidArgument, match="either a table"):
        papers.make("mu-lim")
    with pytest.raises(InvalidArgument, match=r"needs models and data: add --models model.onnx"):
        papers.make("mu-lim", table=1)
    with pytest.raises(InvalidArgument, match="needs data"):
        papers.make("mu-lim", table=1, models=["a.onnx"], quick=True)


def test_an_option_that_plays_no_part_is_refused():
    part = PAPERS["mu-lim"].part(table=1)
    with pytest.raises(InvalidArgument, match=r"gamma \(--gamma\) plays no part in table 1"):
        chosen_options(part, {"gamma": 0.1}, quick=False)


def test_given_values_come_before_quick_ones_and_those_before_the_papers():
    part = replace(PAPERS["mu-lim"].part(table=1), options={"kappa": (0.1,), "confidence": 0.95})
    part = replace(part, quick={"confidence": 0.9})
    assert chosen_options(part, {"kappa": "1e-2,1/8"}, quick=True) == {
        "kappa": (0.01, 0.125),
        "confidence": 0.9,
    }
    assert chosen_options(part, {"kappa": None}, quick=False)["kappa"] == (0.1,)


def test_all_parts_of_a_paper_skip_what_cannot_be_made(monkeypatch):
    paper = PAPERS["mu-lim"]
    parts = (replace(paper.parts[0], needs=("brackets",)),)
    monkeypatch.setitem(PAPERS, "mu-lim", replace(paper, parts=parts))
    every = make_all(
        "mu-lim", (), sources=SourceOptions(), values=PaperOptions(), inputs=None, caller=None
    )
    assert list(every) == []


def test_a_row_without_a_value_has_an_empty_cell():
    assert SHEET.table().rows == (("a_1|b", "0.25 to 0.5", "1,200"), ("c", "", "3"))


def test_a_table_is_written_as_text_that_other_programs_read():
    assert as_csv(SHEET).splitlines()[0] == "name,interval_low,interval_high,n"
    assert as_csv(SHEET).splitlines()[1] == "a_1|b,0.25,0.5,1200"
    assert as_markdown(SHEET).splitlines()[2] == r"| a_1\|b | 0.25 to 0.5 | 1,200 |"
    assert r"a\_1|b & 0.25 to 0.5 & 1,200 \\" in as_latex(SHEET)


def test_a_file_of_another_kind_is_refused(tmp_path):
    with pytest.raises(InvalidArgument, match=r"table.xlsx: a table is written as .csv"):
        save(EXHIBIT, tmp_path / "table.xlsx")
    with pytest.raises(InvalidArgument, match="table 9 has no figure: write its table"):
        save(EXHIBIT, tmp_path / "figure.svg")
    assert save(EXHIBIT, tmp_path / "table.csv").read_text() == as_csv(SHEET)


def test_an_exhibit_is_data_and_words():
    plain = json.loads(EXHIBIT.to_json())
    assert plain["tables"][0]["rows"][0]["interval"] == {"low": 0.25, "high": 0.5}
    assert str(EXHIBIT).splitlines()[:2] == ["Table 9: networks", "Two networks."]
    assert len(EXHIBIT.to_frame()) == 2
    assert "Two networks." in EXHIBIT._repr_html_()


def test_no_column_of_a_made_table_is_empty_by_a_wrong_key():
    columns = [Column("transform", "words"), Column("n", "n")]
    sheet = Sheet("t", tuple(columns), ({"n": 1},))
    assert sheet.unknown_keys == ("words",)


def test_a_drawing_of_a_table_is_refused_before_it_is_made():
    check_kind(PAPERS["asap"].part(figure=7), "levels.svg")
    with pytest.raises(InvalidArgument, match=r"table 1 is no figure; write it as .csv"):
        check_kind(PAPERS["mu-lim"].part(table=1), "table.svg")
