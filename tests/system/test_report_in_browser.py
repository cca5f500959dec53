"""The page as a user opens it: in a real Chromium, its figures drawn, nothing fetched."""

import json
import shutil

import pytest

import surefoot as sf
from surefoot.study.comparison import join_results
from tests import pages
from tests.worlds import points, study

webdriver = pytest.importorskip("selenium.webdriver")
By = pytest.importorskip("selenium.webdriver.common.by").By


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
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
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
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


def fits(browser):
    """Whether the page does not scroll sideways."""
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    return wide <= browser.execute_script("return window.innerWidth")


def drawn(browser, css):
    """Elements that take up room on the page."""
    elements = browser.find_elements(By.CSS_SELECTOR, css)
    return [e for e in elements if e.size["width"] > 0 and e.size["height"] > 0]


def test_the_page_shows_claim_figures_images_and_provenance(workspace, browser):
    done = workspace.run(
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
    page = workspace.folder / "report.html"
    assert page.stat().st_size < 2_000_000
    open_page(browser, page)
    assert browser.find_element(By.ID, "claim").text == record["claims"][0]["sentence"]
    belief = browser.find_element(By.ID, "belief").text
    classes = record["details"]["classes"]
    assert f"confidence 95 % for the {len(classes)} classes and all inputs together" in belief
    assert "independent random sample" in belief
    assert f"{record['trials']:,} trials" in belief
    assert len(drawn(browser, "#histogram svg path")) > 5
    assert drawn(browser, "#histogram svg")[0].size["height"] > 150
    assert len(drawn(browser, "#classes tbody tr")) == len(classes)
    assert len(drawn(browser, "#class-figure svg path")) >= len(classes)
    images = drawn(browser, "#weakest img")
    assert len(images) == 2 * len(record["details"]["examples"]) > 0
    for image in images:
        assert browser.execute_script("return arguments[0].naturalWidth", image) == 28
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
    assert fits(browser)


def test_the_command_in_the_page_replays_the_failure(workspace, browser):
    workspace.run(
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
    open_page(browser, workspace.folder / "report.html")
    card = drawn(browser, "#weakest .card")[0]
    command = card.find_element(By.TAG_NAME, "code").text.split()
    failed = card.find_element(By.CSS_SELECTOR, "b.failure").text
    done = workspace.run(*command[1:])
    assert done.returncode == 0, done.stderr
    assert f"perturbed {failed}: failed" in done.stdout


def test_names_from_outside_are_text_never_markup(browser, tmp_path):
    nasty = "<script>document.title='owned'</script><img src=x onerror=alert(1)>"
    base = points()
    inputs = sf.load_inputs(
        base.x, base.labels, ids=[f"{nasty}{i}" for i in range(12)], class_names=[nasty, "b"]
    )
    result = study(inputs=inputs, perturbation=sf.perturb.LinfNoise(0.9)).run()
    open_page(browser, result.report(tmp_path / "page.html"))
    assert browser.title.startswith("surefoot")
    assert browser.find_elements(By.CSS_SELECTOR, "script, img[src=x]") == []
    assert nasty in browser.find_element(By.ID, "classes").text


def test_inputs_that_are_no_images_show_their_largest_changes(browser, tmp_path):
    result = study(perturbation=sf.perturb.LinfNoise(0.9)).run()
    open_page(browser, result.report(tmp_path / "page.html"))
    assert len(drawn(browser, "#weakest .card tbody tr")) >= 6
    assert "study.replay('p" in browser.find_element(By.ID, "weakest").text


def test_a_model_that_never_fails_says_so(browser, tmp_path):
    result = study(perturbation=sf.perturb.LinfNoise(0.0)).run()
    open_page(browser, result.report(tmp_path / "page.html"))
    assert "No input failed in any trial." in browser.find_element(By.ID, "weakest").text
    assert drawn(browser, "#histogram svg")


@pytest.fixture
def telephone(browser):
    browser.set_window_size(500, 900)
    yield browser
    browser.set_window_size(1000, 3000)


def test_an_attack_is_one_line_beside_accuracy_and_the_robust_share(browser, tmp_path, torch):
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval()
    made = study(model=sf.load_model(net, shape=(6,)), method=sf.methods.KappaTest(0.1, 0.1, 200))
    open_page(
        browser, made.run(attack=sf.methods.Attack(iterations=5)).report(tmp_path / "page.html")
    )
    heads = [cell.text for cell in drawn(browser, "#baseline th")]
    assert heads == [
        "model",
        "clean accuracy",
        "withstood the attack",
        "share that fails under at most 1 in 10",
        "interval",
    ]
    assert len(drawn(browser, "#baseline tbody tr")) == 1
    assert "proves nothing" in browser.find_element(By.CSS_SELECTOR, "#baseline .note").text


def test_the_page_of_critical_radii_shows_counterexamples_beside_inputs(browser, tmp_path):
    """Markup in the names of classes and networks stays text."""
    one = pages.shades(tmp_path).run()
    both = join_results({"first": one, "<i>second": one}, "curve").require(0.001)
    open_page(browser, both.report(tmp_path / "c.html"))
    assert "critical radius" in browser.find_element(By.ID, "claim").text
    assert browser.find_element(By.ID, "verdict").text.startswith(("PASS", "FAIL", "UNDECIDED"))
    assert len(drawn(browser, "#distribution svg path")) > 5
    assert len(drawn(browser, "section[id^=times] svg path")) > 5
    images = drawn(browser, "section[id^=examples] img")
    assert len(images) == 2 * 2 * 8
    assert all(
        browser.execute_script("return arguments[0].naturalWidth", image) > 0 for image in images
    )
    assert "<b>light" in browser.find_element(By.CSS_SELECTOR, "section[id^=examples]").text
    assert "first − <i>second" in browser.find_element(By.ID, "pairs").text
    assert "the proved radius" in browser.find_element(By.CSS_SELECTOR, "[id^=points]").text


def test_the_page_of_a_curve_shows_the_band_the_crossings_and_the_strip(workspace, browser):
    done = workspace.run(
        "curve", "model.onnx", "test.npz", "--first", "60", "--perturb", "brightness:-1..1",
        "--report", "curve.html",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    open_page(browser, workspace.folder / "curve.html")
    assert len(drawn(browser, "#curves svg path")) > 5
    assert len(drawn(browser, "#strips img")) > 2
    assert fits(browser)


@pytest.fixture(scope="module", params=pages.KINDS)
def page_of_each_kind(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    result = pages.KINDS[request.param](folder)
    return result, result.report(folder / "page.html")


@pytest.fixture
def laptop(browser):
    browser.set_window_size(1200, 900)
    yield browser
    browser.set_window_size(1000, 3000)


def test_the_first_screen_has_number_interval_sentence_verdict_and_figure(
    laptop, page_of_each_kind
):
    """All of it lies within the first 900 pixels; of a tall figure its larger part."""
    result, page = page_of_each_kind
    open_page(laptop, page)
    view = result.view
    keys = drawn(laptop, "#key .key")
    assert len(keys) == len(view.key_figures)
    for shown, key in zip(keys, view.key_figures, strict=True):
        assert shown.find_element(By.CSS_SELECTOR, ".number").text == key.number
        assert key.interval in shown.text
        assert key.meaning in shown.text
    assert [e.text for e in drawn(laptop, "h1")] == view.headings
    verdicts = [e.text for e in drawn(laptop, ".verdict")]
    assert verdicts == [line for _, line in view.verdict_lines]
    assert drawn(laptop, "#about")
    figure = drawn(laptop, "main figure svg")[0]
    assert figure.size["height"] > 50
    assert keys[0].location["y"] < 100
    assert figure.location["y"] + 0.5 * figure.size["height"] < 900


def test_what_does_not_fit_on_the_first_screen_follows_the_figure(browser, page_of_each_kind):
    result, page = page_of_each_kind
    open_page(browser, page)
    view = result.view
    lines = [*view.claim_lines, *view.notes, *view.facts, *filter(None, [view.continuing])]
    texts = browser.find_element(By.ID, "belief").text if lines else ""
    for line in lines:
        assert line in texts.replace("\n", " ")


def test_a_wide_table_scrolls_inside_its_box(telephone, page_of_each_kind):
    open_page(telephone, page_of_each_kind[1])
    for box in drawn(telephone, "div.table"):
        section = box.find_element(By.XPATH, "./ancestor::section")
        assert box.location["x"] + box.size["width"] <= (
            section.location["x"] + section.size["width"]
        )


def test_no_page_scrolls_sideways_on_a_telephone(telephone, page_of_each_kind):
    open_page(telephone, page_of_each_kind[1])
    assert fits(telephone)


def test_no_text_of_a_figure_is_cut_off(browser, page_of_each_kind):
    open_page(browser, page_of_each_kind[1])
    cut = browser.execute_script(
        """return [...document.querySelectorAll('figure svg text')].filter(text => {
             const own = text.getBoundingClientRect();
             const card = text.closest('section').getBoundingClientRect();
             return own.width > 0 && (own.left < card.left || own.right > card.right);
           }).map(text => text.textContent)"""
    )
    assert cut == []
