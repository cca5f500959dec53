"""The dashboard in a real browser, beside a run of another process."""

import os
import re
import signal
from pathlib import Path

import pytest

import surefoot as sf
from surefoot.records.record import Source
from tests.system import forked
from tests.system.hold import SECONDS, hold, hold_journal, release, wait_for
from tests.system.page_in_browser import resize
from tests.worlds import points, study

NASTY = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
TOKEN = "a-token-of-24-characters"
EACH = "[...document.querySelectorAll(arguments[0])]"


def run_held(where):
    """A run that goes as far as the test lets it, for a process of its own."""
    os.chdir(Path(where).parent)
    hold_journal()
    study(method=sf.methods.ExactSequential(0.1, 0.1)).run(where, batch=8)


@pytest.fixture
def where(tmp_path):
    """A store, by a hostile name, with two runs; one has hostile names in it."""
    where = str(tmp_path / f"runs{NASTY.replace('/', '')[:20]}.db")
    names = [f"{NASTY}{i}" for i in range(12)]
    hostile = sf.load_inputs(points().x, points().labels, ids=names, class_names=[NASTY, "b"])
    study().run(where)
    study(inputs=hostile).run(where, source=Source(NASTY, NASTY, {}, NASTY, NASTY))
    return where


@pytest.fixture
def served(where, tmp_path, monkeypatch):
    """The address of a dashboard with a token, and its process."""
    monkeypatch.setenv("DASHBOARD_TOKEN", TOKEN)
    with forked.started(
        ("serve", "--store", where, "--port", "0", "--token-env", "DASHBOARD_TOKEN"), tmp_path
    ) as process:
        first = wait_for(lambda: re.search(r"http://127\.0\.0\.1:\d+", process.text("out")))
        yield first[0], process


@pytest.fixture
def page(browser):
    """The browser, which leaves nothing of this test to the next one."""
    resize(browser, "laptop")
    yield browser
    browser.delete_all_cookies()
    browser.get("about:blank")
    for log in ("browser", "performance"):
        browser.get_log(log)


def texts(page, css):
    """The texts of all elements, in one question."""
    return page.execute_script(f"return {EACH}.map(e => e.innerText)", css)


def click(page, css):
    page.execute_script(f"{EACH}.forEach(e => e.click())", css)


def fill(page, css, words):
    """Type into a field and send its form."""
    script = f"const field = {EACH}[0]; field.value = arguments[1]; field.form.requestSubmit()"
    page.execute_script(script, css, words)


def progress(page):
    """What the list says of runs that go on."""
    return [words for words in texts(page, "[data-words]") if "begun" in words]


def test_list_live_run_filter_compare_hostile_names_and_the_token(where, served, page):
    address, process = served
    page.get(f"{address}/?token=wrong")
    assert "not the one of the dashboard" in texts(page, "main")[0]
    assert page.get_cookies() == []
    fill(page, "[name=token]", TOKEN)
    wait_for(lambda: len(texts(page, "tr[data-run]")) == 2)
    assert TOKEN not in page.current_url

    folder = Path(where).parent
    hold(folder, 1)
    runner = forked.start(run_held, where)
    try:  # the new run shows by itself, counts, and ends with a number
        words = wait_for(lambda: progress(page))
        hold(folder, 3)
        wait_for(lambda: progress(page) not in (words, []))
        release(folder)
        wait_for(lambda: len(texts(page, "tr[data-run] b.figure")) == 3)
    finally:
        runner.kill()
        runner.join()

    fill(page, "[name=q]", "bu-sun")
    wait_for(lambda: len(texts(page, "tr[data-run]")) == 2)
    assert NASTY in texts(page, "tr[data-run]")[0]
    click(page, "input[type=checkbox], .actions button")
    said = wait_for(lambda: texts(page, "#comparable"))[0]
    assert said.startswith("These runs cannot be compared: they differ in the data")
    assert len(texts(page, ".pair figure svg path")) > 2

    click(page, ".pair section:first-child h2 a")
    for css in (".actions a[href$=inputs]", "th a"):
        wait_for(lambda css=css: texts(page, css))
        assert NASTY in texts(page, "main")[0]
        assert texts(page, "script:not([src]), img[src=x]") == []
        assert "owned" not in page.title.split("<")[0]
        resize(page, "phone")
        wide = "return document.documentElement.scrollWidth - window.innerWidth"
        assert page.execute_script(wide) <= 0
        click(page, css if css.startswith(".actions") else "none")

    page.get("about:blank")
    os.kill(process.pid, signal.SIGINT)
    ended = process.end(SECONDS)
    said = [ended.returncode, ended.stdout, ended.stderr]
    assert said == [0, f"{said[1].splitlines()[0]}\nthe dashboard has ended\n", ""]
