"""A file is whole or not there, whatever happens to the process that writes it."""

import os

import pytest

from surefoot.commands.output_files import check_file
from surefoot.errors import ReportFailed
from surefoot.whole_file import UNFINISHED, open_beside, remove_unfinished, write_whole


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
    with open_beside(path) as (file, beside):
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


def test_a_link_stays_a_link_and_permissions_are_those_of_a_new_file(tmp_path):
    (tmp_path / "real.html").write_text("old")
    (tmp_path / "link.html").symlink_to(tmp_path / "real.html")
    write_whole(tmp_path / "link.html", b"new")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "real.html").read_text() == "new"
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "real.html").stat().st_mode & 0o777 == 0o666 & ~mask
