"""A page in a real Chromium: what it fetches, where its parts lie, and what axe-core finds."""

import json
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Any

from tests.ports import free_port
from tests.system.hold import SECONDS, wait_for

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--window-size=1280,900",
)  # fmt: skip
SIZES = {"phone": 390, "laptop": 1280, "paper": 688}
"""Widths in pixels; paper: A4 less its margins."""
_LAYOUT = """
const box = e => e.getBoundingClientRect();
const all = css => [...document.querySelectorAll(css)].filter(e => box(e).width && box(e).height);
const texts = css => all(css).map(e => e.innerText.trim());
const own = e => box(e.closest('section'));
const fonts = all('figure svg').map(svg =>
  Math.min(...[...svg.querySelectorAll('text')].filter(t => t.textContent).map(t =>
    parseFloat(getComputedStyle(t).fontSize) * box(svg).width / svg.viewBox.baseVal.width)));
return {
  wide: document.documentElement.scrollWidth - window.innerWidth,
  h1: texts('h1'), verdicts: texts('.verdict'), keys: texts('#key .key'),
  numbers: texts('#key .number'), key_top: Math.min(...all('#key').map(e => box(e).top)),
  figure: all('main figure svg').slice(0, 1).map(e => [box(e).top, box(e).height])[0],
  belief: all('#belief').map(e => e.textContent).join(' ').replace(/\\s+/g, ' '),
  cut: all('figure svg text').filter(t =>
    box(t).left < own(t).left - 1 || box(t).right > own(t).right + 1).map(t => t.textContent),
  outside: all('div.table').filter(e => box(e).right > box(e.closest('section')).right).length,
  narrow: all('figure svg').filter(e => box(e).width < .9 * box(e.parentNode).width).length,
  height: document.documentElement.scrollHeight, smallest_font: Math.min(...fonts),
  described: all('figure svg').map(svg =>
    svg.getAttribute('aria-labelledby').split(' ').map(
      id => document.getElementById(id).textContent)),
  folded: [...document.querySelectorAll('details:not([open]) > :not(summary)')].filter(
    e => !e.checkVisibility({contentVisibilityAuto: true})).length,
  unpainted: all('figure svg [fill^="#"], figure svg [stroke^="#"]').length,
  ground: getComputedStyle(document.body).backgroundColor,
};
"""
_AXE = """
const [options, done] = arguments;
axe.run(document, {resultTypes: ['violations'], ...options})
  .then(r => done(r.violations.map(v => [v.impact, v.id, v.nodes[0].html])));
"""


def start(folder: Path) -> Any:
    """A driver of one Chromium, for all pages."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(shutil.which("chromedriver"), port=free_port())
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_script_timeout(SECONDS)
    return driver


def open_page(browser: Any, path: Path) -> None:
    """Nothing is fetched and nothing is refused."""
    resize(browser, "laptop")
    for log in ("browser", "performance"):
        browser.get_log(log)  # of the page before
    browser.get(path.absolute().as_uri())
    fetched = [
        json.loads(entry["message"])["message"]["params"]["request"]["url"]
        for entry in browser.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
    ]
    assert [url for url in fetched if not url.startswith(("file:", "data:", "chrome:"))] == []
    assert [e for e in browser.get_log("browser") if e["level"] == "SEVERE"] == []


def resize(browser: Any, size: str, scheme: str = "light") -> None:
    """Show the page on a phone, a laptop or paper, on a light or a dark screen."""
    screen = {"width": SIZES[size], "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    media = {"media": "print" if size == "paper" else "screen", "features": features}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    wide = f"return window.innerWidth == {SIZES[size]} && matchMedia(arguments[0]).matches"
    query = f"{media['media']} and (prefers-color-scheme: {scheme})"
    wait_for(lambda: browser.execute_script(wide, query))


def layout(browser: Any, size: str, scheme: str = "light") -> dict[str, Any]:
    """Where the parts of the page lie, and what is visible."""
    resize(browser, size, scheme)
    return browser.execute_script(_LAYOUT)


def barriers(browser: Any, *, contrast: bool = False) -> list[str]:
    """What axe-core finds; contrast, which takes ten times as long, only where it is wanted."""
    browser.execute_script((files("axe_core_python") / "axe.min.js").read_text())
    options = {"rules": {"color-contrast": {"enabled": contrast}}}
    return [" ".join(part) for part in browser.execute_async_script(_AXE, options)]
