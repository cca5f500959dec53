"""A file is whole or not there, whatever happens to the process that writes it."""

import os
from pathlib import Path

import pytest

from surefoot.commands.values import check_file
from surefoot.errors import ReportFailed
from surefoot.system.whole_file import UNFINISHED, open_beside, remove_unfinished, write_whole
from tests.refusals import refused


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
