"""Every kind of page on every screen: `python -m tests.look_at_pages FOLDER [PAGE.html …]`.

Phone, laptop and paper, light and dark, in a real Chromium: axe-core with the rule of contrast, and
an image of each to look at. Tests do the same on fewer screens. Exit code 0 only if axe-core finds
nothing and no page scrolls sideways; one line of figures at the end.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests import pages
from tests.system.page_in_browser import SIZES, barriers, layout, open_page, start

SCREENS = [(size, scheme) for size in SIZES for scheme in ("light", "dark") if size != "paper"]
SCREENS.append(("paper", "light"))


def every_page(folder: Path, more: list[str]) -> Iterator[tuple[str, Path]]:
    """A page of each kind, then those that were named."""
    for kind, make in pages.KINDS.items():
        place = folder / f"{kind}-files"
        place.mkdir(parents=True, exist_ok=True)
        yield kind, make(place).report(folder / f"{kind}.html")
    for path in map(Path, more):
        yield path.stem, path


def main() -> int:
    """Open the pages; print what is wrong, and the figures."""
    folder, more = Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    opened = problems = 0
    with tempfile.TemporaryDirectory() as profile:
        browser = start(Path(profile))
        try:
            for name, path in every_page(folder, more):
                open_page(browser, path)
                for size, scheme in SCREENS:
                    wrong = [] if layout(browser, size, scheme)["wide"] <= 0 else ["too wide"]
                    wrong += barriers(browser, contrast=True)
                    how = {"format": "png", "captureBeyondViewport": True}
                    image = browser.execute_cdp_cmd("Page.captureScreenshot", how)["data"]
                    (folder / f"{name}-{size}-{scheme}.png").write_bytes(base64.b64decode(image))
                    opened, problems = opened + 1, problems + len(wrong)
                    for line in wrong:
                        print(f"{name}, {size}, {scheme}: {line}", flush=True)
        finally:
            browser.quit()
    print(f"{opened} screens of {opened // len(SCREENS)} pages, {problems} problems")
    return int(problems > 0)


if __name__ == "__main__":
    sys.exit(main())
