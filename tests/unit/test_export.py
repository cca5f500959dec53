"""Documents of others hold the numbers of the claims, and no name can change what they say."""

import csv
import io
import json
import math
import re
import shlex
from dataclasses import replace
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from jsonschema import Draft7Validator
from markdown_it import MarkdownIt

import surefoot as sf
from surefoot.catalogue.methods import METHODS
from surefoot.core.assumptions import Jointly, Together
from surefoot.core.claims import KINDS, Verdict
from surefoot.core.results import UNIT, Footing, Guarantee, Interval
from surefoot.errors import EvidenceFailed
from surefoot.records.record import Source
from surefoot.report.clauses import assumptions_of, in_kept
from surefoot.report.export.run import ExportedRun, metrics_of
from surefoot.report.export.sentence import AFTER, PUBLISHED, citations, claim_sentence
from surefoot.report.export.table import _joined
from surefoot.report.iso_24029 import PLACES, PROPERTIES, Property, coverage
from surefoot.report.junit import Case, junit_xml
from surefoot.report.key_figure import key_figure
from surefoot.report.sentences import sentence
from surefoot.report.view import Caution
from tests.refusals import refused
from tests.shell import in_shell
from tests.unit.example_claims import CLAIMS, changed
from tests.worlds import linear_model, points, study

HOSTILE = (
    "<img src=x onerror=alert(1)> | [a](https://evil.example) ``` *b* _c_ `d` # e\n## f\r\x00\x1b"
    "\u202e\ud800\ufffe ]]> --> {{x}} www.evil.example ~~g~~ \" ' \\ : - &amp; 猫"
)
"""Markup of Markdown, HTML, YAML, JSON and XML, control characters, half a character."""


@pytest.fixture(scope="module")
def plain():
    return study(inputs=points(5), method=sf.methods.ExactSequential(0.3, 0.2)).run()


@pytest.fixture(scope="module")
def hostile(plain):
    """The run with hostile names of model, data, class, perturbation and command."""
    record, words = plain.record, plain.record.study.words
    spec = replace(
        record.spec,
        words=replace(words, perturbation=HOSTILE, property=HOSTILE, source=HOSTILE),
        inputs=replace(record.spec.inputs, selection=HOSTILE),
    )
    tiny = replace(record.claims[0].saying(kept=None), value=1e-09, interval=Interval(0.0, 2e-09))
    about = replace(record.claims[-1].about, name=HOSTILE)
    class_ = record.claims[0].saying(about=about, names=(HOSTILE,))
    command = shlex.join(["surefoot", "estimate", HOSTILE])
    source = Source(HOSTILE, HOSTILE, command=command, perturb=HOSTILE)
    claims = (*record.claims, class_, tiny, CLAIMS["tail"])
    return replace(plain, record=replace(record, spec=spec, source=source, claims=claims))


def expected(result):
    """Value, low, high and error of every number of the claims."""
    return [(m.value, m.low, m.high, m.error) for m in metrics_of(result.claims)]


def test_every_number_of_every_kind_of_claim_is_that_of_the_claim():
    for kind, claim in CLAIMS.items():
        for metric in metrics_of([claim]):
            assert metric.value == claim.value, kind
            around = claim.interval
            ends = (None, None) if around is None else (around.low, around.high)
            ends = tuple(None if end == math.inf else end for end in ends)
            assert (metric.low, metric.high) == ends, kind
            assert metric.error == (None if kind == "tail" else claim.guarantee.error), kind
            assert metric.interval or kind == "tail"
    with_number = {kind for kind, claim in CLAIMS.items() if metrics_of([claim])}
    without = {
        "kappa",
        "all_kappa",
        "published_kappa",
        "counted_accuracy",
        "best",
        "not_worse",
        "curve_not_worse",
        "radius_not_worse",
        "classes",
    }
    assert with_number == set(KINDS) - without  # verdicts and what has no guarantee


def test_an_extrapolation_never_wears_the_interval_of_the_count():
    guarantee = replace(CLAIMS["tail"].guarantee, error=0.05)
    both = changed(CLAIMS["tail"], interval=Interval(0.0, 0.003), guarantee=guarantee)
    fitted, counted = metrics_of([both])
    assert (fitted.low, fitted.high, fitted.error) == (None, None, None)
    assert (counted.value, counted.high, counted.error) == (None, 0.003, 0.05)


def test_a_model_card_shows_hostile_names_as_text(hostile):
    text = hostile.require(0.5).export()
    page = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    root = ElementTree.fromstring(f"<page>{page}</page>".replace("<br>", "<br/>"))
    tags = {element.tag for element in root.iter()}
    assert tags <= {
        "page", "h2", "h3", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "pre",
        "code", "blockquote",
    }  # fmt: skip
    assert [e.text for e in root.iter("h2")] == ["Robustness"]
    assert len(list(root.iter("tr"))) == 1 + len(metrics_of(hostile.claims))
    assert all(len(row) == 6 for row in root.iter("tr"))
    outside_code = text.partition("````")[0]
    assert "://" not in outside_code  # a bare address becomes a link
    assert "www." not in outside_code
    shown = "".join(root.itertext())
    assert "<img src=x onerror=alert(1)> | [a](https://evil.example)" in shown
    assert "\\x00\\x1b\\u202e\\ud800\\ufffe" in shown


def test_hugging_face_reads_the_numbers_back(hostile):
    cards = pytest.importorskip("huggingface_hub")
    text = hostile.export(to="hugging-face", dataset=HOSTILE, task="tabular-classification")
    results = cards.ModelCard(f"---\n{text}---\nbody").data.eval_results
    numbers = [
        (
            r.metric_value,
            r.metric_args.get("confidence_interval", {}).get("lower_bound"),
            r.metric_args.get("confidence_interval", {}).get("upper_bound"),
            r.metric_args.get("error_probability"),
        )
        for r in results
    ]
    for (value, *others), (own, *rest) in zip(numbers, expected(hostile), strict=True):
        assert isinstance(value, str) if own is None else value == own
        assert others == rest
    assert 1e-09 in [r.metric_value for r in results]  # YAML 1.1 takes 1e-09 for text
    assert results[0].dataset_name == HOSTILE.replace("\ud800", "\\ud800")
    assert re.fullmatch(r"[a-z0-9._/-]+", results[0].dataset_type)
    for name, id_ in (("Fashion-MNIST test", "fashion-mnist-test"), ("猫", "data")):
        text = hostile.export(to="hugging-face", dataset=name, task="tabular-classification")
        assert f'type: "{id_}"' in text


def test_cyclonedx_is_valid_and_has_the_numbers(hostile):
    package = pytest.importorskip("cyclonedx.schema._res")
    load = lambda name: json.loads((resources.files(package) / name).read_text("utf-8"))  # noqa: E731
    schema = load("bom-1.6.SNAPSHOT.schema.json")
    definitions = schema["definitions"]
    definitions["signature"] = {}  # refers to another file; nothing is signed
    definitions["license"]["properties"]["id"] = {"type": "string"}
    result = hostile.require(0.5)
    bom = json.loads(result.export(to="cyclonedx", name=HOSTILE, task=HOSTILE))
    Draft7Validator(schema).validate(bom)
    component = bom["components"][0]
    card = component["modelCard"]
    ends = [
        (
            float(m["value"]) if "value" in m else None,
            *(
                float(m["confidenceInterval"][end]) if m.get("confidenceInterval") else None
                for end in ("lowerBound", "upperBound")
            ),
        )
        for m in card["quantitativeAnalysis"]["performanceMetrics"]
    ]
    assert ends == [numbers[:3] for numbers in expected(hostile)]
    limits = " ".join(card["considerations"]["technicalLimitations"])
    assert all(one in limits for claim in result.claims for one in assumptions_of(claim))
    assert "hashes" not in component  # the digest of a function is not that of a file
    assert result.export(to="cyclonedx") == result.export(to="cyclonedx")


def test_junit_has_a_test_for_each_requirement(hostile):
    result = hostile.require(0.8, of_each_class=0.01)
    root = ElementTree.fromstring(result.export(to="junit").encode())
    cases = list(root.iter("testcase"))
    assert len(cases) == len(result.verdicts)
    kinds = {"PASS": None, "FAIL": "failure", "UNDECIDED": "failure"}
    for case, claim in zip(cases, result.verdicts, strict=True):
        assert (case.find("failure") is None) == (kinds[claim.verdict] is None)
    skipped = ElementTree.fromstring(result.export(to="junit", undecided="skip").encode())
    undecided = sum(claim.verdict == "UNDECIDED" for claim in result.verdicts)
    assert int(skipped.attrib["skipped"]) == undecided > 0


def test_what_a_document_has_no_place_for_is_refused(plain):
    for words, to, options in (
        ("not a test", "junit", {}),
        ("has no place for task", "junit", {"task": "x"}),
        ("has no place for name", "model-card", {"name": "x"}),
        ("pass its task", "hugging-face", {}),
        ("one of model-card", "pdf", {}),
    ):
        refused(words, plain.export, to=to, **options)
    refused("no place for a requirement", plain.require(0.5).export, to="hugging-face", task="x")


def test_several_models_and_counted_cases_are_a_model_card_only(plain, tmp_path):
    both = sf.compare({"a|b": study(inputs=points(5)), "<b>": study(inputs=points(5), seed=1)})
    (tmp_path / "o.csv").write_text("case,passed\n" + "".join(f"{i},{i % 2}\n" for i in range(9)))
    for result in (both, sf.tally(tmp_path / "o.csv")):
        assert result.export().startswith("## Robustness")
        for to in ("hugging-face", "cyclonedx"):
            refused("model-card", result.export, to=to)


def test_every_kind_of_claim_has_its_place_in_the_standard():
    assert set(PROPERTIES) == set(KINDS.values())
    for kind, claim in CLAIMS.items():
        places = {row.heading for row in coverage([claim]) if row.kinds}
        assert places == set(PROPERTIES[KINDS[kind]][1]), kind


def test_the_page_about_the_standard_has_the_mapping_of_the_report():
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "iso-24029.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (?:.+ \| )?(.+) \|$", page, re.MULTILINE)
    stated = {kind: () if at == "none" else tuple(at.split("; ")) for kind, at in rows}
    assert stated == {kind: PROPERTIES[KINDS[kind]][1] for kind in KINDS}
    clauses = dict(re.findall(r"^\| ([A-Z][^|]+) \| [23], ([\d.]+|draft) \|", page, re.MULTILINE))
    assert clauses == {one: place.clause or "draft" for one, place in PLACES.items()}


def test_what_is_not_shown_does_not_cover_a_property():
    attacked = changed(CLAIMS["robust_accuracy"], proved=0, refuted=40)
    assert [r.heading for r in coverage([attacked]) if r.kinds] == [Property.ADVERSARIAL]
    untouched = changed(CLAIMS["robust_accuracy"], proved=0, refuted=0)
    unproved = changed(CLAIMS["radius_quantile"], interval=Interval(0.0, 0.02))
    assert not any(row.kinds for row in coverage([untouched, unproved]))


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored")
    store = str(folder / "s.db")
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 1, (4, 6)).astype(np.float32)
    sf.estimate(linear_model(), (x, np.zeros(4, int)), "linf:0.1", each=0.3, store=store)
    return folder, store


def command(*words):
    return in_shell("export", *words)


def test_the_command_writes_what_python_writes(stored):
    folder, store = stored
    out = folder / "card.md"
    written = command("latest", "--store", store, "-o", str(out))
    assert written.stderr.startswith("run ")
    assert out.read_text(encoding="utf-8") == sf.read_result(store).export()
    assert written.stdout.strip() == str(out)
    tests = command("latest", "--store", store, "--to", "junit", "--require", "0.01")
    assert ElementTree.fromstring(tests.output.encode()).attrib["failures"] == "0"


def test_an_evidence_file_is_exported_only_if_its_claims_follow(stored):
    folder, store = stored
    file = folder / "run.evidence.json"
    sf.write_evidence("latest", file, store=store)
    assert sentence(sf.read_result(store).claims[0])[:40] in command(str(file)).output
    from surefoot.evidence.envelope import Envelope, read_envelope

    statement = json.loads(read_envelope(file).payload)
    statement["predicate"]["claims"][0]["interval"]["high"] = 1e-6
    statement["predicate"]["claims"][0]["interval"]["low"] = 0.0
    file.write_text(Envelope(json.dumps(statement).encode()).text())
    assert isinstance(command(str(file)).exception, EvidenceFailed)


def test_a_model_card_says_how_often_any_of_its_statements_is_wrong():
    """Errors add up; statements that hold together count once, and what promises nothing not."""
    plain = study(inputs=points(5), method=sf.methods.ExactSequential(0.3, 0.2)).run()

    def joint(claim, together, **changes):
        guarantee = replace(claim.guarantee, error=0.05, jointly=together)
        return claim.saying(guarantee=guarantee, **changes)

    one = plain.claims[0].saying(guarantee=Guarantee(Footing.SOUND, 0.05))
    classes = [joint(one, Jointly(Together.CLASSES, 2)) for _ in range(2)]
    curves = [joint(one, Jointly(Together.THRESHOLDS, 2), names=(name,)) for name in "ab"]
    nothing = replace(one.saying(guarantee=Guarantee(Footing.NONE, 1.0)), value=None, interval=None)
    for claims, total in (
        ([one], "0.05"), ([one, one], "0.1"), ([one, *classes], "0.1"), (curves, "0.1"),
        ([one, nothing], "0.05"),
    ):  # fmt: skip
        card = replace(plain, record=replace(plain.record, claims=tuple(claims))).export()
        assert f"any statement of this card is wrong is at most {total}, if" in card
    many = replace(plain, record=replace(plain.record, claims=(one,) * 20)).export()
    assert "add up to 1 or more" in many


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
    refused("export it to model-card", text_with, plain)


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


def test_tables_hold_the_numbers_of_the_claims_and_no_name_is_markup(plain, hostile):
    head, *rows = csv.reader(io.StringIO(plain.export(to="csv")))
    first = dict(zip(head, rows[0], strict=True))
    claim = in_kept(plain.claims[0])
    ends = (claim.value, claim.interval.low, claim.interval.high, claim.guarantee.error)
    assert [float(first[key]) for key in ("value", "low", "high", "error_probability")] == [*ends]
    table = plain.require(0.5).export(to="csv")
    assert table.rstrip().endswith(("PASS", "FAIL", "UNDECIDED"))
    text = hostile.export(to="latex")
    lines = [line for line in text.splitlines() if not line.startswith("% ")]
    assert lines[0] == r"\begin{table}"
    assert all(line.startswith("\\") or line.endswith(r"\\") for line in lines)
    assert "\x1b" not in text + hostile.export(to="csv")


@pytest.mark.parametrize(
    ("value", "interval", "joined"),
    [
        ("6.44 %", "5.28 % to 7.76 %", "6.44 ± 1.32 %"),
        ("0.031", "0.03 to 0.0325", "0.031 ± 0.0015"),
        ("10 %", "10 %", "10 %"),
        ("not known", "0 % to 100 %", "not known (0 % to 100 %)"),
        ("", "1 % to 2 %", "1 % to 2 %"),
    ],
)
def test_what_stands_behind_plus_minus_reaches_the_farther_end(value, interval, joined):
    assert _joined(value, interval) == joined


FORBIDDEN = 'a ]]> <b> & "c" \x00\x1b\ud800\ufffe 猫 \U0001f600'
"""Markup, a control character, half a surrogate pair and a code point that is no character."""

READABLE = 'a ]]> <b> & "c" \\x00\\x1b\\ud800\\ufffe 猫 \U0001f600'


def test_a_hostile_name_is_read_back_with_what_xml_forbids_escaped() -> None:
    cases = [
        Case(FORBIDDEN, FORBIDDEN, outcome, FORBIDDEN, 0.25, FORBIDDEN)
        for outcome in ("passed", "failed", "undecided", "error")
    ]
    text = junit_xml(cases, properties={FORBIDDEN: FORBIDDEN})
    suite = ElementTree.fromstring(text.encode()).find("testsuite")
    assert suite is not None
    assert suite.attrib["name"] == READABLE
    entries = suite.findall("testcase")
    assert [entry.attrib["name"] for entry in entries] == [READABLE] * 4
    failure = entries[1].find("failure")
    assert failure is not None
    assert failure.attrib["message"] == READABLE
    assert failure.text == READABLE
    assert [prop.attrib["value"] for prop in suite.iter("property")] == [READABLE]


@pytest.mark.parametrize(
    ("undecided", "failures", "skipped"), [("fail", 2, 0), ("skip", 1, 1), ("pass", 1, 0)]
)
def test_the_counts_of_each_suite_and_of_all_are_those_of_the_elements(
    undecided: str, failures: int, skipped: int
) -> None:
    cases = [
        Case("a", "1", "passed", seconds=1.5),
        Case("b", "2", "failed"),
        Case("a", "3", "undecided", "why"),
        Case("a", "4", "error"),
    ]
    root = ElementTree.fromstring(junit_xml(cases, undecided))  # type: ignore[arg-type]
    assert [suite.attrib["name"] for suite in root] == ["a", "b"]
    for holder in (root, *root):
        for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(holder.attrib[count]) == len(list(holder.iter(tag)))
        assert int(holder.attrib["tests"]) == len(list(holder.iter("testcase")))
    assert (int(root.attrib["failures"]), int(root.attrib["skipped"])) == (failures, skipped)
    assert root.attrib["time"] == "1.500"


def test_no_case_at_all_is_still_a_report() -> None:
    assert ElementTree.fromstring(junit_xml([])).attrib["tests"] == "0"


def test_what_is_no_outcome_or_no_time_is_refused() -> None:
    refused("one of passed", Case, "a", "b", "maybe")
    refused("≥ 0", Case, "a", "b", "passed", seconds=float("nan"))
    refused("one of fail, skip, pass", junit_xml, [], undecided="passed")
