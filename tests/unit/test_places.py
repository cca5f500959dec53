"""A place that cannot be written is refused before anything is read, let alone evaluated."""

import pytest
import typer
from typer.testing import CliRunner

from surefoot.cli.main import app
from surefoot.commands.values import OUTPUTS, check_distinct
from surefoot.errors import InvalidArgument

FILES = ("none.onnx", "none.npz")  # read first, they would be what is complained about
NOISE = ("--perturb", "linf:0.1")
LEVELS = ("--perturb", "linf", "--levels", "0.1,0.2")
WRITERS = [
    ("estimate", *FILES, *NOISE, "--report"),
    ("estimate", *FILES, *LEVELS, "--report"),
    ("estimate", *FILES, *LEVELS, "--figure"),
    ("certify", *FILES, *NOISE, "--kappa", "0.1", "--report"),
    ("tail", *FILES, *NOISE, "--report"),
    ("tail", *FILES, *LEVELS, "--figure"),
    ("compare", "a.onnx", *FILES, *NOISE, "--report"),
    ("curve", *FILES, "--perturb", "blur:0..1", "--report"),
    ("curve", *FILES, "--perturb", "blur:0..1", "--figure"),
    ("critical", *FILES, "--report"),
    ("critical", *FILES, "--figure"),
    ("critical", *FILES, "--counterexamples"),
    ("critical", *FILES, "--vnnlib"),
    ("brackets", "none.csv", "--report"),
    ("brackets", "none.csv", "--figure"),
    ("tally", "none.csv", "--report"),
    ("tally", "none.csv", "--figure"),
    ("design", "--figure"),
    ("perturb", "blur:1", "none.png", "--sheet"),
    ("report", "--store", "none.db", "--out"),
    ("replay", "ab", "1", "1", "--store", "none.db", "--save"),
]
ENDS = {"--figure": ".svg", "--counterexamples": ".npz", "--report": ".html", "--out": ".html"}


def refusal(*words: str) -> str:
    result = CliRunner().invoke(app, list(words))
    assert isinstance(result.exception, InvalidArgument), result.exception
    return str(result.exception)


@pytest.mark.slow
@pytest.mark.parametrize("words", WRITERS, ids=lambda words: f"{words[0]} {words[-1]}")
def test_a_place_that_cannot_be_written_is_refused_first(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "out" + ENDS.get(words[-1], ".png")
    target = tmp_path / name
    folder = words[-1] == "--vnnlib"
    target.touch() if folder else target.mkdir()
    kind = "a file: name a folder" if folder else "a folder: name a file"
    assert f"{name} is {kind}" in refusal(*words, name)
    assert "there is no folder" in refusal(*words, f"missing/{name}")
    if not folder:
        assert "cannot be written" in refusal(*words, "o" * (256 - len(name)) + name)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_several_networks_write_side_by_side_whatever_their_names(tmp_path, monkeypatch):
    from surefoot.commands.critical import path_for_network

    monkeypatch.chdir(tmp_path)
    (tmp_path / "ce-a_m.onnx.npz").mkdir()
    text = refusal("critical", "a/m.onnx", "b/m.onnx", "x.npz", "--counterexamples", "ce.npz")
    assert "ce-a_m.onnx.npz is a folder" in text
    assert path_for_network(".", "m").parent == tmp_path.parent


def test_a_device_is_not_replaced_by_a_page():
    assert "choose another place" in refusal("brackets", "none.csv", "--report", "/dev/null")


@pytest.mark.parametrize(
    "words",
    [w for w in WRITERS if w[-1] in ("--report", "--out")],
    ids=lambda words: f"{words[0]} {words[-1]}",
)
def test_a_report_that_is_named_like_another_format_is_refused_with_its_name(words):
    text = refusal(*words, "a/page.pdf")
    said = f"({words[-1]}) a/page.pdf: a report is an HTML page; name it a/page.html"
    assert said in text


@pytest.mark.parametrize(
    ("words", "other"),
    [
        (("export", "-o", "surefoot.db"), "surefoot.db"),
        (("evidence", "-o", "link.json"), "surefoot.db"),
        (("report", "--out", "link.html", "--store", "other.db"), "other.db"),
        (("estimate", "f.py:f", "x.csv", *LEVELS, "--figure", "f.json"), "f.py"),
        (("critical", "m.onnx", "x.npz", "--counterexamples", "x.npz"), "x.npz"),
        (("estimate", *FILES, *NOISE, "--store", "new.html", "--report", "./new.html"), "new.html"),
        (("perturb", "fog", "cat.png", "--sheet", "./cat.png"), "cat.png"),
        (("tally", "a.json", "--figure", "a.json"), "a.json"),
        (("curve", *FILES, *NOISE, "--report", "a.html", "--figure", "link.svg"), "link.svg"),
    ],
)  # fmt: skip
def test_an_output_is_no_other_file_of_the_command(words, other, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    there = ("surefoot.db", "other.db", "f.py", "x.csv", "x.npz", "cat.png", "a.json")
    for name in there:
        (tmp_path / name).write_text(name)
    for link, target in (("link.json", "surefoot.db"), ("link.html", "other.db"),
                         ("f.json", "f.py"), ("link.svg", "a.html")):  # fmt: skip
        (tmp_path / link).symlink_to(target)
    assert f"is the same file as {other}, which this command" in refusal(*words)
    assert all((tmp_path / name).read_text() == name for name in there)


def test_every_option_that_writes_a_file_is_compared_with_the_others():
    """An option for a file says `Write`; one for a folder says so."""
    command = typer.main.get_command(app)
    for one in command.commands.values():
        for parameter in one.params:
            text = getattr(parameter, "help", None) or ""
            if text.startswith("Write") and "folder" not in text:
                assert parameter.name in OUTPUTS, (one.name, parameter.name)


def test_a_name_that_happens_to_be_a_number_is_no_file():
    check_distinct({"figure": "1", "table": "1", "data": ("1", 2), "store": None})


@pytest.mark.parametrize("name", ["", "-"])
def test_an_empty_name_and_a_dash_are_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (("export", "-o"), ("run", "--evidence"), ("run", "--junit"), ("evidence", "-o")):
        assert "is no name to write to" in refusal(*words, name)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_created_is_refused_first(tmp_path):
    (tmp_path / "link").symlink_to("missing")
    assert "cannot be written" in refusal("run", "--evidence", "/proc/xx")
    assert "create it first" in refusal("run", "--evidence", str(tmp_path / "link"))
