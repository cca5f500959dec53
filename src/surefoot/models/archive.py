"""PyTorch archives read without trust: no part of them may run code.

`torch.export.load` unpickles, evaluates the text of symbolic sizes, compiles guards and looks up
operators by name; a TorchScript program can write files. So every part is held against what an
exported or scripted classifier needs, everything else is refused, and what torch gets to read is a
new archive of the checked parts: torch and Python can disagree on what a crafted zip holds.
"""

from __future__ import annotations

import ast
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from surefoot.errors import InvalidArgument, refusing
from surefoot.system.text import Json
from surefoot.system.user_code import error_text

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
    ast.Expression, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Name,
    ast.keyword, ast.boolop, ast.operator, ast.unaryop, ast.cmpop, ast.expr_context,
)  # fmt: skip


def is_formula(text: str) -> bool:
    """Whether it is arithmetic on sizes and numbers that stay small."""
    if len(text) > _MOST_LETTERS or re.search(r"[\\#\r\n]", text):
        return False
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval")))
        exponents = [exponent for node in nodes for exponent in _exponents(node)]
        small = len(exponents) <= _MOST_POWERS and all(map(_is_small, exponents))
        return small and all(map(_is_arithmetic, nodes))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


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


_MOST_BYTES = 16 * 2**30
"""Of an unpacked archive, so that a crafted one cannot fill the memory."""
_MOST_TEXT_BYTES = 2**28
"""Of the code in an archive, the one part that PyTorch compresses."""
_MOST_NESTING = 100
"""Of a program's JSON: far below Python's own limit of recursion."""

Parts = Mapping[str, bytes]


def is_archive(path: Path) -> bool:
    """Whether it is a zip archive, a damaged one too: `is_zipfile` raises for some of these."""
    try:
        return zipfile.is_zipfile(path)
    except zipfile.BadZipFile:
        return True


def read_parts(path: Path) -> Parts:
    """The files in an archive by their names below its one top folder."""
    # zipfile raises errors of many kinds, UnicodeDecodeError among them
    unpacking = refusing(
        f"{path} is a damaged archive", "save it again", Exception, words=error_text
    )
    with unpacking, zipfile.ZipFile(path) as archive:
        members = [m for m in archive.infolist() if not m.is_dir()]
        most = min(_MOST_BYTES, 2 * path.stat().st_size + _MOST_TEXT_BYTES)
        if sum(m.file_size for m in members) > most:
            raise InvalidArgument(
                f"{path} unpacks to more than {most / 2**30:.1f} GiB, though PyTorch does not "
                "compress weights: export it again"
            )
        names = [m.filename.partition("/")[2] or m.filename for m in members]
        # torch finds parts whatever their case
        if len({n.lower() for n in names}) < len(names):
            raise InvalidArgument(f"{path} holds two parts of one name: export it again")
        return {n: archive.read(m) for n, m in zip(names, members, strict=True)}


def pack_parts(parts: Parts) -> io.BytesIO:
    """The parts as an archive of ours."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            archive.writestr(f"model/{name}", content)
    buffer.seek(0)
    return buffer


# --- TorchScript ------------------------------------------------------------------------------

_SCRIPT_PARTS = re.compile(
    r"code/.*\.py|(data|constants)/[^/]*|(data|constants)\.pkl|version|byteorder|\.data/version"
)
_WRITES = re.compile(rb"\b(save|from_file|load_tensor|rpc_(?:a?sync|remote))\b")
_FOREIGN = re.compile(
    rb"(?<![\w.])ops\b(?!\.(?:aten|prims?|quantized|torchvision)\.)"
    rb"|torch\s*\.\s*classes\b(?!\.quantized\.)"
)


def is_script(parts: Parts) -> bool:
    """Whether it is a TorchScript program."""
    return "data.pkl" in parts and any(n.startswith("code/") for n in parts)


def plain_script(parts: Parts) -> Parts:
    """What torch needs of a program that only computes; ValueError says what else it does."""
    needed = {n: content for n, content in parts.items() if _SCRIPT_PARTS.fullmatch(n)}
    for name, content in needed.items():
        if name.startswith("code/") and (match := _WRITES.search(content)):
            raise ValueError(f"calls {match[1].decode()} in {name}")
        if name.endswith((".py", ".pkl")) and (match := _FOREIGN.search(content)):
            raise ValueError(f"uses an extension ({match[0].decode()}) in {name}")
    return needed


# --- torch.export -----------------------------------------------------------------------------

_EXPORT_PARTS = re.compile(
    r"models/model\.json|data/(weights/(weight_\d+|model_weights_config\.json|model\.pt)"
    r"|constants/(tensor_\d+|model_constants_config\.json|model\.pt)|sample_inputs/model\.pt)"
    r"|archive_format|archive_version|byteorder|\.data/(version|serialization_id)|extra/.*"
)
_SAMPLE = "data/sample_inputs/model.pt"
_WORD = re.compile(r"[\w.+:@ -]*", re.ASCII)
_PAYLOAD = re.compile(r"(weight|tensor)_\d+", re.ASCII)
_OPERATOR = re.compile(
    r"torch\.ops\.(aten|prims|quantized|quantized_decomposed|torchvision)"
    r"\.((?!__|save\b|from_file\b)\w+|__(and|or|xor|lshift|rshift)__)\.(?!__)\w+"
    r"|torch\.ops\.higher_order\.(wrap_with_set_grad_enabled|wrap_with_autocast|cond)"
    r"|_operator\.(getitem|add|sub|mul|truediv|floordiv|mod|pow|neg|eq|ne|lt|le|gt|ge"
    r"|and_|or_|not_)"
    r"|torch\.sym_(int|float|not|max|min|ite|sum|sqrt)|math\.(ceil|floor|trunc|sqrt|pow)",
    re.ASCII,
)
_FORBIDDEN = {"as_operator", "as_custom_obj", "custom_obj", "class_fqn"}


def is_export(parts: Parts) -> bool:
    """Whether `torch.export.save` wrote it."""
    return "archive_format" in parts or any(n.startswith("models/") for n in parts)


def plain_export(parts: Parts, tensors_only: Callable[[bytes], bool]) -> Parts:
    """What torch needs of an export that holds no code; ValueError says where it may.

    `tensors_only` tells whether the safe unpickler reads a part.
    """
    needed = dict(parts)
    for name, content in parts.items():
        if not _EXPORT_PARTS.fullmatch(name):
            raise ValueError(f"holds {name}")
        if name.endswith(".pt") and not tensors_only(content):
            raise ValueError(f"holds a pickle ({name})")
        if name.endswith("_config.json"):
            config = _json(name, content)
            _check(config)
            for payload in _mappings(config):
                if payload.get("use_pickle", False) is not False:
                    raise ValueError("holds pickled tensors")
                if not _PAYLOAD.fullmatch(str(payload.get("path_name", "tensor_0"))):
                    raise ValueError(f"holds {payload['path_name']}")
        if name.startswith("extra/"):
            del needed[name]
    program = _json("models/model.json", parts.get("models/model.json", b""))
    _check(program)
    needed["models/model.json"] = json.dumps(_without_metadata(program)).encode()
    needed[_SAMPLE] = b""  # torch reads it, and needs it for nothing we do
    return needed


def _json(name: str, content: bytes) -> Json:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError(f"holds no readable {name}") from None


def _mappings(value: Json) -> Iterator[dict[str, Json]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for part in value if isinstance(value, list) else ():
        yield from _mappings(part)


def _without_metadata(value: Json) -> Json:
    """The same program without the notes on where its nodes came from."""
    if isinstance(value, list):
        return [_without_metadata(part) for part in value]
    if not isinstance(value, dict):
        return value
    notes = {"metadata"} if "target" in value or "module_call_graph" in value else set()
    return {k: {} if k in notes else _without_metadata(v) for k, v in value.items()}


def _check(value: Json, key: str = "", *, argument: bool = False, depth: int = 0) -> None:
    """Refuse any text that torch would evaluate, compile or look up, unless it is known.

    `argument`: whether it is a constant argument of an operator; those are quoted.
    """
    if depth > _MOST_NESTING:
        raise ValueError("is nested too deeply")
    if isinstance(value, dict):
        node = "target" in value
        for name, part in value.items():
            if name in _FORBIDDEN or not _WORD.fullmatch(name):
                raise ValueError(f"holds {name[:60]!r}")
            if not (name == "metadata" and (node or "module_call_graph" in value)):
                inside = (argument or node) and name != "graph"
                _check(part, name, argument=inside, depth=depth + 1)
    elif isinstance(value, list):
        for part in value:
            _check(part, key, argument=argument, depth=depth + 1)
    elif isinstance(value, str) and not _known(value, key, argument):
        raise ValueError(f"holds the {key} {value[:60]!r}")


def _known(text: str, key: str, argument: bool) -> bool:
    match key:
        case "target":
            return _OPERATOR.fullmatch(text) is not None
        case "expr_str" | "guards_code":
            return is_formula(text)
        case "in_spec" | "out_spec":
            return _is_plain_tree(text)
        case "as_string" | "as_strings" if argument:
            return True
    return _WORD.fullmatch(text) is not None


def _is_plain_tree(text: str) -> bool:
    """Whether a structure of arguments or outputs is made of tuples, lists and dicts by name."""
    try:
        _version, spec = json.loads(text)
        for node in _mappings(spec):
            named = json.loads(node["context"] or "null") or []
            if node["type"] not in (None, "builtins.tuple", "builtins.list", "builtins.dict"):
                return False
            if not all(isinstance(n, str) and _WORD.fullmatch(n) for n in named):
                return False
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    return True


def export_input_shape(path: Path) -> tuple[int | None, ...] | None:
    """The shape of one input; None for a length that is open, or where the file does not say."""
    if not is_archive(path):
        return None
    parts = read_parts(path)
    if not is_export(parts):
        return None
    try:
        program: Json = json.loads(parts["models/model.json"])
        module = program["graph_module"]
        specs = [spec.get("user_input") for spec in module["signature"]["input_specs"]]
        names = [spec["arg"]["as_tensor"]["name"] for spec in specs if spec is not None]
        if len(names) != 1:
            raise InvalidArgument(
                f"{path} must take one input, got {len(names)} ({', '.join(map(str, names))}): "
                "export it with one"
            )
        sizes = module["graph"]["tensor_values"][names[0]]["sizes"]
        lengths = [size.get("as_int") for size in sizes]
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        if isinstance(error, InvalidArgument):
            raise
        return None  # another layout: then the shape is needed, as for other files
    plain = all(n is None or (isinstance(n, int) and n > 0) for n in lengths)
    return tuple(lengths[1:]) if plain and len(lengths) > 1 else None
