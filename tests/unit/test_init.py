"""`init`: the study file that it writes runs, for every kind of data, and nothing is replaced."""

import json
import tomllib
from pathlib import Path

import joblib
import numpy as np
import pytest
import yaml
from sklearn.linear_model import LogisticRegression

import surefoot as sf
from surefoot.commands.init import STUDY, WORKFLOW
from surefoot.commands.run import GateOptions
from surefoot.errors import InvalidArgument, ReportFailed
from surefoot.gate.read_gate import read_gate
from tests.refusals import refused
from tests.shell import in_shell
from tests.unit.small_models import batch, relu_net
from tests.unit.test_inputs_images import tone

SHAPE = (1, 6, 6)
CODE = """
import numpy as np
def sums(x):
    mean = np.asarray(x).reshape(len(x), -1).mean(axis=1)
    return np.stack([0.5 - mean, mean - 0.5], axis=1)
def loud(x):
    return sums(1.5 * np.abs(np.asarray(x)))
def good(texts):
    count = np.array([text.count("good") - 0.5 for text in texts])
    return np.stack([-count, count], axis=1)
def value(x):
    return 5 + np.asarray(x)[:, :1]
def nothing(x):
    return np.full((len(x), 2), np.nan)
"""


@pytest.fixture
def folder(cwd):
    (cwd / "mine.py").write_text(CODE)
    np.savez("test.npz", x=(255 * batch(6, SHAPE)).astype(np.uint8), y=[0, 0, 1, 1, 2, 2])
    relu_net(cwd / "model.onnx", SHAPE)
    return cwd


def images(_folder):
    return ("model.onnx", "test.npz"), {}, "gaussian:0.05", "true"


def table(_folder):
    x = np.random.default_rng(0).normal(0, 3, (20, 2))
    y = (x[:, 0] > 0).astype(int)
    joblib.dump(LogisticRegression().fit(x, y), "clf.joblib")
    lines = ["a,b,label", *(f"{a},{b},{c}" for (a, b), c in zip(x, y, strict=True))]
    Path("data.csv").write_text("\n".join(lines))
    return ("clf.joblib", "data.csv"), {"labels": "label", "trust": True}, "table:0.1sd", "true"


def texts(_folder):
    rows = [{"text": "a good film", "label": 1}, {"text": "a bad film", "label": 0}]
    Path("r.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return ("mine.py:good", "r.jsonl"), {}, "typos:0.05", "true"


def other_texts(_folder):
    Path("r.txt").write_text("\u4f60\u597d\n\u597d\u4f60 good", encoding="utf-8")
    Path("other.txt").write_text("\u4f60\u597d\n\u597d\u4f60", encoding="utf-8")
    return ("mine.py:good", "other.txt"), {}, "swaps:0.05", "same"


def sounds(folder):
    for name, level in (("a/1", 0.2), ("b/2", 0.9)):
        tone(folder / "sounds" / f"{name}.wav", level=level)
    return ("mine.py:loud", "sounds"), {}, "snr:20dB", "true"


def arrays(_folder):
    np.save("x.npy", batch(4, (2, 3, 4, 5)) * 10)
    return ("mine.py:sums", "x.npy"), {"first": 3}, "gaussian:0.5", "same"


def values(_folder):
    np.save("x.npy", batch(4, (5,)))
    return ("mine.py:value", "x.npy"), {"scores": "values"}, "table:0.1sd", "close:5%"


KINDS = (images, table, texts, other_texts, sounds, arrays, values)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_study_file_runs_as_it_is(kind, folder):
    files, options, perturb, prop = kind(folder)
    start = sf.init(*files, **options)
    assert [str(file) for file in start.files] == [STUDY, str(WORKFLOW)]
    written = tomllib.loads(Path(STUDY).read_text())
    (study,) = written["study"]
    assert (study["perturb"], written["defaults"]["property"]) == (perturb, prop)
    assert {n: written["defaults"][n] for n in options} == options
    assert 0 <= study["require"] <= 0.95
    assert sf.run_studies(STUDY).exit_code in (0, 1, 2)
    text = Path(STUDY).read_text()
    studies, names = text.replace("# [[study]]", "[[study]]"), ("name", "command", "perturb")
    for name in names:
        studies = studies.replace(f"# {name} = ", f"{name} = ")
    Path(STUDY).write_text(studies)
    assert len(read_gate(STUDY, GateOptions()).studies) == 1 + text.count("# [[study]]")


def test_the_study_file_can_be_compared_with_an_earlier_model_as_it_is(folder):
    files, _, _, _ = arrays(folder)
    sf.init(*files)
    (study,) = read_gate(STUDY, GateOptions(previous_model=files[0])).studies
    assert study.regression is not None and study.requirements == 1


def test_nothing_is_replaced_without_force(folder):
    sf.init("model.onnx", "test.npz")
    Path(STUDY).write_text("mine")
    refused(f"{STUDY} is there already.*--force", sf.init, "model.onnx", "test.npz")
    assert Path(STUDY).read_text() == "mine"
    Path(STUDY).unlink()
    refused(r"surefoot.yml is there already", sf.init, "model.onnx", "test.npz")
    assert not Path(STUDY).exists()
    assert sf.init("model.onnx", "test.npz", force=True).files


def test_nothing_is_written_where_a_check_is_bad(folder):
    start = sf.init("mine.py:nothing", "test.npz", scores="logits")
    assert start.checkup.bad
    assert start.files == ()
    assert not Path(STUDY).exists()
    done = in_shell("init", "mine.py:nothing", "test.npz", "--scores", "logits")
    assert done.return_value == 3


@pytest.mark.parametrize(
    ("prepare", "arguments", "error", "said"),
    [
        (None, ("no.onnx", "test.npz"), InvalidArgument, "no.onnx"),
        (None, (lambda x: x, "test.npz"), InvalidArgument, "give model and data as files"),
        (b"\0\1", ("mine.py:sums", "packets"), InvalidArgument, "packets holds bytes"),
        ("file", ("model.onnx", "test.npz"), ReportFailed, "cannot be written"),
    ],
)
def test_what_cannot_be_begun_is_refused(prepare, arguments, error, said, folder):
    if isinstance(prepare, bytes):
        Path("packets").mkdir()
        Path("packets/1").write_bytes(prepare)
        Path("mine.py").write_text("def sums(x):\n    return [[0.0, len(one)] for one in x]\n")
    elif prepare:
        Path(".github").write_text("no folder")
    options = {"read_as": "bytes"} if isinstance(prepare, bytes) else {}
    with pytest.raises(error, match=said):
        sf.init(*arguments, **options)
    assert not Path(STUDY).exists()


def test_the_workflow_is_where_the_repository_has_its_workflows(folder, monkeypatch):
    (folder / ".git").mkdir()
    (folder / "models").mkdir()
    for name in ("model.onnx", "test.npz"):
        (folder / name).rename(folder / "models" / name)
    monkeypatch.chdir(folder / "models")
    start = sf.init(str(folder / "models" / "model.onnx"), "test.npz")
    assert start.files[1] == Path("..") / WORKFLOW
    job = yaml.safe_load((folder / WORKFLOW).read_text())["jobs"]["robustness"]
    assert job["steps"][-1]["uses"].endswith("/surefoot@main")
    assert job["steps"][-1]["with"]["study"] == f"models/{STUDY}"
    action = yaml.safe_load((Path(__file__).parents[2] / "action.yml").read_text())
    assert set(job["steps"][-1]["with"]) <= set(action["inputs"])
    assert tomllib.loads(Path(STUDY).read_text())["defaults"]["model"] == "model.onnx"


def test_the_shell_says_what_was_written_and_what_comes_next(folder):
    words = ["init", "model.onnx", "test.npz", "--json"]
    done = in_shell(*words)
    assert json.loads(done.stdout)["files"] == [STUDY, str(WORKFLOW)]
    done = in_shell(*words[:-1], "--force")
    assert done.stdout.splitlines()[-1].startswith("next: surefoot run;")
