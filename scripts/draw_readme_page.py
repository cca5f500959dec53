"""Draw the page of the demo for the README: docs/figures/demo-page.png.

Its top, with the answers of all methods, and the chapter of the first one, as wide as a README is
shown and in as few colours as that needs. Needs chromium and chromedriver on the PATH and the
package selenium: python scripts/draw_readme_page.py [report.html]; without a page the demo is run.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from selenium import webdriver

FILE = Path(__file__).parents[1] / "docs" / "figures" / "demo-page.png"
WIDTH = 860
"""Pixels of a README's column on common code hosts; the page is shown a little smaller."""
SCALE = 1.5
"""Letters stay sharp on screens of high density, and the file small."""
COLOURS = 48
"""The page has a dozen; the others are the edges of letters."""
MOST_BYTES = 200_000
LAST_SHOWN = "section#estimate"


def write_demo(folder: Path) -> Path:
    """The page of the demo, written into this folder."""
    command = [sys.executable, "-m", "surefoot", "demo", "--out", str(folder)]
    subprocess.run(command, check=True, cwd=folder)  # noqa: S603  our own command
    return folder / "report.html"


def screenshot(page: Path) -> Image.Image:
    """From the top of the page to the end of `LAST_SHOWN`, in light colours."""
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(word)
    driver = webdriver.Chrome(options=options)
    try:
        light = [{"name": "prefers-color-scheme", "value": "light"}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": light})
        frame = {"width": WIDTH, "height": 1000, "deviceScaleFactor": SCALE, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", frame)
        driver.get(page.resolve().as_uri())
        script = f"return document.querySelector('{LAST_SHOWN}').getBoundingClientRect().bottom"
        frame["height"] = round(driver.execute_script(script)) + 16
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", frame)
        return Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")
    finally:
        driver.quit()


def main() -> None:
    """Draw it, and refuse a file that a README should not load."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(sys.argv[1]) if len(sys.argv) > 1 else write_demo(Path(folder))
        image = screenshot(page)
    few = image.quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(FILE, optimize=True)
    size = FILE.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{FILE.name} has {size:,} bytes, more than {MOST_BYTES:,}: show less")
    print(f"{FILE.name}: {image.width} × {image.height} pixels, {size:,} bytes")


if __name__ == "__main__":
    main()
