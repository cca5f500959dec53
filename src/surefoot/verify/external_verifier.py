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
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, SurefootError
from surefoot.graph.network import Floats
from surefoot.verify.bracket import BracketResult, Replay
from surefoot.verify.bracket_search import Clock
from surefoot.verify.verdict import Proved, Refuted, Unknown
from surefoot.verify.vnnlib import Property, box_property, write_property

_PLACES = ("onnx", "vnnlib", "seconds", "result")
_PLACE = re.compile(r"\{(\w+)\}")
_PAIR = re.compile(r"\(\s*X_(\d+)\s+([^\s()]+)\s*\)")
_YES, _NO = ("unsat", "holds"), ("sat", "violated")
_GRACE = 1.0
_HALVINGS = 14
_MUCH = 0.9  # a counterexample this much nearer than asked for is a good one
_ROUNDING = 1e-6
_OUTWARDS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
_LONGEST = 64 << 20


@dataclass(frozen=True)
class External:
    """A prover's command; {onnx}, {vnnlib}, {seconds} and {result} stand for what it is given.

    It is run without a shell. Without {result} its answer is read from what it prints.
    """

    command: str

    def __post_init__(self) -> None:
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise InvalidArgument(f"{self.command!r} is no command line ({error})") from error
        named = set(_PLACE.findall(self.command))
        if not words or not {"onnx", "vnnlib"} <= named or named - set(_PLACES):
            raise InvalidArgument(
                f"the verifier's command is {self.command!r}: say where the files go, as in "
                "'tool {onnx} {vnnlib} {seconds} {result}'"
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


def settle(
    external: External, onnx: Path, wanted: Property, seconds: float, replay: Replay
) -> Proved | Refuted | Unknown:
    """The other prover's verdict on one property of an ONNX file.

    `replay` gives the label of a point by the model itself; a counterexample that it does not
    confirm, or that lies outside the box, is none: the verdict is then unknown.
    """
    if not seconds > 0:
        raise InvalidArgument(f"a verifier needs time: seconds must be above 0, got {seconds}")
    answer = _answer(external, onnx, write_property(wanted), seconds)
    if isinstance(answer, Unknown):
        return answer
    word = answer.split(maxsplit=1)[0].lower() if answer.strip() else ""
    if word in _YES:
        return Proved(external.name)
    if word in _NO:
        return _tried(external, wanted, answer, replay)
    if word in ("timeout", "unknown"):
        return Unknown(f"{external.name} answered {word}")
    return Unknown(f"{external.name} gave no answer but {answer[:80]!r}")


def _answer(external: External, onnx: Path, text: str, seconds: float) -> str | Unknown:
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
            _PLACE.sub(lambda m: filled[m.group(1)], word) for word in shlex.split(external.command)
        ]
        code = _run(words, folder, seconds + _GRACE)
        if code is None:
            return Unknown(f"{external.name} was stopped after {seconds:g} s")
        said = _read(folder / "result.txt") or _read(folder / "said")
        if not said.strip():
            last = _read(folder / "errors").strip().splitlines()[-1:]
            why = f": {last[0][:160]}" if last else ""
            return Unknown(f"{external.name} ended with exit code {code} and no answer{why}")
        return said


def _run(words: list[str], folder: Path, seconds: float) -> int | None:
    """The exit code, or nothing when it had to be stopped; no child of it is left behind."""
    with (folder / "said").open("wb") as said, (folder / "errors").open("wb") as errors:
        try:
            process = subprocess.Popen(  # noqa: S603  the user's own command, without a shell
                words,
                stdin=subprocess.DEVNULL,
                stdout=said,
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
            return file.read(_LONGEST).decode("utf-8", "replace")
    except OSError:
        return ""


def _tried(external: External, wanted: Property, answer: str, replay: Replay) -> Refuted | Unknown:
    """The counterexample, if it is one."""
    point = _point(answer, len(wanted.lower))
    if point is None:
        return Unknown(f"{external.name} answered sat without a value for every input")
    outside = float(np.maximum(wanted.lower - point, point - wanted.upper).max())
    if not outside <= _ROUNDING:
        return Unknown(f"{external.name}'s counterexample is outside the box by {outside:.3g}")
    middle = (wanted.lower + wanted.upper) / 2
    for more in _OUTWARDS:  # a tie, which VNN-LIB counts as broken, may keep the label
        inside = _single(middle + (point - middle) * (1 + more), wanted)
        held = ((inside >= wanted.lower) & (inside <= wanted.upper)).all()
        if held and replay(inside) != wanted.label:
            return Refuted(inside)
    return Unknown(f"{external.name}'s counterexample keeps the label in the model itself")


def _point(answer: str, inputs: int) -> Floats | None:
    point = np.full(inputs, np.nan)
    for index, number in _PAIR.findall(answer):
        with contextlib.suppress(ValueError):
            if int(index) < inputs:
                point[int(index)] = float(number)
    return point if np.isfinite(point).all() else None


def _single(point: Floats, wanted: Property) -> Floats:
    """The point in float32, each value moved into the box where rounding took it out."""
    near = np.clip(point, wanted.lower, wanted.upper).astype(np.float32)
    near = np.where(near < wanted.lower, np.nextafter(near, np.float32(np.inf)), near)
    near = np.where(near > wanted.upper, np.nextafter(near, np.float32(-np.inf)), near)
    return near.astype(np.float64)


def critical_by(
    external: External,
    onnx: Path,
    x: NDArray[np.floating],
    label: int,
    classes: int,
    replay: Replay,
    *,
    tolerance: float = 0.002,
    seconds: float = 60.0,
    low: float = 0.0,
    high: float = 1.0,
    witness: Floats | None = None,
    on_bracket: Callable[[float, float], None] | None = None,
    clock: Clock = time.monotonic,
) -> BracketResult:
    """The bracket of the critical radius with another prover: its proofs, our check of its points.

    Like `critical`, for any ONNX file that the prover reads. `replay` gives the label by the model
    itself; `witness` is a counterexample to begin with. A counterexample is drawn towards the input
    as far as it stays one; then just `tolerance` below it, and where that is refuted again or stays
    unknown, by bisection. `nodes` counts the questions asked.
    """
    started, flat = clock(), np.asarray(x, np.float64).reshape(-1)
    if not (tolerance > 0 and seconds > 0 and low < high):
        raise InvalidArgument(
            f"tolerance and seconds must be above 0 and the domain an interval, got {tolerance}, "
            f"{seconds} and [{low}, {high}]"
        )
    if replay(flat) != label:
        return BracketResult(
            0.0, 0.0, flat, 0, clock() - started, "misclassified", 0, external.name
        )
    told = on_bracket or (lambda a, b: None)
    reach = float(np.maximum(flat - low, high - flat).max())
    proved, refuted, unknown, asked, discarded = 0.0, np.inf, np.inf, 0, 0
    best = None
    if witness is not None and replay(witness) != label:
        best = _drawn_nearer(witness, flat, label, replay)
        refuted = _distance(best, flat)
    just_below = True
    reason = "out of time"
    while (left := started + seconds - clock()) > 0:
        top = max(refuted - tolerance, 0.1 * refuted) if np.isfinite(refuted) else reach
        if proved >= reach or refuted - proved <= tolerance * (1 + 1e-6):
            reason = "closed" if proved < reach else "proved for the whole domain"
            break
        if min(unknown, top) - proved <= 0.25 * tolerance:
            break
        radius = (
            top if just_below and top < unknown else (proved + min(unknown, refuted, reach)) / 2
        )
        wanted = box_property(flat, label, radius, classes, low=low, high=high)
        answer, asked = settle(external, onnx, wanted, left / 2, replay), asked + 1
        if isinstance(answer, Proved):
            proved = radius
        elif isinstance(answer, Refuted):
            best = _drawn_nearer(answer.witness, flat, label, replay)
            refuted = _distance(best, flat)
        else:
            unknown, reason = radius, answer.reason
            discarded += "counterexample" in answer.reason
        just_below = isinstance(answer, Proved) or refuted < _MUCH * radius
        told(proved, refuted)
    if proved > refuted:
        raise SurefootError(
            f"{external.name} proved a radius of {proved} although the model as run has another "
            f"label at {refuted}: the proof is wrong, or rounding in float32 decides there, so "
            "nothing is reported"
        )
    return BracketResult(
        proved, refuted, best, asked, clock() - started, reason, discarded, external.name
    )


def _drawn_nearer(point: Floats, x: Floats, label: int, replay: Replay) -> Floats:
    """The point moved towards x by halving, as long as the model gives it another label."""
    keeps, breaks, best = 0.0, 1.0, point
    for _ in range(_HALVINGS):
        middle = (keeps + breaks) / 2
        tried = (x + middle * (point - x)).astype(np.float32).astype(np.float64)
        if replay(tried) != label:
            breaks, best = middle, tried
        else:
            keeps = middle
    return best


def _distance(point: Floats, x: Floats) -> float:
    """Never too small."""
    return float(np.nextafter(np.abs(point - x).max(), np.inf))
