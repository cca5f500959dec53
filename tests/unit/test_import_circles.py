"""Modules import in one direction; also where a type checker or a function does it."""

import ast
from pathlib import Path

import surefoot

ROOT = Path(surefoot.__file__).parent


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path, known: set[str]) -> set[str]:
    """The modules of ours that this file imports, wherever in it; itself and its folder apart.

    A package's `__init__` stands for the names it gives: to import from it is to import it. That
    a module's own package is imported before it is how Python works, and no arrow of ours.
    """
    me, found = module_name(path), set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write the whole name"
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            parts = whole & known
            found |= parts
            if len(parts) < len(whole):
                found.add(node.module)
    return (found & known) - {me}


def circle_in(arrows: dict[str, set[str]]) -> list[str]:
    """The first circle there is, as a path that ends where it begins; nothing where none is."""
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in sorted(arrows[name]):
            if found := walk(other, [*path, name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(arrows) if (found := walk(name, []))), [])


def test_a_circle_is_found():
    arrows = {"a": {"b"}, "b": {"c", "d"}, "c": set(), "d": {"b"}}
    assert circle_in(arrows) == ["b", "d", "b"]
    assert circle_in({"a": {"b"}, "b": set()}) == []


def test_no_module_imports_itself_by_way_of_others():
    files = {module_name(path): path for path in ROOT.rglob("*.py")}
    arrows = {name: imported(path, set(files)) for name, path in files.items()}
    arrows["surefoot"] = set()  # the list of public names: each is imported when it is first used
    circle = circle_in(arrows)
    assert not circle, " imports ".join(circle)
