"""`surefoot design`: when it stops, what is proved, what it costs."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from surefoot.statistics import design_for, fixed_size, okamoto
from surefoot.statistics.designs import expected_trials
from tests.system.hold import SECONDS

DESIGN = ("design", "--width", "0.02", "--confidence", "0.99")


def test_json_is_the_whole_design_with_its_cost(workspace):
    output = json.loads(workspace.run(*DESIGN, "--json").stdout)
    made = design_for(0.02, 0.01)
    assert output["design"]["looks"] == list(made.looks)
    assert output["design"]["few"] == list(made.few)
    assert 0 < output["design"]["proved"] <= output["design"]["error"] == 0.01
    assert output["cost"]["okamoto"] == okamoto(0.02, 0.01)
    assert output["cost"]["fixed_size"] == fixed_size(0.02, 0.01)
    rows = {row["p"]: row for row in output["cost"]["expected"]}
    assert list(rows) == [0.0, 0.01, 0.05, 0.1, 0.25, 0.5]
    assert rows[0.1]["trials"] == pytest.approx(expected_trials(made, 0.9))
    assert rows[0.5]["limit"] == pytest.approx(2.5758293**2 / 4 / 0.02**2)


def test_the_figure_is_a_image_of_its_own(workspace):
    words = ("design", "--width", "0.5", "--confidence", "0.7", "--figure", "design.svg")
    done = workspace.succeed(*words, "--json")
    assert done.stderr == "figure written to design.svg\n"
    assert json.loads(done.stdout)["design"]["width"] == 0.5
    image = (workspace.folder / "design.svg").read_text()
    root = ElementTree.fromstring(image)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    output = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"trials so far", "expected trials", "exact sequential", "Okamoto"} <= output
    assert "NaN" not in image
    assert len(image) < 60_000


@pytest.mark.parametrize(
    "words",
    [
        *[("--width", text) for text in ("1e-4", "wide", "2")],
        *[("--confidence", text) for text in ("99", "1")],
        *[("--figure", text) for text in ("no/such/design.svg", "design.gif")],
    ],
)
def test_what_cannot_be_designed_is_one_sentence_and_writes_nothing(refusal, words):
    refusal("design", *words)


def test_asking_for_help_imports_nothing_heavy():
    code = (
        "import sys; import surefoot.cli.main; "
        "print([m for m in ('numpy', 'scipy', 'altair', 'rich.table') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], text=True, capture_output=True, check=True, timeout=SECONDS
    )
    assert done.stdout.strip() == "[]"
