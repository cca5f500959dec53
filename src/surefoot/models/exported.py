"""Modules of `torch.export` files, run operator by operator.

`torch.export.load` imports a thousand modules before it reads the first byte, symbolic mathematics
and PyTorch's compiler among them. A classifier needs none of them: its file is a list of operators
with their arguments, and weights as bytes. What is not as plain as that PyTorch reads (`NotPlain`).
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from surefoot.subject.protocols import Array, Item
from surefoot.system.text import Json

if TYPE_CHECKING:
    from torch.nn import Module

_DTYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32",
    8: "float64", 12: "bool", 13: "bfloat16",
}  # fmt: skip
_STRIDED = 7
_POSITIONAL, _KEYWORD = 1, 2
"""Numbers of types, of the common layout, and of kinds of arguments in version 8 of these files."""
_VERSION = 8
_LEAST_OPEN = 2
"""The least length that PyTorch notes for an axis of any length; it does not insist on it."""
_ON_SIZES = {
    "_operator.add": operator.add,
    "_operator.sub": operator.sub,
    "_operator.mul": operator.mul,
}
_SYMBOL = re.compile(r"(?:Symbol\(')?(\w+)(?:'(?:, \w+=True)*\))?", re.ASCII)
_NUMBERS = {
    "as_int": (int,), "as_ints": (int,), "as_bool": (bool,), "as_bools": (bool,),
    "as_float": (int, float), "as_floats": (int, float), "as_string": (str,),
}  # fmt: skip


class NotPlain(Exception):
    """A file with something that only PyTorch reads."""


@dataclass(frozen=True)
class _Value:
    """What an operator or the caller gives, by its name."""

    name: str


@dataclass(frozen=True)
class _Axis:
    """Of the input; axes of one name are equally long."""

    name: str
    low: float
    high: float


@dataclass(frozen=True)
class _Step:
    """One operator; `outputs` names what it gives, one value or several. `last`: values that no
    later one takes."""

    run: Callable[..., Item]
    arguments: list[Item]
    named: dict[str, Item]
    outputs: str | list[str]
    last: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Program:
    """`tensors` has the stored name of each parameter and buffer, and whether it is a parameter."""

    tensors: dict[str, tuple[str, bool]]
    input: str
    axes: list[_Axis]
    steps: list[_Step]
    output: str

    def answer(self, tensors: Mapping[str, Array], x: Array) -> Array:
        """Every operator in turn; each value is dropped after its last use."""
        self._check(tuple(x.shape))
        known: dict[str, Item] = {**tensors, self.input: x}
        for step in self.steps:
            named = {name: _resolved(value, known) for name, value in step.named.items()}
            given = step.run(*_resolved(step.arguments, known), **named)
            if isinstance(step.outputs, str):
                known[step.outputs] = given
            else:
                known.update(zip(step.outputs, given, strict=True))
            for name in step.last:
                del known[name]
        return known[self.output]

    def _check(self, shape: tuple[int, ...]) -> None:
        lengths: dict[str, int] = {}
        fits = len(shape) == len(self.axes) and all(
            axis.low <= n <= axis.high and (not axis.name or lengths.setdefault(axis.name, n) == n)
            for axis, n in zip(self.axes, shape, strict=True)
        )
        if not fits:
            wanted = ", ".join(axis.name or f"{axis.low:g}" for axis in self.axes)
            raise RuntimeError(f"the exported module takes inputs of shape ({wanted}), got {shape}")


def is_plain(parts: Mapping[str, bytes]) -> bool:
    """Whether the file can be read here."""
    try:
        _program(parts)
    except NotPlain:
        return False
    return True


def read_exported(parts: Mapping[str, bytes]) -> Module:
    """The module in the parts of a file; raises `NotPlain`."""
    import torch

    program = _program(parts)

    class Exported(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Array) -> Array:
            return program.answer({**self._parameters, **self._buffers}, x)

    module = Exported()
    with _plainly():
        # Weights and constants by their names, and whether a gradient goes to them.
        stored = {}
        for kind in ("weights", "constants"):
            config: Json = json.loads(parts[f"data/{kind}/model_{kind}_config.json"])["config"]
            for name, entry in config.items():
                meta, content = entry["tensor_meta"], parts[f"data/{kind}/{entry['path_name']}"]
                if entry["use_pickle"] or meta["layout"] != _STRIDED:
                    raise NotPlain("a tensor that is not stored as bytes")
                flat = torch.frombuffer(
                    bytearray(content), dtype=getattr(torch, _DTYPES[meta["dtype"]])
                )
                shape, steps = ([n["as_int"] for n in meta[key]] for key in ("sizes", "strides"))
                own = flat.as_strided(shape, steps, meta["storage_offset"]["as_int"])
                stored[name] = own, bool(meta["requires_grad"])
        for name, (key, is_parameter) in program.tensors.items():
            tensor, trained = stored[key]
            if is_parameter:
                module.register_parameter(name, torch.nn.Parameter(tensor, requires_grad=trained))
            else:
                module.register_buffer(name, tensor)
    return module.eval()


@contextmanager
def _plainly() -> Iterator[None]:
    """Whatever is missing or of another kind is not plain."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, RuntimeError) as error:
        raise NotPlain(str(error)) from error


def _program(parts: Mapping[str, bytes]) -> _Program:
    with _plainly():
        whole: Json = json.loads(parts["models/model.json"])
        module = whole["graph_module"]
        graph, signature = module["graph"], module["signature"]
        if whole["schema_version"]["major"] != _VERSION or whole.get("guards_code"):
            raise NotPlain("another version, or conditions on sizes")
        _check_call(module["module_call_graph"])
        tensors: dict[str, tuple[str, bool]] = {}
        inputs: list[str] = []
        for spec in signature["input_specs"]:
            [(kind, own)] = spec.items()
            if kind == "user_input":
                inputs.append(own["arg"]["as_tensor"]["name"])
            else:  # parameter, buffer or tensor_constant
                tensors[own["arg"]["name"]] = own[f"{kind}_name"], kind == "parameter"
        [x] = inputs
        [given] = signature["output_specs"]
        output = given["user_output"]["arg"]["as_tensor"]["name"]
        ranges = whole["range_constraints"]
        axes = [_axis(size, ranges) for size in graph["tensor_values"][x]["sizes"]]
        if not axes[0].name:
            raise NotPlain("a batch of fixed size")
        steps = _with_last_uses([_step(node) for node in graph["nodes"]], {output, *tensors})
        return _Program(tensors, x, axes, steps, output)


def _check_call(calls: Sequence[Json]) -> None:
    """One tensor goes in and one comes out, each by itself."""
    [top] = [call["signature"] for call in calls if call["fqn"] == ""]
    (_, given), (_, result) = json.loads(top["in_spec"]), json.loads(top["out_spec"])
    positional, named = (part["children_spec"] for part in given["children_spec"])
    [only] = positional
    if named or only["type"] is not None or result["type"] is not None:
        raise NotPlain("a structure of arguments or results")


def _axis(size: Json, ranges: Json) -> _Axis:
    if "as_int" in size:
        return _Axis("", size["as_int"], size["as_int"])
    found = _SYMBOL.fullmatch(size["as_expr"]["expr_str"])
    if found is None:
        raise NotPlain("a length that depends on others")
    name = found[1]
    low, high = ranges[name]["min_val"], ranges[name]["max_val"]
    return _Axis(name, low if low and low > _LEAST_OPEN else 0, math.inf if high is None else high)


def _step(node: Json) -> _Step:
    import torch

    inputs = [(given["kind"], given["name"], _argument(given["arg"])) for given in node["inputs"]]
    if not {kind for kind, _, _ in inputs} <= {_POSITIONAL, _KEYWORD}:
        raise NotPlain("another kind of argument")
    run, target = _ON_SIZES.get(node["target"]), str(node["target"])
    if run is None:
        library, packet, overload = target.removeprefix("torch.ops.").split(".")
        if library != "aten":
            raise NotPlain(target)
        run = getattr(getattr(torch.ops.aten, packet), overload)
    outputs = [_argument(output) for output in node["outputs"]]
    if len(outputs) == 1 and isinstance(outputs[0], _Value):
        names: str | list[str] = outputs[0].name
    else:
        several = outputs[0] if len(outputs) == 1 else outputs
        names = [value.name for value in several]
    return _Step(
        run,
        [value for kind, _, value in inputs if kind == _POSITIONAL],
        {name: value for kind, name, value in inputs if kind == _KEYWORD},
        names,
    )


def _argument(argument: Json) -> Item:
    """A number, a list, or a value by its name."""
    import torch

    [(kind, own)] = argument.items()
    match kind:
        case "as_none":
            return None
        case "as_scalar_type":
            return getattr(torch, _DTYPES[own])
        case "as_tensor":
            return _Value(own["name"])
        case "as_sym_int":
            return _Value(own["as_name"]) if "as_name" in own else _argument(own)
        case "as_tensors" | "as_sym_ints":
            return [_argument({kind.removesuffix("s"): part}) for part in own]
    numbers = own if isinstance(own, list) else [own]
    if not all(isinstance(number, _NUMBERS[kind]) for number in numbers):
        raise NotPlain(kind)  # an infinite number is a word
    return own


def _resolved(argument: Item, known: Mapping[str, Item]) -> Item:
    if isinstance(argument, _Value):
        return known[argument.name]
    return [_resolved(part, known) for part in argument] if isinstance(argument, list) else argument


def _with_last_uses(steps: Sequence[_Step], kept: set[str]) -> list[_Step]:
    used, ready = set(kept), []
    for step in reversed(steps):
        given = [step.outputs] if isinstance(step.outputs, str) else step.outputs
        touched = {*given, *_values([*step.arguments, *step.named.values()])}
        ready.append(replace(step, last=tuple(sorted(touched - used))))
        used |= touched
    return ready[::-1]


def _values(arguments: Sequence[Item]) -> Iterator[str]:
    for argument in arguments:
        if isinstance(argument, _Value):
            yield argument.name
        elif isinstance(argument, list):
            yield from _values(argument)
