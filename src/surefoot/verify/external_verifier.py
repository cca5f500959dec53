"""Another prover, run as a command: VNN-LIB in, `sat` or `unsat` out, as in VNN-COMP.

What it calls proved is its own word in its own arithmetic, and is labelled so. What it calls a
counterexample is tried here: it must lie in the box and get another label from the model itself.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surefoot.errors import InvalidArgument, SurefootError
from surefoot.graph.network import Floats
from surefoot.verify.bracket import Replay
from surefoot.verify.verdict import Proved, Refuted, Unknown
from surefoot.verify.vnnlib import BoxProperty, write_property

_PLACES = ("onnx", "vnnlib", "seconds", "result")
_PLACE = re.compile(r"\{(\w+)\}")
_INPUT_VALUE = re.compile(r"\(\s*X_(\d+)\s+([^\s()]+)\s*\)")
_PROVED_WORDS = ("unsat", "holds")
_REFUTED_WORDS = ("sat", "violated")
_GRACE_SECONDS = 1.0
"""Seconds beyond its limit before a program is stopped, for it to write down its own time-out."""
_BOX_ROUNDING = 1e-6
"""How far rounding in the other program may put a counterexample outside the box. Chosen by hand:
the point is moved into the box before the model is run on it."""
_PUSHES = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
"""How much farther from the middle of the box a point is moved, as shares, until the model itself
gives it another label: VNN-LIB counts a tie as broken, the model may keep the label."""
_MOST_ANSWER_BYTES = 64 << 20
"""Bytes of an answer that are read: far more than a value for every pixel needs."""


@dataclass(frozen=True)
class ExternalVerifier:
    """A prover's command; {onnx}, {vnnlib}, {seconds} and {result} stand for what it is given.

    It is run without a shell. Without {result} its answer is read from what it prints.
    """

    command: str

    def __post_init__(self) -> None:
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise InvalidArgument(
                f"the verifier's command {self.command!r} cannot be split into words ({error})"
                ": close its quotation marks"
            ) from error
        named = set(_PLACE.findall(self.command))
        if not words or not {"onnx", "vnnlib"} <= named or named - set(_PLACES):
            raise InvalidArgument(
                f"the verifier's command must name {{onnx}} and {{vnnlib}}, got {self.command!r}: "
                "write it as 'tool {onnx} {vnnlib} {seconds} {result}'"
            )

    @property
    def name(self) -> str:
        """What the proof is signed with: the program and, for an interpreter, its script."""
        words = [w for w in shlex.split(self.command) if not _PLACE.search(w)]
        return " ".join(Path(w).name for w in words[:2] if not w.startswith("-"))

    @property
    def assumption(self) -> str:
        """What a lower end proved this way rests on."""
        return f"the proof is that of {self.name}, in its own arithmetic, and was not checked here"


def run_verifier(
    verifier: ExternalVerifier, onnx: Path, box: BoxProperty, seconds: float, replay: Replay
) -> Proved | Refuted | Unknown:
    """The other prover's verdict on one property of an ONNX file.

    `replay` gives the label of a point by the model itself; a counterexample that it does not
    confirm, or that lies outside the box, is none: the verdict is then unknown.
    """
    if not seconds > 0:
        raise InvalidArgument(f"seconds must be above 0, got {seconds}: a verifier needs time")
    answer = _answer(verifier, onnx, write_property(box), seconds)
    if isinstance(answer, Unknown):
        return answer
    word = answer.split(maxsplit=1)[0].lower() if answer.strip() else ""
    if word in _PROVED_WORDS:
        return Proved(verifier.name)
    if word in _REFUTED_WORDS:
        return _checked_counterexample(verifier, box, answer, replay)
    if word in ("timeout", "unknown"):
        return Unknown(f"{verifier.name} answered {word}")
    return Unknown(f"{verifier.name} gave no answer but {answer[:80]!r}")


def _answer(verifier: ExternalVerifier, onnx: Path, text: str, seconds: float) -> str | Unknown:
    """What the prover wrote, or why it wrote nothing."""
    with tempfile.TemporaryDirectory(prefix="surefoot-") as name:
        folder = Path(name)
        (folder / "property.vnnlib").write_text(text, encoding="ascii")
        filled = {
            "onnx": str(onnx.resolve()),
            "vnnlib": str(folder / "property.vnnlib"),
            "seconds": f"{seconds:g}",
            "result": str(folder / "result.txt"),
        }
        words = [
            _PLACE.sub(lambda m: filled[m.group(1)], word) for word in shlex.split(verifier.command)
        ]
        code = _run(words, folder, seconds + _GRACE_SECONDS)
        if code is None:
            return Unknown(f"{verifier.name} was stopped after {seconds:g} s")
        answer = _read(folder / "result.txt") or _read(folder / "printed")
        if not answer.strip():
            last = _read(folder / "errors").strip().splitlines()[-1:]
            why = f": {last[0][:160]}" if last else ""
            return Unknown(f"{verifier.name} ended with exit code {code} and no answer{why}")
        return answer


def _run(words: list[str], folder: Path, seconds: float) -> int | None:
    """The exit code, or nothing when it had to be stopped; no child of it is left behind."""
    with (folder / "printed").open("wb") as printed, (folder / "errors").open("wb") as errors:
        try:
            process = subprocess.Popen(  # noqa: S603  the user's own command, without a shell
                words,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=errors,
                cwd=folder,
                start_new_session=True,
            )
        except OSError as error:
            raise SurefootError(
                f"the verifier {words[0]} cannot be started ({error.strerror or error}): install "
                "it, or give its path"
            ) from error
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_ANSWER_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _checked_counterexample(
    verifier: ExternalVerifier, box: BoxProperty, answer: str, replay: Replay
) -> Refuted | Unknown:
    """The counterexample, if it is one."""
    point = _point(answer, len(box.lower))
    if point is None:
        return Unknown(f"{verifier.name} answered sat without a value for every input")
    outside = float(np.maximum(box.lower - point, point - box.upper).max())
    if not outside <= _BOX_ROUNDING:
        return Unknown(f"{verifier.name}'s counterexample is outside the box by {outside:.3g}")
    middle = (box.lower + box.upper) / 2
    for push in _PUSHES:  # a tie, which VNN-LIB counts as broken, may keep the label
        inside = _float32_inside(middle + (point - middle) * (1 + push), box)
        contained = ((inside >= box.lower) & (inside <= box.upper)).all()
        if contained and replay(inside) != box.label:
            return Refuted(inside)
    return Unknown(f"{verifier.name}'s counterexample keeps the label in the model itself")


def _point(answer: str, inputs: int) -> Floats | None:
    point = np.full(inputs, np.nan)
    for index, number in _INPUT_VALUE.findall(answer):
        with contextlib.suppress(ValueError):
            if int(index) < inputs:
                point[int(index)] = float(number)
    return point if np.isfinite(point).all() else None


def _float32_inside(point: Floats, box: BoxProperty) -> Floats:
    """The point in float32, each value moved into the box where rounding took it out."""
    near = np.clip(point, box.lower, box.upper).astype(np.float32)
    near = np.where(near < box.lower, np.nextafter(near, np.float32(np.inf)), near)
    near = np.where(near > box.upper, np.nextafter(near, np.float32(-np.inf)), near)
    return near.astype(np.float64)
