"""Every refusal names the way out."""

import ast
import re
from functools import cache
from itertools import product
from pathlib import Path

import pytest

import surefoot
from surefoot import errors

SOURCE = Path(surefoot.__file__).parent

VERBS = (
    "add begin build call change check choose close compare convert copy correct create "
    "delete describe export fill fix fold get give install join keep leave let load look make "
    "measure move name number open pad pass pip plan print put raise remove rename replay "
    "report require resize restore round run sample save say scale score see separate serve "
    "set shorten start state store study subtract take try unset use wait wrap write"
).replace(" ", "|")
WAY_OUT = re.compile(
    rf"(?:[:;,] |\b(?:or|so|please) )(?!run \{{)(?:{VERBS})\b"
    rf"|[:;] (?:for|if|of|where) [^:;]*\b(?:{VERBS})\b"
    r"|[:;] `?surefoot [a-z]|\bdo you mean\b|way_out\}|^(?:choose|give) "
)
REQUIREMENT = re.compile(r"\b(?:must|needs?|lies?|one of|takes?)\b.* (?:got|such as) ")

ELSEWHERE = {
    "models/script_process.py: {value}": "what the other process refuses, as it says it",
    "BatchStays": "the file is run as it is; a device says it with a way out",
    "OutOfMemory": "a smaller batch is tried; what fails in the end is a ModelFailed",
    "StoreDamaged": "the class adds it",
    "NotRecomputed": "an answer of surefoot verify",
    "DoesNotFollow": "an answer of surefoot verify",
    "conclude/facts.py": "an answer of surefoot verify",
    "evidence/recompute.py: an input has no": "an answer of surefoot verify",
    "errors.py: {package}": "the words of who needs it",
    "study/study.py: {refusal}": "each sentence of `_NOT_COMPARED` names it",
    "study/run.py: preflight": "the finding of a check holds it",
    "evidence/packed.py: {": "the words of what is wrong with the file",
    "store/database.py": "the store says what its errors mean",
    "gate/read_gate.py: {unknown(": "the words that are near",
    "gate/check_study.py: {gate.path} was": "one for each study that is refused",
    "gate/read_gate.py: study {study}: {p": "what the option is, from its help",
    "models/onnx.py: {late_words(": "models/call_limit.py says it for every kind of model",
    "executors/pool.py: {late_words(": "the same",
    "models/endpoint_connection.py: {text}": "the words of who calls `failed`",
    "records/options.py: {": "the words that follow the name of the option",
    "serve/replay.py: {str(": "what surefoot replay says",
    "store/runs.py: {where}: {_unfinished(": "the command that goes on",
    "executors/dispatch.py: no worker": "the cluster says what is scarce",
    "inputs/labels.py: {source}, {where(i)}": "one for each thing that is wrong with a label",
}
"""Classes, files and beginnings of sentences whose way out is elsewhere, and where."""


def names_the_way_out(sentence: str) -> bool:
    """Whether a sentence says what to do.

    Either a verb of `VERBS` begins a clause (after a colon, a semicolon, a comma, *or*, *so*, or
    behind *for …*), or a command of surefoot stands there, or *do you mean*; or it says what must
    be and what was given: `workers must be an integer ≥ 1, got 0`.
    """
    return bool(WAY_OUT.search(sentence) or REQUIREMENT.search(sentence))


class Sentences(ast.NodeVisitor):
    """The refusals of a file, class and sentence; {…} for what is known only when it runs.

    Text in a constant or in a variable of the same function is read. A refusal that is passed on
    with more words before it is {way_out}.
    """

    def __init__(self, refusals: set[str], constants: dict[str, str]) -> None:
        self.refusals, self.constants = refusals, constants
        self.sentences: list[tuple[str, str]] = []
        self._variables: dict[str, list[ast.expr]] = {}
        self._passes_on = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._variables = {}
        for inner in ast.walk(node):
            match inner:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._variables.setdefault(name, []).append(value)
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        self._passes_on = all(isinstance(k, ast.Name) and k.id in self.refusals for k in kinds)
        self.generic_visit(node)
        self._passes_on = False

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name in self.refusals and node.args:
            self.sentences += [(name, text) for text in self._texts(node.args[-1])]
        self.generic_visit(node)

    def _texts(self, node: ast.expr) -> list[str]:  # noqa: PLR0911  one for each kind
        match node:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.JoinedStr(values=parts):
                return ["".join(each) for each in product(*map(self._texts, parts))]
            case ast.FormattedValue(value=inner):
                return self._texts(inner)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return [a + b for a, b in product(self._texts(left), self._texts(right))]
            case ast.IfExp(body=body, orelse=orelse):
                return self._texts(body) + self._texts(orelse)
            case ast.Call(func=ast.Attribute(attr="without_token"), args=[text]):
                return self._texts(text)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="format")):
                return [self.constants[name]]
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in self.constants:
                return [self.constants[name]]
            case ast.Name(id="error") | ast.Call(args=[ast.Name(id="error")]) if self._passes_on:
                return ["{way_out}"]
            case ast.Name(id=name) if values := self._variables.pop(name, None):
                texts = [text for value in values for text in self._texts(value)]
                self._variables[name] = values
                return texts
        return ["{" + ast.unparse(node) + "}"]


def constants_of(tree: ast.Module) -> dict[str, str]:
    """The constants of a file that are text; one that is computed is its words without values."""
    texts = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                texts[name] = text
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.JoinedStr(values=parts)):
                texts[name] = "".join(str(getattr(part, "value", "")) for part in parts)
    return texts


def classes_of_refusals(texts: list[str]) -> set[str]:
    """The errors of `surefoot.errors`, and those of other files that are derived from one."""
    kinds = {"refused", "refused_value", "failed"}  # of an option, which they name; of a server
    kinds |= {"needing"}  # a package
    kinds |= {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.SurefootError)
    }
    derived = re.compile(r"^class (\w+)\((\w+)", re.MULTILINE)
    return kinds | {name for text in texts for name, base in derived.findall(text) if base in kinds}


@cache
def refusals() -> list[tuple[str, str, str]]:
    """File, class and sentence of every refusal of the package."""
    texts = {str(p.relative_to(SOURCE)): p.read_text() for p in sorted(SOURCE.rglob("*.py"))}
    kinds = classes_of_refusals(list(texts.values()))
    speaks = re.compile(rf"\b(?:{'|'.join(kinds)})\(|^[A-Z]\w+ = \(?\s*f?[\"']", re.MULTILINE)
    trees = {file: ast.parse(text) for file, text in texts.items() if speaks.search(text)}
    own = {file: constants_of(tree) for file, tree in trees.items()}
    public = {n: t for each in own.values() for n, t in each.items() if not n.startswith("_")}
    listed = []
    for file, tree in trees.items():
        reader = Sentences(kinds, public | own[file])
        reader.visit(tree)
        listed += [(file, kind, text) for kind, text in reader.sentences]
    return listed


def is_elsewhere(file: str, kind: str, sentence: str) -> bool:
    """Whether the list says where the way out is."""
    return any(key == kind or f"{file}: {sentence}".startswith(key) for key in ELSEWHERE)


def test_every_refusal_names_the_way_out() -> None:
    without = [
        f"{file}: {sentence}"
        for file, kind, sentence in refusals()
        if not is_elsewhere(file, kind, sentence) and not names_the_way_out(sentence)
    ]
    assert not without, "say what to do:\n" + "\n".join(without)
    assert len(refusals()) > 900


def test_no_exception_is_left_over() -> None:
    for key in ELSEWHERE:
        used = [r for r in refusals() if key == r[1] or f"{r[0]}: {r[2]}".startswith(key)]
        assert any(not names_the_way_out(sentence) for *_, sentence in used), key


@pytest.mark.parametrize(
    ("sentence", "says"),
    [
        ("steps must be an integer ≥ 1, got {steps}", True),
        ("there is no method {name}: choose one of {names}", True),
        ("error {error} is too small: the least is {least}, or use okamoto", True),
        ("{path}: run {digest} has no record", False),
        ("{path} cannot be read ({error})", False),
        ("the width is {width}, got {text}", False),
        ("a curve needs models, then the data", False),
    ],
)
def test_a_way_out_is_told_from_a_complaint(sentence: str, says: bool) -> None:
    assert names_the_way_out(sentence) is says
