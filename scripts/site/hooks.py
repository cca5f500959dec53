"""The site from the Markdown of docs/: its navigation, links out of docs/, and no other host.

A link works on a code host, where it is relative to the file, and on the site: a file outside docs/
that a page links to is copied to the site, as a page if it is Markdown.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import surefoot

ROOT = Path(__file__).parents[2]
INDEX = "README.md"
OUTSIDE = "repository"
"""The folder of the site for files outside docs/."""
SECTIONS = {
    "Home": (INDEX,),
    "Start": ("tutorial.md", "commands.md", "faq.md"),
    "Do": ("how-to",),
    "Look up": ("claims.md", "catalogue.md", "glossary.md", "api"),
    "Understand": ("methods", "comparison.md", "papers", "explanation/iso-24029.md"),
    "Appendix": (
        "proofs.md", "decisions", "explanation/rooms.md", "release.md",
        f"{OUTSIDE}/CONTRIBUTING.md", f"{OUTSIDE}/CHANGELOG.md",
    ),
}  # fmt: skip
"""Pages, and folders whose pages are all in it."""
TITLES = {"api": "API reference"}
"""Of a folder beside others in its section, where it is not the name of the folder."""
_LINK = re.compile(r"(?<=\]\()(?P<target>[^)\s#:]+)(?P<anchor>#[^)\s]*)?(?=\))")
_CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_LOADED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"(?:https?:)?//[^\"]*"
    r"|<link\b[^>]*\brel=\"(?:stylesheet|preload|preconnect|icon)\"[^>]*\bhref=\"(?:https?:)?//[^\"]*"
    r"|url\(\s*[\"']?(?:https?:)?//[^)]*"
)
"""What a browser would load from another host; a link that a reader follows is not."""
_DOCUMENTED = re.compile(r"id=\"(surefoot\.[\w.]+)\"")


def pages_of(docs: Path) -> list[str]:
    """Every page of docs/, in the order of the overviews; those that they leave out come last."""
    listed = [INDEX]
    for overview in (docs / INDEX, *sorted(docs.glob(f"*/{INDEX}"))):
        source = overview.relative_to(docs).as_posix()
        listed += [source, *(page for _, page in linked_files(overview.read_text(), source))]
    pages = sorted(page.relative_to(docs).as_posix() for page in docs.rglob("*.md"))
    place = {page: listed.index(page) for page in pages if page in listed}
    return sorted(pages, key=lambda page: place.get(page, len(listed)))


Nav = dict[str, "str | list[str | Nav]"]


def navigation(docs: Path) -> list[Nav]:
    """Each section with its pages; a page that is in no section is refused by its name."""
    pages = pages_of(docs)
    sections: list[Nav] = []
    placed = set()
    for title, places in SECTIONS.items():
        parts: list[str | Nav] = []
        for place in places:
            inside: list[str | Nav] = [page for page in pages if page.startswith(f"{place}/")]
            placed |= {place, *(page for page in inside if isinstance(page, str))}
            if not inside:
                parts += [place] if place.startswith(OUTSIDE) or place in pages else []
            elif len(places) == 1:
                parts += inside
            else:
                parts.append({TITLES.get(place, place.capitalize()): inside})
        sections.append({title: INDEX if places == (INDEX,) else parts})
    lost = [page for page in pages if page not in placed]
    if lost:
        raise PluginError(
            f"docs/{lost[0]} is in no section of the site: "
            "move it into a folder of docs/, or add it to SECTIONS of scripts/site/hooks.py"
        )
    return sections


def linked_files(text: str, source: str) -> Iterator[tuple[re.Match[str], str]]:
    """Every link of a page to a file, with the path of the file in the repository."""
    folder = posixpath.dirname(source)
    code = [part.span() for part in _CODE.finditer(text)]
    for link in _LINK.finditer(text):
        if not any(start <= link.start() < end for start, end in code):
            yield link, posixpath.normpath(posixpath.join(folder, link["target"]))


def source_of(path: str) -> str:
    """The path in the repository of a file of the site."""
    inside = path.removeprefix(f"{OUTSIDE}/")
    return inside if inside != path else f"docs/{path}"


def place_of(source: str) -> str:
    """The path on the site of a file of the repository."""
    return source.removeprefix("docs/") if source.startswith("docs/") else f"{OUTSIDE}/{source}"


def with_links_of_the_site(text: str, path: str) -> str:
    """The page, its links as they lead from its place on the site."""
    folder = posixpath.dirname(path)
    parts, end = [], 0
    for link, file in linked_files(text, source_of(path)):
        target = posixpath.relpath(place_of(file), folder or ".")
        parts += [text[end : link.start("target")], target]
        end = link.end("target")
    return "".join([*parts, text[end:]])


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The navigation, from the folders."""
    config.nav = navigation(Path(config.docs_dir))
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the files outside docs/ that a page links to, and the pages they link to in turn."""
    waiting = [(file.src_uri, file.content_string) for file in files.documentation_pages()]
    shown = [place for places in SECTIONS.values() for place in places]
    waiting += [(place, "") for place in shown if place.startswith(f"{OUTSIDE}/")]
    while waiting:
        path, text = waiting.pop()
        sources = {source for _, source in linked_files(text, source_of(path))}
        for source in {*sources, source_of(path)}:
            place = place_of(source)
            if source.startswith("docs/") or files.get_file_from_path(place):
                continue
            if (ROOT / source).is_file():
                added = File.generated(config, place, abs_src_path=str(ROOT / source))
                files.append(added)
                if source.endswith(".md"):
                    waiting.append((place, added.content_string))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as they lead on the site."""
    return with_links_of_the_site(markdown, page.file.src_uri)


def on_post_build(*, config: MkDocsConfig) -> None:
    """Nothing that a browser loads by itself comes from another host; every name is documented."""
    documented: set[str] = set()
    for page in sorted(Path(config.site_dir).rglob("*.html")):
        text = page.read_text()
        for loaded in _LOADED.findall(text):
            raise PluginError(f"{page.name} loads from another host: {loaded}")
        documented |= {name.rpartition(".")[2] for name in _DOCUMENTED.findall(text)}
    for name in public_names():
        if name.rpartition(".")[2] not in documented:
            raise PluginError(
                f"sf.{name} is on no page of the API: give it a docstring, or a line "
                f"::: surefoot.{name} in docs/api/"
            )


def public_names() -> Iterator[str]:
    """Every name of the package, and every one of its public modules."""
    for name in surefoot.__all__:
        yield name
        value = getattr(surefoot, name)
        if isinstance(value, ModuleType):
            yield from (f"{name}.{part}" for part in getattr(value, "__all__", ()))
