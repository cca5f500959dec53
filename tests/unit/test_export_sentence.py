"""A sentence for a paper says what the claim says, where it comes from, and nothing more."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

import surefoot as sf
from papers import PAPERS
from surefoot.catalogue.methods import METHODS
from surefoot.core.claims import Verdict
from surefoot.core.results import UNIT
from surefoot.errors import InvalidArgument
from surefoot.report.export.run import ExportedRun
from surefoot.report.export.sentence import AFTER, PUBLISHED, citations, claim_sentence
from surefoot.report.key_figure import key_figure
from surefoot.report.sentences import sentence
from surefoot.report.view import Caution
from tests.unit.example_claims import CLAIMS, changed
from tests.worlds import points, study

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def plain():
    return study(inputs=points(5), method=sf.methods.ExactSequential(0.3, 0.2)).run()


def text_with(plain, *headline):
    view = replace(plain.view, headline=headline)
    return claim_sentence(ExportedRun(plain.record, {}, (), view))


@pytest.mark.parametrize("kind", CLAIMS)
def test_it_ends_with_the_words_of_the_claim_and_adds_at_most_its_estimate(plain, kind):
    claim = CLAIMS[kind]
    first = text_with(plain, claim).split("\n\n")[0]
    said = first.partition(" gave: ")[2]
    whole = sentence(claim)
    extra = said.removeprefix(whole.removesuffix("."))
    assert extra in (".", f"; the estimate is {key_figure(claim).number}.")
    if extra != ".":
        assert claim.value is not None
        assert key_figure(claim).number not in whole
    assert all(assumed.words in first for assumed in claim.guarantee.assumptions)


def test_verdicts_and_cautions_follow(plain):
    required = plain.require(0.999)
    (verdict,) = required.verdicts
    paragraphs = required.export(to="sentence").split("\n\n")
    assert paragraphs[1] == sentence(verdict)
    view = replace(plain.view, warnings=(Caution("Note: ± 0.02 is not reached."),))
    text = claim_sentence(ExportedRun(plain.record, {}, (), view))
    assert "\n\nNote: ± 0.02 is not reached.\n\n" in text


def test_what_is_not_known_has_no_estimate(plain):
    nothing = changed(CLAIMS["mean_population"], interval=UNIT, reason="no input was tried")
    assert "estimate" not in text_with(plain, nothing).split("Cite")[0]
    undecided = changed(CLAIMS["all_kappa"], verdict=Verdict.UNDECIDED, reason="too few trials")
    assert " gave: UNDECIDED: whether " in text_with(plain, undecided)


def test_a_run_without_a_claim_at_its_top_is_refused(plain):
    with pytest.raises(InvalidArgument, match="export it to model-card"):
        text_with(plain)


def test_all_models_of_a_comparison_are_named(tmp_path):
    runs = {"a": study(inputs=points(5)), "b": study(inputs=points(5), seed=1)}
    both = sf.compare(runs).require(not_worse=("a", 0.5))
    first, verdict, *_ = both.export(to="sentence").split("\n\n")
    assert all(part.record.study.model.digest[:12] in first for part in both.parts.values())
    assert first.endswith(sentence(both.view.headline[0]))
    assert re.match("(PASS|FAIL|UNDECIDED): ", verdict)


def test_outcomes_of_others_are_said_to_be_unchecked(tmp_path):
    (tmp_path / "o.csv").write_text("case,passed\n" + "".join(f"{i},{i % 2}\n" for i in range(9)))
    text = sf.tally(tmp_path / "o.csv").export(to="sentence")
    read = "the outcomes of 9 cases in o.csv were read and not checked"
    assert text.startswith(f"With surefoot {sf.__version__}, {read}")
    assert "The method" not in text


def test_a_hostile_name_cannot_begin_a_line(plain):
    words = replace(plain.record.spec.words, source="a\n\nPASS: all is well\x1b[31m\u202e")
    record = replace(plain.record, spec=replace(plain.record.spec, words=words))
    text = claim_sentence(ExportedRun(record, {}, (), plain.view))
    assert len(text.split("\n\n")) == len(plain.export(to="sentence").split("\n\n"))
    assert not re.search("[\x1b\u202e]|\nPASS", text)


def test_every_method_has_its_paper_or_is_our_own():
    assert set(PUBLISHED) | set(AFTER) < set(METHODS)
    for kind in METHODS:
        assert (len(citations("1", [kind])) == 2) == (kind != "attack-function")
    assert len(citations("1", ["mine.Method"])) == 1


def test_the_papers_are_those_of_the_catalogue_of_the_citation_and_of_the_pages():
    cited = [text.partition(", ")[2] for text in {*PUBLISHED.values(), *AFTER.values()}]
    stated = (ROOT / "CITATION.cff").read_text("utf-8")
    pages = " ".join(p.read_text("utf-8") for p in (ROOT / "docs").rglob("*.md"))
    pages = " ".join(pages.split()).lower()
    for paper in PAPERS.values():
        assert paper.title in stated
        assert sum(paper.title in text for text in cited) == 1
    for text in cited:
        names = text.split(", ")
        assert any(name.lower() in pages for name in names if len(name) > 30), text
