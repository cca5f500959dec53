"""A file is whole or not there; a place that cannot be written is refused before all else."""

import os
from pathlib import Path

import pytest
import typer

from surefoot.cli.main import app
from surefoot.commands.values import OUTPUTS, check_distinct, check_file
from surefoot.errors import InvalidArgument, ReportFailed
from surefoot.system.whole_file import UNFINISHED, open_beside, remove_unfinished, write_whole
from tests.refusals import refused
from tests.shell import in_shell


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def leave_behind(folder, name):
    """As a process that was killed in the middle of writing."""
    path = folder / f".{name}.x1y2{UNFINISHED}"
    path.write_text("<html>half")
    return path


@pytest.mark.parametrize(
    "next_step",
    [lambda path: write_whole(path, "new"), check_file,
     lambda path: remove_unfinished(path.parent)],
)  # fmt: skip
def test_what_a_killed_process_left_is_removed_by_the_next_one(tmp_path, next_step):
    path = tmp_path / "report.html"
    path.write_text("old")
    leave_behind(tmp_path, "report.html")
    leave_behind(tmp_path, "other.svg")
    (tmp_path / ".hidden.part").write_text("somebody else's")
    next_step(path)
    assert names(tmp_path) == [".hidden.part", "report.html"]
    assert path.read_text() in ("old", "new")


def test_what_another_process_is_writing_stays(tmp_path):
    path = tmp_path / "report.html"
    with open_beside(tmp_path) as (file, beside):
        write_whole(path, "by another")
        assert beside.exists()
        file.write(b"later")
        file.flush()
        beside.replace(path)
    assert names(tmp_path) == ["report.html"]
    assert path.read_text() == "later"


def test_a_write_that_fails_or_is_interrupted_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    for error, raised in ((OSError(28, "No space left on device"), ReportFailed),
                          (KeyboardInterrupt(), KeyboardInterrupt)):  # fmt: skip

        def fail(_handle, error=error):
            raise error

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(raised):
            write_whole(path, "new")
        assert names(tmp_path) == ["report.html"]
        assert path.read_text() == "old"


def test_a_link_stays_a_link_and_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "link.html").symlink_to(tmp_path / "other" / "real.html")
    for content in (b"new", b"newer"):
        write_whole(tmp_path / "link.html", content)
        assert (tmp_path / "link.html").is_symlink()
        assert (tmp_path / "other" / "real.html").read_bytes() == content
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "other" / "real.html").stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_private_file_stays_private_and_a_long_name_is_a_name(tmp_path):
    path = tmp_path / ("a" * 250 + ".html")
    path.touch(0o600)
    check_file(path)
    write_whole(path, "new")
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_file_is_made_where_the_link_leads(tmp_path, monkeypatch):
    """As another file system would need it: nothing is moved from one folder to another."""
    (tmp_path / "other").mkdir()
    (tmp_path / "link.xml").symlink_to(tmp_path / "other" / "new.xml")
    replace = type(tmp_path).replace

    def within_one_folder(source, target):
        assert source.parent == target.parent
        return replace(source, target)

    monkeypatch.setattr(type(tmp_path), "replace", within_one_folder)
    write_whole(tmp_path / "link.xml", "new")
    assert names(tmp_path / "other") == ["new.xml"]


def test_a_pipe_that_is_named_like_a_part_is_left_alone(tmp_path):
    os.mkfifo(tmp_path / f".x{UNFINISHED}")
    check_file(tmp_path / "a.html")
    write_whole(tmp_path / "a.html", "new")
    assert names(tmp_path) == [f".x{UNFINISHED}", "a.html"]


STORE, PNG = b"SQLite format 3\0" + b"\0" * 99, b"\x89PNG\r\n\x1a\n\0\0"
ONNX, NPZ = b"\x08\x08\x12\x07pytorch", b"PK\x03\x04-\0"


@pytest.mark.parametrize("old", [STORE, ONNX, NPZ, PNG])
@pytest.mark.parametrize("new", [b"<html>", b"{}", PNG + b"1", NPZ + b"1", b""])
def test_a_binary_file_is_replaced_by_one_of_its_format_alone(tmp_path, old, new):
    path = tmp_path / "link"
    (tmp_path / "real").write_bytes(old)
    path.symlink_to(tmp_path / "real")
    if old[:4] == new[:4]:
        write_whole(path, new)
        assert path.read_bytes() == new
        return
    refused(r"would be lost: choose another name", write_whole, path, new)
    assert path.read_bytes() == old


@pytest.mark.parametrize("old", [b"", b"# notes\n", "na\u00efve\t\x1b[1m".encode(), b"x,y\r\n"])
def test_a_text_is_replaced(tmp_path, old):
    (tmp_path / "a").write_bytes(old)
    write_whole(tmp_path / "a", PNG)
    assert (tmp_path / "a").read_bytes() == PNG


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/fd/1", "/dev/null", "/proc/self/fd/1"])
def test_what_is_no_plain_file_is_not_replaced(path):
    for refuse in (check_file, lambda where: write_whole(Path(where), "new")):
        refused("not a regular file", refuse, path)


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
    result = in_shell(*words)
    assert isinstance(result.exception, InvalidArgument), result.exception
    return str(result.exception)


@pytest.mark.slow
@pytest.mark.parametrize("words", WRITERS, ids=lambda words: f"{words[0]} {words[-1]}")
def test_a_place_that_cannot_be_written_is_refused_first(words, cwd):
    name = "out" + ENDS.get(words[-1], ".png")
    target = cwd / name
    folder = words[-1] == "--vnnlib"
    target.touch() if folder else target.mkdir()
    kind = "a file: name a folder" if folder else "a folder: name a file"
    assert f"{name} is {kind}" in refusal(*words, name)
    assert "there is no folder" in refusal(*words, f"missing/{name}")
    if not folder:
        assert "cannot be written" in refusal(*words, "o" * (256 - len(name)) + name)
    assert [p.name for p in cwd.iterdir()] == [name]


def test_several_networks_write_side_by_side_whatever_their_names(cwd):
    from surefoot.commands.critical import path_for_network

    (cwd / "ce-a_m.onnx.npz").mkdir()
    text = refusal("critical", "a/m.onnx", "b/m.onnx", "x.npz", "--counterexamples", "ce.npz")
    assert "ce-a_m.onnx.npz is a folder" in text
    assert path_for_network(".", "m").parent == cwd.parent


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
def test_an_output_is_no_other_file_of_the_command(words, other, cwd):
    there = ("surefoot.db", "other.db", "f.py", "x.csv", "x.npz", "cat.png", "a.json")
    for name in there:
        (cwd / name).write_text(name)
    for link, target in (("link.json", "surefoot.db"), ("link.html", "other.db"),
                         ("f.json", "f.py"), ("link.svg", "a.html")):  # fmt: skip
        (cwd / link).symlink_to(target)
    assert f"is the same file as {other}, which this command" in refusal(*words)
    assert all((cwd / name).read_text() == name for name in there)


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
def test_an_empty_name_and_a_dash_are_refused(name, cwd):
    for words in (("export", "-o"), ("run", "--evidence"), ("run", "--junit"), ("evidence", "-o")):
        assert "is no name to write to" in refusal(*words, name)
    assert not list(cwd.iterdir())


def test_a_folder_that_cannot_be_created_is_refused_first(tmp_path):
    (tmp_path / "link").symlink_to("missing")
    assert "cannot be written" in refusal("run", "--evidence", "/proc/xx")
    assert "create it first" in refusal("run", "--evidence", str(tmp_path / "link"))
