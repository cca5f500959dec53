"""Which formulas of sizes in an exported model are harmless: PyTorch evaluates their text."""

from __future__ import annotations

import ast
import re

_MOST_LETTERS = 4096
"""Of a formula: sizes of exported models take a few hundred."""
_MOST_POWERS, _MOST_EXPONENT = 4, 16
"""In one formula: numbers of some 4 million bits at most, if each power is inside another."""
_CALLS = re.compile(
    r"Symbol|Integer|Float|Rational|Add|Mul|Pow|Max|Min|Mod|max|min|abs|floor|ceiling|And|Or|Not"
    r"|Equality|Unequality|(Strict)?(Less|Greater)Than|Eq|Ne|Lt|Le|Gt|Ge|Where|Identity|ToFloat"
    r"|FloorDiv|CleanDiv|CeilDiv|TrueDiv|IntTrueDiv|FloatTrueDiv|PythonMod|ModularIndexing"
    r"|(Ceil|Floor|Trunc|Round)ToInt|TruncToFloat|RoundDecimal|[LR]Shift|PowByNatural|FloatPow"
)
_ATTRIBUTES = {"size", "stride", "storage_offset"}
_ARITHMETIC = (
    ast.Expression,
    ast.BoolOp,
    ast.BinOp,
    ast.UnaryOp,
    ast.Compare,
    ast.Subscript,
    ast.Name,
    ast.keyword,
    ast.boolop,
    ast.operator,
    ast.unaryop,
    ast.cmpop,
    ast.expr_context,
)


def is_formula(text: str) -> bool:
    """Whether it is arithmetic on sizes and numbers that stay small."""
    if len(text) > _MOST_LETTERS or re.search(r"[\\#\r\n]", text):
        return False
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval")))
        return _is_bounded(nodes) and all(map(_is_arithmetic, nodes))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _is_bounded(nodes: list[ast.AST]) -> bool:
    """Whether its numbers stay small: few powers, each with a small number as exponent."""
    exponents = [exponent for node in nodes for exponent in _exponents(node)]
    return len(exponents) <= _MOST_POWERS and all(map(_is_small, exponents))


def _exponents(node: ast.AST) -> list[ast.AST | None]:
    """The exponent where it is a power or a shift, None where it is not known; else nothing."""
    match node:
        case ast.BinOp(op=ast.Pow() | ast.LShift(), right=exponent):
            return [exponent]
        case ast.Call(func=ast.Name(id="Pow" | "PowByNatural" | "FloatPow" | "LShift")):
            return [node.args[1] if len(node.args) == 2 and not node.keywords else None]
    return []


def _is_small(node: ast.AST | None) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="Integer"), args=[number], keywords=[]):
            return _is_small(number)
        case ast.UnaryOp(op=ast.USub(), operand=number):
            return _is_small(number)
        case ast.Constant(value=int(value)):
            return value <= _MOST_EXPONENT
    return False


def _is_arithmetic(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return _CALLS.fullmatch(name) is not None
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Attribute(attr=name):
            return name in _ATTRIBUTES
        case ast.Constant(value=str(text)):
            return re.fullmatch(r"\w+", text, re.ASCII) is not None
        case ast.Constant(value=value):
            return isinstance(value, int | float)
    return isinstance(node, _ARITHMETIC)
