"""No model file runs code unless the user says that it may.

Every attack here is shown to work on whoever reads the file without care, and to fail on us.
"""

import contextlib
import functools
import io
import json
import os
import pickle
import re
import struct
import subprocess
import sys
import types
import zipfile
from collections.abc import Callable
from pathlib import Path

import joblib
import numpy as np
import pytest

from surefoot.errors import InvalidArgument, SurefootError
from surefoot.models import archive, load_model, torch_modules
from surefoot.models.archive import is_formula
from surefoot.system import confinement
from surefoot.system.confinement import can_confine
from surefoot.system.user_code import missing_code
from surefoot.testing import check_model
from tests.refusals import failed
from tests.unit.small_models import (
    IMAGE,
    Bomb,
    batch,
    by_hand,
    estimator,
    exported,
    module,
    scripted,
)

torch = pytest.importorskip("torch")

CONFINED = """
import fcntl, os, socket, subprocess, threading
from surefoot.system.confinement import confine
confine()
for attempt in (
    lambda: open("new", "w"), lambda: os.mkdir("folder"), lambda: os.fork(),
    lambda: socket.socket(), lambda: os.kill(os.getppid(), 15),
    lambda: os.execv("/bin/true", ["x"]),
    lambda: os.open(".", os.O_TMPFILE | os.O_RDWR), lambda: os.symlink("a", "b"),
    lambda: fcntl.fcntl(0, fcntl.F_SETOWN, os.getppid()),
):
    try:
        attempt()
    except PermissionError:
        print("refused")
with open("/proc/self/stat") as file:
    print("read" if file.read() else "")
thread = threading.Thread(target=lambda: print(1 + 2))
thread.start()
thread.join()
"""

Parts = dict[str, bytes]
Attack = Callable[[Parts, Path], None]


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


def test_an_archive_of_several_disks_is_a_damaged_one(tmp_path):
    path = scripted(tmp_path / "model.pt")
    whole = path.read_bytes()
    end = whole.rindex(b"PK\5\6")
    two_disks = struct.pack("<4sLQL", b"PK\6\7", 0, 0, 2)
    path.write_bytes(whole[:end] + two_disks + whole[end:])
    with pytest.raises(InvalidArgument, match="is a damaged archive"):
        load_model(path, shape=IMAGE)


@pytest.mark.skipif(not can_confine(), reason="seccomp of Linux")
@pytest.mark.parametrize("network", [WritesWhenUsed, WritesWhenRead])
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_script_that_the_list_of_words_lets_pass_writes_nothing(network, tmp_path, monkeypatch):
    marker = tmp_path / "marker"
    path = scripted(tmp_path / "model.pt", network(str(marker)).eval())
    marker.unlink(missing_ok=True)
    monkeypatch.setattr(archive, "plain_script", lambda parts: parts)
    with contextlib.suppress(SurefootError):  # PyTorch says nothing of a file it cannot write
        load_model(path, shape=IMAGE)
    assert not marker.exists()
    load_model(path, shape=IMAGE, trust=True)
    assert marker.exists(), "the attack is a dud: it proves nothing"


@pytest.mark.skipif(not can_confine(), reason="seccomp of Linux")
def test_a_confined_process_computes_and_reads_and_does_nothing_else(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CONFINED], cwd=tmp_path, text=True, capture_output=True, check=True
    )
    assert done.stdout.split() == ["refused"] * 9 + ["read", "3"], done.stderr
    assert not list(tmp_path.iterdir())


def verdict(machine: str, number: int, *arguments: int, architecture: int) -> int:
    """What the filter says of a call: its four instructions, by hand."""
    call = struct.pack("=iIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    steps = list(struct.iter_unpack("HBBI", confinement._program(machine)))
    at = held = 0
    while True:
        code, if_true, if_false, value = steps[at]
        if code == 0x06:
            return value
        if code == 0x20:
            (held,) = struct.unpack_from("=I", call, value)
            if_true = if_false = 0
        holds = held == value if code == 0x15 else held & value
        at += 1 + (if_true if holds else if_false)


@pytest.mark.parametrize(
    ("machine", "architecture", "calls"),
    [
        ("x86_64", 0xC000003E, dict(openat=257, clone=56, fcntl=72, socket=41, execve=59, kill=62)),
        ("aarch64", 0xC00000B7,
         dict(openat=56, clone=220, fcntl=25, socket=198, execve=221, kill=129)),
    ],
)  # fmt: skip
def test_both_machines_refuse_the_same_calls(machine, architecture, calls):
    numbers = confinement._numbers(machine)
    say = functools.partial(verdict, machine, architecture=architecture)
    assert {name: numbers[name] for name in ("openat", "clone", "fcntl")}.items() <= calls.items()
    for allowed in (
        *((numbers[name],) for name in ("read", "write", "mmap", "futex", "exit_group")),
        *((calls["openat"], 0, 0, 0), (calls["clone"], 0x10000), (calls["fcntl"], 3, 1)),
    ):
        assert say(*allowed) == confinement._ALLOW
    for refused_call in (
        *((calls[name],) for name in ("socket", "execve", "kill")),
        *((calls["openat"], 0, 0, 0x41), (calls["clone"], 0x11), (calls["fcntl"], 3, 8)),
    ):
        assert say(*refused_call) == confinement._REFUSE
    assert say(435) == confinement._UNKNOWN
    assert verdict(machine, numbers["read"], architecture=1) == confinement._REFUSE


@pytest.mark.parametrize(
    ("machine", "header"),
    [
        ("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        ("aarch64", "/usr/include/asm-generic/unistd.h"),
    ],
)
def test_numbers_of_calls_are_those_of_the_kernel(machine, header):
    if not Path(header).is_file():
        pytest.skip("headers of the kernel are not installed")
    found = re.findall(r"#define __NR(3264)?_(\w+)\s+(\d+)", Path(header).read_text())
    kernel = {("newfstatat" if name == "fstatat" else name): int(n) for _, name, n in found}
    numbers = confinement._numbers(machine)
    assert numbers == {name: kernel.get(name) for name in numbers}
    every = {*numbers, *confinement._numbers("x86_64")}
    assert every - numbers.keys() == {name for name in every if name not in kernel}


@pytest.mark.skipif(not can_confine(), reason="seccomp of Linux")
def test_a_script_answers_in_its_own_process_as_it_does_in_this_one(tmp_path):
    path = scripted(tmp_path / "model.pt")
    own, trusted = load_model(path, shape=IMAGE), load_model(path, shape=IMAGE, trust=True)
    x = own.place(batch(6))
    assert own.run_note[0] and "seccomp" in own.run_note[1]
    assert torch.equal(own.predict(x), trusted.predict(x))
    assert own.signature == trusted.signature
    slopes = [m.logits_and_gradient(x, lambda rows, _: rows)[1] for m in (own, trusted)]
    assert torch.equal(*slopes)
    assert torch.equal(pickle.loads(pickle.dumps(own)).predict(x), trusted.predict(x))
    with pytest.raises(InvalidArgument, match="half precision"):
        load_model(path, shape=IMAGE, half=True)


def old_torch(value: object, path: Path) -> None:
    torch.save(value, path, _use_new_zipfile_serialization=False)


def plain_pickle(value: object, path: Path) -> None:
    path.write_bytes(pickle.dumps(value))


def tail_of_a_zip(value: object, path: Path) -> None:
    """A pickle that is also an archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("anything/else", b"")
    path.write_bytes(pickle.dumps(value) + buffer.getvalue())


WRITERS = {
    ".pt": torch.save,
    ".pth": old_torch,
    ".PT": plain_pickle,
    ".pt2": torch.save,
    ".Pt2": tail_of_a_zip,
    ".ts": plain_pickle,
    ".jit": tail_of_a_zip,
    ".pkl": plain_pickle,
    ".PKL": plain_pickle,
    ".pickle": plain_pickle,
    ".joblib": joblib.dump,
    ".JobLib": joblib.dump,
    ".onnx": plain_pickle,
    ".ONNX": tail_of_a_zip,
    ".bin": plain_pickle,
    "": plain_pickle,
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_pickle_is_refused_whatever_it_is_called(suffix, tmp_path):
    marker, path = tmp_path / "marker", tmp_path / f"model{suffix}"
    WRITERS[suffix](Bomb(marker), path)
    with pytest.raises(InvalidArgument) as caught:
        load_model(path, shape=IMAGE)
    assert str(path) in str(caught.value)
    assert not marker.exists()


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".pkl", ".PKL", ".joblib", ".JobLib"])
def test_the_pickles_of_these_tests_do_run_code_where_they_are_trusted(suffix, tmp_path):
    marker, path = tmp_path / "marker", tmp_path / f"model{suffix}"
    WRITERS[suffix](Bomb(marker), path)
    with pytest.raises(InvalidArgument):
        load_model(path, shape=IMAGE, trust=True)
    assert marker.exists()


@pytest.mark.parametrize("suffix", [".onnx", ".pt", ".pt2"])
def test_a_link_is_judged_by_what_it_leads_to(suffix, tmp_path):
    marker, real = tmp_path / "marker", tmp_path / "model.pkl"
    plain_pickle(Bomb(marker), real)
    os.symlink(real, tmp_path / f"model{suffix}")
    with pytest.raises(InvalidArgument):
        load_model(tmp_path / f"model{suffix}", shape=IMAGE)
    assert not marker.exists()


def scripted_parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(scripted(path)) as archive:
        return {n: archive.read(n) for n in archive.namelist()}


def rewrite(path: Path, parts: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def test_a_script_is_read_without_the_pickles_that_lie_beside_it(tmp_path):
    marker, path = tmp_path / "marker", tmp_path / "model.pt"
    bomb = pickle.dumps(Bomb(marker))
    parts = scripted_parts(path)
    extra = {"model/extra.pkl": bomb, "model/.data/ts_code/0.pkl": bomb, "model/code/x.pkl": bomb}
    loaded = load_model(rewrite(path, {**parts, **extra}), shape=IMAGE)
    x = batch(5)
    np.testing.assert_allclose(loaded.predict(loaded.place(x)), by_hand(x), rtol=1e-4, atol=1e-5)
    assert not marker.exists()


def test_a_script_whose_data_are_a_python_pickle_is_refused(tmp_path):
    marker, path = tmp_path / "marker", tmp_path / "model.pt"
    parts = {**scripted_parts(path), "model/data.pkl": pickle.dumps(Bomb(marker), protocol=2)}
    with pytest.raises(InvalidArgument):
        load_model(rewrite(path, parts), shape=IMAGE)
    assert not marker.exists()


@pytest.mark.parametrize(
    "line",
    [
        b'ops.image.write_file("f", x)',
        b"ops . image.write_file(x)",
        b"o = ops",
        b'ops.aten.from_file("f", True, 9)',
        b'torch . save(x, "f")',
        b"__torch__.torch.classes.mine.Thing()",
    ],
)
def test_a_script_that_calls_more_than_arithmetic_is_refused(line, tmp_path):
    path = tmp_path / "model.pt"
    parts = scripted_parts(path)
    name = next(n for n in parts if "/container" in n and n.endswith(".py"))  # or mangled below it
    parts[name] += b"    " + line + b"\n"
    with pytest.raises(InvalidArgument, match="trust"):
        load_model(rewrite(path, parts), shape=IMAGE)


def test_a_pickled_module_is_read_with_trust(tmp_path):
    path = tmp_path / "model.pt"
    torch.save(module().train(), path)
    loaded = load_model(path, shape=IMAGE, trust=True)
    check_model(loaded, batch(6))
    x = batch(5)
    np.testing.assert_allclose(loaded.predict(loaded.place(x)), by_hand(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("suffix", [".pt", ".pth"])
def test_weights_alone_are_no_network_even_with_trust(suffix, tmp_path):
    path = tmp_path / f"weights{suffix}"
    weights = module().state_dict()
    for content in (weights, {"epoch": 3, "model": weights}):
        for zipped in (True, False):
            torch.save(content, path, _use_new_zipfile_serialization=zipped)
            for trust in (True, False):
                with pytest.raises(InvalidArgument, match=r"holds weights .*load_state_dict") as e:
                    load_model(path, shape=IMAGE, trust=trust)
                assert str(path) in str(e.value)
                assert "--trust" not in str(e.value)


def test_what_is_neither_weights_nor_a_network_is_not_called_weights(tmp_path):
    path = tmp_path / "plain.pt"
    for content in ({"epoch": 3}, [torch.zeros(2)]):
        torch.save(content, path)
        with pytest.raises(InvalidArgument, match=r"is a pickle; .*--trust"):
            load_model(path, shape=IMAGE)
        with pytest.raises(InvalidArgument, match=f"holds {type(content).__name__}, not a network"):
            load_model(path, shape=IMAGE, trust=True)


@pytest.mark.parametrize("suffix", [".pkl", ".joblib", ".PKL", ".JOBLIB"])
def test_a_pickled_estimator_is_read_with_trust(suffix, tmp_path):
    path, fitted = tmp_path / f"model{suffix}", estimator()
    (joblib.dump if suffix.lower() == ".joblib" else plain_pickle)(fitted, path)
    loaded = load_model(path, trust=True)
    x = batch(6, (4,))
    check_model(loaded, x)
    np.testing.assert_allclose(loaded.predict(x), fitted.predict_proba(x))


@pytest.mark.parametrize(("suffix", "content"), [(".pkl", b"x"), (".joblib", b""), (".pt", b"x")])
def test_a_damaged_pickle_is_one_sentence_with_the_path(suffix, content, tmp_path):
    path = tmp_path / f"model{suffix}"
    path.write_bytes(content)
    with pytest.raises(InvalidArgument) as caught:
        load_model(path, shape=IMAGE, trust=True)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_pickle_of_something_else_is_no_classifier(tmp_path):
    path = tmp_path / "model.pkl"
    plain_pickle({"accuracy": 0.99}, path)
    with pytest.raises(InvalidArgument, match="dict is no model"):
        load_model(path, trust=True)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (AttributeError("Can't get attribute 'Net' on <module '__main__' from 'x'>"),
         "the class Net must be importable where surefoot runs, from a module and not from the"),
        (AttributeError("Can't get attribute 'Net' on <module 'nets' from 'x'>"),
         "the class Net must be importable where surefoot runs"),
        (ModuleNotFoundError("No module named 'nets'", name="nets"), "the module nets must be"),
        (ValueError("damaged"), ""),
    ],
)  # fmt: skip
def test_a_pickle_of_code_that_is_not_here_says_which(error, sentence):
    assert missing_code(error).startswith(sentence)
    assert bool(missing_code(error)) is bool(sentence)


def test_a_pickled_module_whose_class_is_gone_names_it_and_the_export(tmp_path, monkeypatch):
    path, nets = tmp_path / "net.pth", types.ModuleType("nets")
    nets.Net = type("Net", (torch.nn.Linear,), {"__module__": "nets"})
    monkeypatch.setitem(sys.modules, "nets", nets)
    torch.save(nets.Net(2, 2), path)
    monkeypatch.delitem(sys.modules, "nets")
    with pytest.raises(InvalidArgument, match=r"module nets must be .*; or export it with torch"):
        load_model(path, shape=(2,), trust=True)


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Large(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, :2] + torch.zeros([3000000000])[0]


class Endless(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        i = 0
        while i >= 0:
            i = (i + 1) % 1000
        return x[:, :2]


class Wide(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert x.shape[1] > 9
        return x[:, :2]


def test_a_script_that_allocates_too_much_is_refused_and_trusted_on_request(tmp_path) -> None:
    path = scripted(tmp_path / "large.pt", Large())
    with pytest.raises(InvalidArgument, match=r"takes more than 4 GiB .* pass --trust"):
        load_model(path, shape=(3,))


def test_a_script_without_end_is_refused(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(torch_modules, "CPU_SECONDS", 1)
    path = scripted(tmp_path / "endless.pt", Endless())
    with pytest.raises(InvalidArgument, match=r"takes more than 1 s .* pass --trust"):
        load_model(path, shape=(3,))


def test_a_script_that_raises_says_so_itself(tmp_path) -> None:
    path = scripted(tmp_path / "wide.pt", Wide())
    failed("AssertionError", load_model, path, shape=(3,))
    assert load_model(path, shape=(12,)).signature.classes == 2


def test_weights_that_unpack_to_far_more_than_the_file_are_refused(tmp_path) -> None:
    with zipfile.ZipFile(tmp_path / "a.pt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data/0", bytes(2**28 + 2**20))
    with pytest.raises(InvalidArgument, match="unpacks to more than"):
        load_model(tmp_path / "a.pt", shape=(3,))


def test_weights_alone_that_do_not_fit_are_refused_by_the_child(tmp_path, monkeypatch) -> None:
    def load(*_: object, **__: object) -> None:
        raise RuntimeError("can't allocate memory")

    path = tmp_path / "weights.pt"
    torch.save({"w": torch.zeros(2)}, path, _use_new_zipfile_serialization=False)
    monkeypatch.setattr(torch, "load", load)
    with pytest.raises(InvalidArgument, match="GiB to read"):
        load_model(path, shape=(3,))


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("2**2**2**2**2**2", False),
        ("Pow(Integer(9), Integer(999999999))", False),
        ("Pow(b=2, e=99999)", False),
        ("LShift(1, 10000000000)", False),
        ("1 << s0", False),
        ("(((((2**9)**9)**9)**9)**9)", False),
        ("+".join(["s0"] * 3000), False),
        ("Pow(Symbol('s0', positive=True, integer=True), Integer(2))", True),
        ("FloorDiv(s0**2 - 1, 2) + Pow(s1, Integer(-1))", True),
    ],
)
def test_a_formula_of_sizes_computes_with_small_numbers_only(text: str, harmless: bool) -> None:
    assert is_formula(text) is harmless
