"""The page as a user opens it: in a real Chromium, its figures drawn, nothing fetched."""

import json
import shutil

import numpy as np
import pytest
import torch
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

import surefoot as sf
from tests.unit.test_proving import write
from tests.worlds import points, study


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--window-size=1000,3000",
        f"--user-data-dir={tmp_path_factory.mktemp('chrome')}",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


def open_page(browser, path):
    browser.get("about:blank")
    browser.get_log("performance")
    browser.get(path.absolute().as_uri())
    fetched = [
        json.loads(entry["message"])["message"]["params"]["request"]["url"]
        for entry in browser.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
    ]
    assert [url for url in fetched if not url.startswith(("file:", "data:", "chrome:"))] == []
    assert [e for e in browser.get_log("browser") if e["level"] == "SEVERE"] == []


def drawn(browser, css):
    """Elements that take up room on the page."""
    found = browser.find_elements(By.CSS_SELECTOR, css)
    return [e for e in found if e.size["width"] > 0 and e.size["height"] > 0]


def test_the_page_shows_claim_figures_pictures_and_provenance(desk, browser):
    done = desk.run(
        "estimate",
        "model.onnx",
        "test.npz",
        "--perturb",
        "linf:64/255",
        "--width",
        "0.1",
        "--report",
        "report.html",
        "--json",
    )
    record = json.loads(done.stdout)
    page = desk.folder / "report.html"
    assert page.stat().st_size < 2_000_000
    open_page(browser, page)
    claim = browser.find_element(By.ID, "claim").text
    assert "of perturbed inputs keep the label" in claim
    assert f"{record['trials']:,} trials" in claim
    belief = browser.find_element(By.ID, "belief").text
    assert "hold all together with confidence 99 %" in belief
    assert "independent random sample" in belief
    assert len(drawn(browser, "#histogram svg path")) > 5
    assert drawn(browser, "#histogram svg")[0].size["height"] > 150
    assert len(drawn(browser, "#classes tbody tr")) == len(record["classes"])
    assert len(drawn(browser, "#class-figure svg path")) >= len(record["classes"])
    pictures = drawn(browser, "#weakest img")
    assert len(pictures) == 2 * len(record["exhibits"]) > 0
    for picture in pictures:
        assert browser.execute_script("return arguments[0].naturalWidth", picture) == 28
    commands = [e.text for e in drawn(browser, "#weakest code")]
    assert all(c.startswith(f"surefoot replay {record['digest'][:12]} ") for c in commands)
    provenance = browser.find_element(By.ID, "provenance").text
    for part in (
        record["spec"]["model"]["digest"],
        record["spec"]["inputs"]["digest"],
        "seed 1",
        "numpy",
        f"{record['trials']:,}",
        "surefoot estimate model.onnx test.npz",
    ):
        assert part in provenance
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= browser.execute_script("return window.innerWidth"), "the page scrolls sideways"


def test_the_command_in_the_page_replays_the_slip(desk, browser):
    desk.run(
        "estimate",
        "model.onnx",
        "test.npz",
        "--perturb",
        "linf:64/255",
        "--width",
        "0.2",
        "--report",
        "report.html",
    )
    open_page(browser, desk.folder / "report.html")
    card = drawn(browser, "#weakest .card")[0]
    command = card.find_element(By.TAG_NAME, "code").text.split()
    slipped = card.find_element(By.CSS_SELECTOR, "b.slip").text
    done = desk.run(*command[1:])
    assert done.returncode == 0, done.stderr
    assert f"perturbed {slipped}; the property is violated" in done.stdout


def test_names_from_outside_are_text_never_markup(browser, tmp_path):
    nasty = "<script>document.title='owned'</script><img src=x onerror=alert(1)>"
    base = points()
    inputs = sf.load_inputs(
        base.x, base.labels, ids=[f"{nasty}{i}" for i in range(12)], class_names=[nasty, "b"]
    )
    found = study(inputs=inputs, perturbation=sf.perturb.LinfNoise(0.9)).run()
    open_page(browser, found.report(tmp_path / "page.html"))
    assert browser.title.startswith("surefoot")
    assert browser.find_elements(By.CSS_SELECTOR, "script, img[src=x]") == []
    assert nasty in browser.find_element(By.ID, "classes").text


def test_inputs_that_are_no_pictures_show_their_largest_changes(browser, tmp_path):
    found = study(perturbation=sf.perturb.LinfNoise(0.9)).run()
    open_page(browser, found.report(tmp_path / "page.html"))
    assert len(drawn(browser, "#weakest .card tbody tr")) >= 6
    assert "study.replay('p" in browser.find_element(By.ID, "weakest").text


def test_a_model_that_never_slips_says_so(browser, tmp_path):
    found = study(perturbation=sf.perturb.LinfNoise(0.0)).run()
    open_page(browser, found.report(tmp_path / "page.html"))
    assert "No input slipped in any trial." in browser.find_element(By.ID, "weakest").text
    assert drawn(browser, "#histogram svg")


def test_the_page_fits_a_telephone(browser, tmp_path):
    found = study(perturbation=sf.perturb.LinfNoise(0.9)).run()
    browser.set_window_size(500, 900)
    open_page(browser, found.report(tmp_path / "page.html"))
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    inner = browser.execute_script("return window.innerWidth")
    browser.set_window_size(1000, 3000)
    assert wide <= inner


def test_an_attack_is_one_line_beside_accuracy_and_the_robust_share(browser, tmp_path):
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval()
    made = study(model=sf.load_model(net, shape=(6,)), procedure=sf.KappaTest(0.1, 0.1, 200))
    page = made.run(attack=sf.Attack(steps=5)).report(tmp_path / "page.html")
    browser.set_window_size(500, 900)
    open_page(browser, page)
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    inner = browser.execute_script("return window.innerWidth")
    browser.set_window_size(1000, 3000)
    open_page(browser, page)
    heads = [cell.text for cell in drawn(browser, "#baseline th")]
    assert heads == [
        "model", "accuracy undisturbed", "attack failure rate", "robust share", "interval",
    ]  # fmt: skip
    assert len(drawn(browser, "#baseline tbody tr")) == 1
    assert "proves nothing" in browser.find_element(By.CSS_SELECTOR, "#baseline .note").text
    assert wide <= inner, "the page scrolls sideways on a telephone"


def test_the_page_of_critical_levels_shows_counterexamples_beside_inputs(browser, tmp_path):
    """Pictures of four by four pixels, lighter or darker than the middle; markup in their names."""
    path = write(tmp_path / "mean.onnx", [([[1.0] * 16, [0.0] * 16], [-8.0, 0.0])])
    x = np.random.default_rng(0).random((30, 4, 4)).astype(np.float32)
    inputs = sf.load_inputs(
        x, (x.sum(axis=(1, 2)) <= 8).astype(np.int64), class_names=("<b>light", "dark")
    )
    model = sf.load_model(path, bounds=(0, 1))
    asked = sf.CriticalLevel(0.01, 5, 0.3, samples=50)
    held = sf.TrueLabel()
    study = sf.Study(model, inputs, sf.perturb.LinfNoise(0.1), asked, property=held)
    one = sf.prove(study, path).records[""]
    page = sf.Criticals({"first": one, "<i>second": one}).report(tmp_path / "c.html", "Holds: yes")
    open_page(browser, page)
    assert "critical radius" in browser.find_element(By.ID, "claim").text
    assert len(drawn(browser, "#distribution svg path")) > 5
    assert len(drawn(browser, ".times svg path")) > 5
    assert len(drawn(browser, ".examples img")) == 2 * 2 * 8
    assert all(
        browser.execute_script("return arguments[0].naturalWidth", e) > 0
        for e in drawn(browser, ".examples img")
    )
    assert "<b>light" in browser.find_element(By.CSS_SELECTOR, ".examples").text
    assert "first − <i>second" in browser.find_element(By.ID, "pairs").text
    assert "within what is proved" in browser.find_element(By.CSS_SELECTOR, ".sampled").text
    width = browser.execute_script("return document.documentElement.scrollWidth")
    assert width <= browser.execute_script("return window.innerWidth")


def test_the_page_of_a_curve_shows_the_band_the_crossings_and_the_strip(desk, browser):
    done = desk.run(
        "curve", "model.onnx", "test.npz", "--first", "60", "--alteration", "brightness:-1..1",
        "--report", "curve.html",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    open_page(browser, desk.folder / "curve.html")
    assert len(drawn(browser, "svg path")) > 5
    assert len(drawn(browser, "img")) > 2
    width = browser.execute_script("return document.documentElement.scrollWidth")
    assert width <= browser.execute_script("return window.innerWidth")
