"""A drawing as part of a page: its colours follow the page, and it says in words what it shows."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from surefoot.report.figures import GRID, INK, ORANGE, QUIET, SERIES, STEADY, WEAK

_SVG = "http://www.w3.org/2000/svg"
_NAMES = ("steady", "warm", "green", "purple", "gold", "teal", "brown", "pink", "indigo", "quiet")
"""Variables of the stylesheet, in the order of `SERIES`."""
_VARIABLES = {
    **{colour: f"var(--{name})" for colour, name in zip(SERIES, _NAMES, strict=True)},
    INK: "var(--ink)",
    GRID: "var(--grid)",
    STEADY: "var(--steady)",
    WEAK: "var(--warm)",
    QUIET: "var(--quiet)",
    ORANGE: "var(--orange)",
    "white": "var(--paper)",
    "black": "var(--ink)",
    "#000": "var(--ink)",
}
"""Which variable of the stylesheet stands for a colour: pages are light, dark or on paper."""
_LEFT_OUT = re.compile(r"aria-.*|role|pointer-events|font-family|stroke-miterlimit")
"""Attributes that a page has no use for: the drawing is one image with one description."""
_DIGITS = re.compile(r"\d+\.\d{3,}")
_NUMBER = re.compile(r"[−-]?[\d.,]+(e[+-]?\d+)?|")
_WIDEST = 640
"""Pixels of a drawing that a phone shows whole; a wider one, of several panels, scrolls."""
_SMALL = 400
"""Pixels up to which a phone shows a drawing nearly as drawn, so that its text needs no help."""
_SCALE = 1.25
"""How much larger than drawn a page shows a figure: its text is then as large as the page's."""


def inline_svg(drawing: str, number: int, title: str, description: str) -> str:
    """The drawing for a page where it is the figure of this number.

    Without a description, the titles and ranges of the axes describe it.
    """
    root = ElementTree.fromstring(drawing)  # noqa: S314  drawn by this package
    axes = _axes_in_words(root)
    if _has_names(root):
        root.set("class", "names")
    for parent in list(root.iter()):
        for child in [child for child in parent if _is_invisible(child)]:
            parent.remove(child)
    for element in root.iter():
        _adapt(element, f"figure-{number}-")
    width = float(root.get("width", "0"))
    if width > _WIDEST:
        root.set("class", "wide")
    elif width <= _SMALL:
        root.set("class", "small")
    root.attrib.pop("height", None)
    root.set("width", f"{_SCALE * width:g}")
    root.set("role", "img")
    root.set("aria-labelledby", f"figure-{number}-title figure-{number}-text")
    words = {"title": title or "Figure", "text": description or axes}
    for place, (name, text) in enumerate(words.items()):
        element = ElementTree.Element(f"{{{_SVG}}}{'title' if name == 'title' else 'desc'}")
        element.set("id", f"figure-{number}-{name}")
        element.text = text
        root.insert(place, element)
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(root, encoding="unicode")


def _axes_in_words(root: ElementTree.Element) -> str:
    labels = (element.get("aria-label", "") for element in root.iter())
    return "; ".join(dict.fromkeys(label for label in labels if "-axis titled" in label))


def _has_names(root: ElementTree.Element) -> bool:
    """Whether words stand at the left of the plot: a phone has no room to set these larger."""
    labels = (g for g in root.iter(f"{{{_SVG}}}g") if "role-axis-label" in g.get("class", ""))
    texts = (text for label in labels for text in label if text.get("text-anchor") == "end")
    return any(not _NUMBER.fullmatch(text.text or "") for text in texts)


def _is_invisible(element: ElementTree.Element) -> bool:
    """The white ground, and areas without any paint."""
    if element.tag.endswith("}rect"):
        return element.get("fill") == "white" and "class" not in element.attrib
    unpainted = "fill" not in element.attrib and "stroke" not in element.attrib
    return element.get("display") == "none" or (
        element.get("class") in ("background", "foreground") and unpainted
    )


def _adapt(element: ElementTree.Element, prefix: str) -> None:
    """Colours as variables, ids of this figure alone, numbers of two digits."""
    for key in [key for key in element.attrib if _LEFT_OUT.fullmatch(key)]:
        del element.attrib[key]
    for key, value in element.attrib.items():
        element.set(key, _adapted(key, value, prefix))


def _adapted(key: str, value: str, prefix: str) -> str:
    match key:
        case "fill" | "stroke" if value.lower() in _VARIABLES:
            return _VARIABLES[value.lower()]
        case "d" | "transform":
            return _DIGITS.sub(lambda match: f"{float(match.group()):.2f}", value)
        case "id":
            return prefix + value
        case _:
            return value.replace("url(#", f"url(#{prefix}")
