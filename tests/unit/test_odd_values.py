"""Values and files that nobody means: one sentence with the way out, in little memory."""

import asyncio
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import surefoot as sf
from surefoot.catalogue import registry
from surefoot.errors import InvalidArgument
from surefoot.inputs.labels import read_labels
from surefoot.models.archive import read_parts
from surefoot.perturb.table_columns import load_features
from surefoot.study.draw_sheet import read_image
from surefoot.system.user_code import error_text, named_errors
from tests.refusals import failed, refused


def rows(x: np.ndarray) -> np.ndarray:
    return x[:, :2]


@pytest.mark.parametrize(
    "more", [{"bounds": (-1e308, 1e308)}, {"bounds": (0, 1e39)}, {"mean": 1e300}, {"std": 1e-300}]
)
def test_numbers_beyond_float32_are_refused_by_name(more) -> None:
    refused(f"{next(iter(more))}.*(give|leave)", sf.load_model, rows, shape=(3,), **more)


@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_a_scale_that_makes_all_inputs_alike_is_refused(scale: float) -> None:
    refused("scale must be", sf.load_inputs, np.ones((2, 3)), scale=scale)


@pytest.mark.parametrize("text", ["blur:1e30", "l2:1e300"])
def test_a_level_beyond_all_images_is_refused(text: str) -> None:
    from surefoot.catalogue.parse import parse_perturbation

    refused("level must be", parse_perturbation, text)


def damaged(path: Path, kind: str) -> Path:
    """An .npz file whose parts are encrypted, of a foreign compression, or changed."""
    np.savez(path, x=np.ones((4, 3), np.float32), y=np.arange(4))
    content = bytearray(path.read_bytes())
    local, central = content.find(b"PK\x03\x04"), content.find(b"PK\x01\x02")
    if kind == "encrypted":
        content[local + 6] |= 1
        content[central + 8] |= 1
    elif kind == "foreign":
        content[local + 8] = content[central + 10] = 99
    elif kind == "header":
        start = content.find(b"{'descr'")
        content[start : start + 8] = b"(((((((("
    else:
        content[180] ^= 255
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("kind", ["encrypted", "foreign", "header", "changed"])
def test_a_damaged_npz_is_one_sentence(tmp_path: Path, kind: str) -> None:
    refused(r"a\.npz .*: save", sf.load_inputs, damaged(tmp_path / "a.npz", kind))


def test_numbers_of_thousands_of_digits_are_refused(tmp_path: Path) -> None:
    long = "1" * 5000
    refused("number the classes 0, 1, 2", read_labels, [10**5000, 1], "data")
    refused("number the classes 0, 1, 2", read_labels, [long, "1"], "data")
    for option in (registry.shape, registry.size):
        refused(r"must be .* as", option, long)
    for text in (f"a = {long}", f"a = {'[' * 5000}{']' * 5000}"):
        (tmp_path / "f.toml").write_text(text)
        refused(r"is no TOML file .*: write \[\[feature\]\]", load_features, tmp_path / "f.toml")


@pytest.mark.parametrize(
    ("text", "meant"), [("60%", "0.6"), (" 99.9999999 %", "0.999999999"), ("%", "is not a number")]
)
def test_per_cent_is_refused_with_the_number_that_is_meant(text, meant) -> None:
    refused(meant, registry.number, text)


@pytest.mark.parametrize(("name", "example"), [("bounds", "0,1"), ("mean", "0.5,0.4,0.4")])
def test_numbers_that_are_none_are_refused_by_the_name_of_their_option(name, example) -> None:
    with pytest.raises(
        InvalidArgument, match=rf"\(--{name}\) must be .*{example}, got '0-1'"
    ) as no:
        sf.load(rows, X, **{name: "0-1"})
    assert (no.value.option, no.value.value) == (name, "0-1")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    for name in ("labels.npy", "image.png"):
        os.mkfifo(tmp_path / name)
    np.save(tmp_path / "x.npy", np.ones((2, 3)))
    refused("is no plain file: save", sf.load_inputs, tmp_path / "x.npy", tmp_path / "labels.npy")
    refused(r"no image file .*: check the path", read_image, tmp_path / "image.png")


class Mute(Exception):
    """Its text cannot be had."""

    def __str__(self) -> str:
        raise ValueError("no words")


class Base(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (asyncio.CancelledError(), "raised CancelledError"),
        (Base("oh"), "raised Base: oh"),
        (Mute(), "raised Mute"),
        (GeneratorExit(), "raised GeneratorExit"),
        (StopIteration(), "raised StopIteration"),
        (SystemExit(0), r"called sys.exit\(0\)"),
    ],
)
def test_whatever_a_model_raises_is_a_sentence_about_the_model(error, says) -> None:
    def model(x: np.ndarray) -> np.ndarray:
        raise error

    failed(f"the model {says}", sf.load_model, model, shape=(3,))
    with pytest.raises(InvalidArgument, match=f"mine {says}"), named_errors("mine"):
        raise error


def test_an_archive_with_damaged_names_is_refused_in_one_sentence(tmp_path) -> None:
    path = tmp_path / "model.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/d\u00e4t", b"")
    path.write_bytes(path.read_bytes().replace("\u00e4".encode(), b"\xe4\xff"))
    refused(r"damaged archive \('utf-8' .*\): save it again", read_parts, path)


def test_an_error_of_torchscript_says_what_happened_without_the_program() -> None:
    text = (
        "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript, "
        "serialized code (most recent call last):\n  File a.py\nRuntimeError: shapes (8x36, 16x3)"
    )
    assert error_text(RuntimeError(text)) == "shapes (8x36, 16x3)"


def test_code_of_the_user_cannot_close_the_stream_of_our_sentences() -> None:
    code = "from surefoot.cli.terminal import *\nkeep_results_apart()\n"
    code += "with prints_to_stderr():\n    sys.stdout.close()\nsys.stderr.close()\n"
    code += "sys.stderr.write('a sentence')"
    words = [sys.executable, "-c", code]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "a sentence")


def test_a_long_text_of_an_error_keeps_its_beginning_and_its_end() -> None:
    text = error_text(ValueError("begin " + "x" * 9999 + " end"))
    assert text.startswith("begin") and text.endswith("end") and len(text) < 400


X = np.full((3, 2), 0.5, np.float32)


def dim(x, u, level):
    return x * (1 - level * u)


@pytest.mark.parametrize("seed", [-1, None, "1", 1.5, True])
def test_a_seed_is_an_integer_from_0(seed):
    model = sf.load_model(lambda x: x, shape=(2,), bounds=(0, 1), scores="logits")
    method = sf.methods.ExactSequential(width=0.5, error=0.05)
    with pytest.raises(InvalidArgument, match=rf"seed must be an integer ≥ 0.* got {seed!r}"):
        sf.Study(model, sf.load_inputs(X), sf.perturb.LinfNoise(0.1), method, seed=seed)
    with pytest.raises(InvalidArgument) as refusal:
        sf.estimate(model, X, perturb="linf:0.1", seed=seed)
    assert (refusal.value.option, refusal.value.value) == ("seed", seed)


@pytest.mark.parametrize("level", ["0.5", ("a", 1), (1, 2, 3), (None, 1), True])
def test_a_level_of_a_function_is_a_number_or_two(level):
    refused(r"dim: level must be a number such as 0\.1, two", sf.perturb.custom, dim, level)
    refused(r"custom: level must be a number such as 0\.1, two", sf.perturb.custom, level)


def test_what_is_no_function_is_no_perturbation():
    refused("the function must be callable, got 3: write it", sf.perturb.custom, 3, 0.1)
    with pytest.raises(InvalidArgument, match="is no perturbation: write it as 'linf:8/255'"):
        sf.estimate(lambda x: x, X, perturb=sf.perturb.custom(3))
    refused(r"linf: level must be a number such as 0\.1", sf.perturb.LinfNoise, "0.5")


@pytest.mark.parametrize("store", [None, 3, Path("runs.db")])
def test_a_store_is_named_by_text(store):
    refused("a store must be text", sf.runs, store)
