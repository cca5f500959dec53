"""Runs of pytest with the plugin: studies as tests, and undecided as an outcome of its own.

Each run is a child of a process that has imported the package: it has its own folder and output.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.system import forked
from tests.system.hold import SECONDS

PLUGIN = "surefoot.testing.pytest_plugin"
MODEL = """
import numpy as np

def classify(x):
    total = x.astype(np.float64).sum(axis=1)
    return np.stack([total, -total], axis=1)

def broken(x):
    raise RuntimeError("\\x1b[31mno weights")
"""
STUDIES = """
error = 0.04
[defaults]
model = "model.py:classify"
data = "test.npz"
shape = "6"
workers = 1
perturb = "linf:0.02"
precision = 0.05
""" + "".join(
    f'[[study]]\nname = "{name}"\ncommand = "estimate"\nrequire = 0.95\n{more}\n'
    for name, more in {
        "small noise": "precision = 0.02",
        "large-noise": 'perturb = "linf:0.4"',
        "open": 'about = "population"',
        "broken": 'model = "model.py:broken"',
    }.items()
)
TESTS = """
import numpy as np
import surefoot as sf
from model import classify

MODEL = sf.load_model(classify, shape=(6,))
X = np.load("test.npz")["x"]

def test_refuted():
    sf.assert_robust(MODEL, X, "linf:0.4", precision=0.05)

def test_undecided():
    sf.assert_robust(MODEL, X, "linf:0.02", about="population")

def test_undecided_that_passes():
    sf.assert_robust(MODEL, X, "linf:0.02", about="population", undecided="pass")

def test_undecided_that_fails_otherwise():
    sf.assert_robust(MODEL, X, "linf:0.02", about="population", undecided="pass")
    assert "something" == "else"
"""
CONFIGURATION = """
[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["."]
filterwarnings = ["error", "default::UserWarning"]
addopts = "--strict-markers --strict-config -p no:cacheprovider"
"""


@pytest.fixture
def project(tmp_path):
    x = np.random.default_rng(7).uniform(-1, 1, (12, 6)).astype(np.float32)
    np.savez(tmp_path / "test.npz", x=x)
    files = {"model.py": MODEL, "surefoot.toml": STUDIES, "pyproject.toml": CONFIGURATION}
    for name, text in {**files, "tests/test_model.py": TESTS}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def child(runs, folder, place, path):
    """Each run with its output in a file of its own; several share what is imported."""
    os.chdir(folder)
    sys.path[:] = path
    os.environ.update(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", COLUMNS="100")
    os.environ.pop("PYTEST_ADDOPTS", None)
    for number, words in enumerate(runs):
        for descriptor in (1, 2):
            file = os.open(f"{place}/{number}.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(file, descriptor)
        sys.stdout, sys.stderr = (os.fdopen(fd, "w", closefd=False) for fd in (1, 2))
        code = int(pytest.main(["-p", PLUGIN, *words]))
        sys.stdout.flush()
        sys.stderr.flush()
        Path(f"{place}/{number}.code").write_text(str(code))
    os._exit(0)


def run_all(folder, *runs):
    """The exit code and the output of each run of pytest."""
    place = folder.parent / f"{folder.name} output"
    place.mkdir()
    arguments = (runs, str(folder), str(place), list(sys.path))
    process = forked.start(child, *arguments)
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
        raise subprocess.TimeoutExpired(["pytest"], SECONDS)
    files = [(place / f"{i}.code", place / f"{i}.txt") for i in range(len(runs))]
    return [(int(code.read_text()), text.read_text()) for code, text in files]


def test_studies_are_tests_and_each_outcome_is_shown_as_what_it_is(project):
    ((code, output),) = run_all(project, ["-v", "--junitxml", "results.xml"])
    assert code == 1
    lines = re.findall(r"^(\S+::[\w -]+?) ([A-Z]+) +\[", output, re.MULTILINE)
    assert dict(lines) == {
        "tests/test_model.py::test_refuted": "FAILED",
        "tests/test_model.py::test_undecided": "UNDECIDED",
        "tests/test_model.py::test_undecided_that_passes": "UNDECIDED",
        "tests/test_model.py::test_undecided_that_fails_otherwise": "FAILED",
        "surefoot.toml::small noise": "PASSED",
        "surefoot.toml::large-noise": "FAILED",
        "surefoot.toml::open": "UNDECIDED",
        "surefoot.toml::broken": "FAILED",
    }
    assert output.count("UNDECIDED: whether ") == 3
    assert "tests/test_model.py::test_undecided_that_passes: passed" in output
    assert "surefoot.toml::open: failed" in output
    assert re.search("4 failed, 1 passed, .*warnings, 3 undecided", output.splitlines()[-1])
    assert "surefoot/" not in output, "a frame of the package is no help to who tests a model"
    assert "Traceback" not in output
    assert "\x1b" not in output
    check_results(project / "results.xml")


def check_results(path: Path) -> None:
    """Of the studies; `pytest` wrote them."""
    cases = {case.get("name"): case for case in ElementTree.parse(path).iter("testcase")}
    claims = {n: [p.get("value") for p in c.iter("property")] for n, c in cases.items()}
    assert claims["small noise"][0].startswith("PASS: these 12 inputs keep their label")
    (failure,) = cases["large-noise"].iter("failure")
    first, second = failure.text.splitlines()
    assert [first] == claims["large-noise"]
    assert second.startswith("Failed most often in this run: ")
    (failure,) = cases["open"].iter("failure")
    assert failure.text.startswith("UNDECIDED: whether")
    (failure,) = cases["broken"].iter("failure")
    assert "no weights" in failure.text
    assert len(failure.text.splitlines()) == 1


def test_studies_are_chosen_as_other_tests_are(project):
    (all_, some), (_, named), (skip_code, skipped) = run_all(
        project,
        ["--collect-only", "-q"],
        ["--collect-only", "-q", "tests", "surefoot.toml::open"],
        ["-o", "surefoot_undecided=skip", "-m", "surefoot", "-k", "open"],
    )
    assert all_ == 0
    assert "surefoot.toml::small noise\nsurefoot.toml::large-noise\n" in some
    assert "8 tests collected" in some
    assert "5 tests collected" in named
    assert skip_code == 0
    assert "surefoot.toml::open: skipped" in skipped
    assert "UNDECIDED: whether " in skipped
    assert "1 skipped, 7 deselected" in skipped.splitlines()[-1]


def test_studies_may_be_in_other_files_and_other_settings_are_refused(project):
    place = project / "more" / "noise.toml"
    place.parent.mkdir()
    (project / "surefoot.toml").unlink()
    beside = STUDIES.replace('"test.npz"', '"../test.npz"').replace('"model.py', '"../model.py')
    place.write_text(beside)
    (_, collected), (none, no_file), (odd, perhaps) = run_all(
        project,
        ["--collect-only", "-q", "-o", "surefoot_studies=tests/../more/noise.toml"],
        ["-o", "surefoot_studies=none.toml"],
        ["-o", "surefoot_undecided=perhaps"],
    )
    assert "more/noise.toml::small noise\n" in collected
    assert not list(project.rglob("*.db*")), "collecting runs no trial"
    assert none == odd == pytest.ExitCode.USAGE_ERROR
    assert "none.toml, which is no file" in no_file
    assert "surefoot_undecided must be fail, skip or pass, got 'perhaps'" in perhaps


BAD_FILES = {
    "[[study]]\nname = 3\n": "needs a name",
    STUDIES.replace("large-noise", "\\u001b[31m::x\\n"): "needs a name",
    STUDIES.replace("precision = 0.02", "presicion = 0.02"): "do you mean precision",
    "\x00\xff[[[": "cannot be read as TOML",
}
"""What a study file holds, and a part of the sentence on it."""


MEASURED = """
[[study]]
name = "measured"
command = "estimate"
model = "../model.py:classify"
data = "../test.npz"
shape = "6"
perturb = "linf:0.02"
precision = 0.1
"""


def test_a_bad_file_is_an_error_whatever_is_chosen_and_the_others_can_run(project):
    names = [f"{i}/surefoot.toml" for i in range(len(BAD_FILES))]
    for name, text in zip(names, BAD_FILES, strict=True):
        (project / name).parent.mkdir()
        (project / name).write_text(text, encoding="latin-1")
    (project / "good").mkdir()
    (project / "good/surefoot.toml").write_text(MEASURED)
    files = [*names, "good/surefoot.toml"]
    go_on = [*files, "-rs", "--continue-on-collection-errors"]
    other_tests = [*files, "-k", "nothing", "-m", "not surefoot"]
    (code, output), (chosen, _) = run_all(project, go_on, other_tests)
    assert chosen == pytest.ExitCode.INTERRUPTED
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "nothing is required" in output
    assert re.search("1 skipped,.* 4 errors", output)
    parts = output.split("ERROR collecting")[1:]
    assert len(parts) == len(BAD_FILES)
    for part, sentence in zip(parts, BAD_FILES.values(), strict=True):
        assert sentence in part
    assert "Traceback" not in output
    assert "\x1b" not in output


def test_the_package_says_to_pytest_where_its_plugin_is():
    whole = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert whole["project"]["entry-points"]["pytest11"] == {"surefoot": PLUGIN}
