"""Arrows point one way between single files too, whatever hides an import."""

import grimp


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that reach each other (Tarjan)."""
    order: dict[str, int] = {}
    least: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = least[name] = len(order)
        stack.append(name)
        for other in sorted(arrows[name]):
            if other not in order:
                visit(other)
                least[name] = min(least[name], least[other])
            elif other in stack:
                least[name] = min(least[name], order[other])
        if least[name] == order[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in sorted(arrows):
        if name not in order:
            visit(name)
    return found


def test_no_two_modules_import_each_other() -> None:
    """Imports inside functions and for types alone count as well."""
    graph = grimp.build_graph("surefoot")
    arrows = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    assert circles(arrows) == []


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert circles({"a": {"b"}, "b": set()}) == []
