"""No model file runs code unless the user says that it may.

Every attack here is shown to work on whoever reads the file without care, and to fail on us.
"""

import contextlib
import io
import json
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from surefoot.errors import InvalidArgument, SurefootError
from surefoot.models import load_model
from tests.unit.small_models import IMAGE, exported, scripted

torch = pytest.importorskip("torch")

Parts = dict[str, bytes]
Attack = Callable[[Parts, Path], None]


class Bomb:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


def call(marker: Path) -> str:
    return f"__import__('pathlib').Path('{marker}').touch()"


def torch_saved(value: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def zipped(parts: Parts) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in parts.items():
            archive.writestr(f"archive/{name}", content)
    return buffer.getvalue()


def parts_of(content: bytes) -> Parts:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {n.partition("/")[2]: archive.read(n) for n in archive.namelist()}


def edit_json(parts: Parts, name: str, change: Callable[[str], str]) -> None:
    parts[name] = change(parts[name].decode()).encode()


def sample_inputs(parts: Parts, marker: Path) -> None:
    parts["data/sample_inputs/model.pt"] = torch_saved(Bomb(marker))


def sample_inputs_in_capitals(parts: Parts, marker: Path) -> None:
    del parts["data/sample_inputs/model.pt"]
    parts["data/sample_inputs/MODEL.PT"] = torch_saved(Bomb(marker))


def _pickled_weight(parts: Parts, marker: Path, word: str) -> None:
    edit_json(
        parts,
        "data/weights/model_weights_config.json",
        lambda text: text.replace('"use_pickle": false', f'"use_pickle": {word}', 1),
    )
    parts["data/weights/weight_0"] = torch_saved(Bomb(marker))


def pickled_weight(parts: Parts, marker: Path) -> None:
    _pickled_weight(parts, marker, "true")


def pickled_weight_marked_with_one(parts: Parts, marker: Path) -> None:
    _pickled_weight(parts, marker, "1")


def legacy_weights(parts: Parts, marker: Path) -> None:
    parts["data/weights/model.pt"] = torch_saved(Bomb(marker))


def opaque_constant(parts: Parts, marker: Path) -> None:
    parts["data/constants/opaque_obj_0"] = pickle.dumps(Bomb(marker))
    entry = {"path_name": "opaque_obj_0", "is_param": False, "use_pickle": True}
    config = {"config": {"k": {**entry, "tensor_meta": None}}}
    parts["data/constants/model_constants_config.json"] = json.dumps(config).encode()


def symbolic_size(parts: Parts, marker: Path) -> None:
    edit_json(
        parts, "models/model.json", lambda t: t.replace("Symbol(", f"{call(marker)} or Symbol(")
    )


def guard(parts: Parts, marker: Path) -> None:
    edit_json(
        parts,
        "models/model.json",
        lambda t: t.replace('"guards_code": []', f'"guards_code": ["{call(marker)} or True"]'),
    )


def name_of_an_input(parts: Parts, marker: Path) -> None:
    name = f"x={call(marker)}"
    edit_json(
        parts,
        "models/model.json",
        lambda t: t.replace(
            '"as_tensor": {"name": "input"}', f'"as_tensor": {{"name": "{name}"}}'
        ).replace('"input": {"dtype"', f'"{name}": {{"dtype"'),
    )


WORKING: list[Attack] = [
    sample_inputs,
    sample_inputs_in_capitals,
    pickled_weight,
    pickled_weight_marked_with_one,
    legacy_weights,
    opaque_constant,
    symbolic_size,
    guard,
    name_of_an_input,
]


def refused(path: Path, marker: Path) -> None:
    with pytest.raises(InvalidArgument, match="trust") as caught:
        load_model(path, shape=IMAGE)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not marker.exists()


def read_carelessly(path: Path) -> None:
    try:
        torch.export.load(str(path)).module()(torch.zeros(2, *IMAGE))
    except Exception:  # noqa: BLE001  it is the marker that counts
        return


@pytest.mark.parametrize("attack", WORKING)
def test_a_tampered_export_is_refused_and_runs_nothing(attack, tmp_path):
    parts, marker, path = parts_of(exported()), tmp_path / "marker", tmp_path / "model.pt2"
    attack(parts, marker)
    path.write_bytes(zipped(parts))
    refused(path, marker)
    read_carelessly(path)
    assert marker.exists(), "the attack is a dud: it proves nothing"


SUSPICIOUS = {
    "an operator by the name of a function": lambda t: t.replace(
        "torch.ops.aten.flatten.using_ints", "torch.os.system"
    ),
    "a hidden attribute of an operator": lambda t: t.replace(
        "torch.ops.aten.flatten.using_ints", "torch.ops.aten.__class__.mro"
    ),
    "an operator that writes files": lambda t: t.replace(
        "torch.ops.aten.flatten.using_ints", "torch.ops.aten.from_file.default"
    ),
    "an operator as an argument": lambda t: t.replace(
        '"as_int": 1}', '"as_operator": "math.log"}', 1
    ),
    "a structure that imports a module": lambda t: t.replace(
        "builtins.tuple", "collections.defaultdict", 1
    ),
    "an argument name that is code": lambda t: t.replace(
        '"forward_arg_names": ["input"]', '"forward_arg_names": ["input=print(1)"]'
    ),
    "a weight name that is code": lambda t: t.replace('"2.bias"', '"2.bias\\" + print(1) + \\""'),
    "a size that calls": lambda t: t.replace("Symbol(", "lambdify(", 1),
    "a size that reaches into objects": lambda t: t.replace(
        "positive=True", "positive=(1).real", 1
    ),
    "a guard with a quote in a name": lambda t: t.replace(
        '"guards_code": []', '"guards_code": ["L[\'a\\" + print(1) + \\"\'] == 1"]'
    ),
    "an end that is no JSON": lambda t: t + "}",
}


@pytest.mark.parametrize("what", SUSPICIOUS)
def test_an_export_is_refused_for(what, tmp_path):
    parts, path = parts_of(exported()), tmp_path / "model.pt2"
    before = parts["models/model.json"]
    edit_json(parts, "models/model.json", SUSPICIOUS[what])
    assert parts["models/model.json"] != before
    path.write_bytes(zipped(parts))
    refused(path, tmp_path / "marker")


@pytest.mark.parametrize(
    "name", ["data/aotinductor/model/lib.so", "code/run.py", "data/constants/custom_obj_0", "x.pkl"]
)
def test_an_export_with_a_part_it_does_not_need_is_refused(name, tmp_path):
    path = tmp_path / "model.pt2"
    path.write_bytes(zipped({**parts_of(exported()), name: b"anything"}))
    refused(path, tmp_path / "marker")


def test_an_archive_with_two_parts_of_one_name_is_refused(tmp_path):
    parts, path = parts_of(exported()), tmp_path / "model.pt2"
    path.write_bytes(zipped({**parts, "Models/Model.JSON": parts["models/model.json"]}))
    with pytest.raises(InvalidArgument, match="two parts of one name"):
        load_model(path, shape=IMAGE)


def test_what_was_checked_is_what_is_read(tmp_path):
    """Python takes the table of contents before the end mark, torch the one the mark points at."""
    marker, path = tmp_path / "marker", tmp_path / "model.pt2"
    clean, evil = parts_of(exported()), parts_of(exported())
    guard(evil, marker)
    longest = max(len(p["models/model.json"]) for p in (clean, evil))
    for parts in (clean, evil):
        parts["models/model.json"] = parts["models/model.json"].ljust(longest)
    front, back = zipped(evil), zipped(clean)
    end = 22
    assert len(front) == len(back)
    (offset,) = struct.unpack("<I", front[-end + 16 : -end + 20])
    mark = back[-end : -end + 16] + struct.pack("<I", offset) + back[-2:]
    path.write_bytes(front[:-end] + back[:-end] + mark)
    with contextlib.suppress(SurefootError):  # a later Python refuses such an archive
        load_model(path, shape=IMAGE)
    assert not marker.exists()
    read_carelessly(path)
    assert marker.exists(), "the attack is a dud: it proves nothing"


class WritesWhenUsed(torch.nn.Module):
    def __init__(self, marker: str) -> None:
        super().__init__()
        self.marker = marker

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch.save(x, self.marker)
        return x.flatten(1)[:, :3]


class WritesWhenRead(torch.nn.Module):
    def __init__(self, marker: str) -> None:
        super().__init__()
        self.marker = marker

    @torch.jit.export
    def __getstate__(self) -> tuple[str, bool]:
        return (self.marker, self.training)

    @torch.jit.export
    def __setstate__(self, state: tuple[str, bool]) -> None:
        torch.save(state[0], state[0])
        self.marker = state[0]
        self.training = state[1]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.flatten(1)[:, :3]


@pytest.mark.parametrize("network", [WritesWhenUsed, WritesWhenRead])
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_scripted_program_that_writes_files_is_refused(network, tmp_path):
    marker = tmp_path / "marker"
    path = scripted(tmp_path / "model.pt", network(str(marker)).eval())
    marker.unlink(missing_ok=True)
    refused(path, marker)
    torch.jit.load(str(path))(torch.zeros(2, *IMAGE))
    assert marker.exists(), "the attack is a dud: it proves nothing"
