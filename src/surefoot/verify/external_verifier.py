"""Another prover, run as a command: VNN-LIB in, `sat` or `unsat` out, as in VNN-COMP.

What it calls proved is its own word in its own arithmetic, and is labelled so. What it calls a
counterexample is tried here: it must lie in the box and get another label from the model itself.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import closed_to
from surefoot.errors import InvalidArgument, SurefootError, refusing, system_words
from surefoot.graph.network import Floats
from surefoot.region.critical_level import OUT_OF_TIME
from surefoot.verify.bracket import BracketResult, Clock, Proved, Refuted, Replay, Unknown
from surefoot.verify.bracket_search import CLOSED, WHOLE_DOMAIN
from surefoot.verify.vnnlib import BoxProperty, box_property, write_property

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


_PRESETS = {
    "neuralsat": "--net {onnx} --spec {vnnlib} --timeout {seconds} --device cpu --verbosity 0 "
    "--result_file {result} --export_cex",
    "abcrown": "--onnx_path {onnx} --vnnlib_path {vnnlib} --timeout {seconds} --device cpu "
    "--results_file {result} --save_adv_example --cex_path {result}.cex",
}
"""Arguments of provers known by name, as of NeuralSAT 0.2.17 and α,β-CROWN of December 2025."""


@dataclass(frozen=True)
class ExternalVerifier:
    """A prover's command; {onnx}, {vnnlib}, {seconds} and {result} stand for what it is given.

    It is run without a shell. Without {result} its answer is read from what it prints. In place of
    a command: neuralsat where it is installed, or neuralsat=PATH and abcrown=PATH with the path of
    their main script; further words are arguments of theirs.
    """

    command: str

    def __post_init__(self) -> None:
        words = self.words
        named = {name for word in words for name in _PLACE.findall(word)}
        if not words or not {"onnx", "vnnlib"} <= named or named - set(_PLACES):
            raise InvalidArgument(
                f"the verifier's command must name {{onnx}} and {{vnnlib}}, got {self.command!r}: "
                "write it as 'tool {onnx} {vnnlib} {seconds} {result}'"
            )

    @property
    def words(self) -> list[str]:
        """The command in full, word by word."""
        what = f"the verifier's command {self.command!r} cannot be split into words"
        with refusing(what, "close its quotation marks", ValueError):
            words = shlex.split(self.command)
        name, _, path = words[0].partition("=") if words else ("", "", "")
        if name not in _PRESETS:
            return words
        return [sys.executable, path or _script_of(name), *_PRESETS[name].split(), *words[1:]]

    @property
    def name(self) -> str:
        """What the proof is signed with: the program and, for an interpreter, its script."""
        known = self.command.split(maxsplit=1)[0].partition("=")[0]
        if known in _PRESETS:
            return known
        words = [w for w in self.words if not _PLACE.search(w)]
        return " ".join(Path(w).name for w in words[:2] if not w.startswith("-"))

    @property
    def assumption(self) -> str:
        """What a lower end proved this way rests on."""
        return f"the proof is that of {self.name}, in its own arithmetic, and was not checked here"


def _script_of(name: str) -> str:
    """The main script of a prover that is installed beside us."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        for file in metadata.files(name) or ():
            if file.name == "main.py":
                return str(file.locate())
    raise InvalidArgument(
        f"the verifier {name} is not installed here: give the path of its main script, "
        f"{name}=PATH" + (", or pip install neuralsat" if name == "neuralsat" else "")
    )


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
        words = [_PLACE.sub(lambda m: filled[m.group(1)], word) for word in verifier.words]
        code = _run(words, folder, seconds + _GRACE_SECONDS)
        if code is None:
            return Unknown(f"{verifier.name} was stopped after {seconds:g} s")
        answer = _read(folder / "result.txt") or _read(folder / "printed")
        if point := _read(folder / "result.txt.cex"):  # some write the point by itself
            answer += "\n" + point
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
                f"the verifier {words[0]} cannot be started ({system_words(error)}): install it, "
                "or give its path"
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
        far = f"{verifier.name}'s counterexample is outside the box by {outside:.3g}"
        return Unknown(far, discarded=True)
    middle = (box.lower + box.upper) / 2
    for push in _PUSHES:  # a tie, which VNN-LIB counts as broken, may keep the label
        near = np.clip(middle + (point - middle) * (1 + push), box.lower, box.upper)
        near = near.astype(np.float32)  # which may take a value out of the box: moved back
        near = np.where(near < box.lower, np.nextafter(near, np.float32(np.inf)), near)
        near = np.where(near > box.upper, np.nextafter(near, np.float32(-np.inf)), near)
        inside = near.astype(np.float64)
        contained = ((inside >= box.lower) & (inside <= box.upper)).all()
        if contained and replay(inside) != box.label:
            return Refuted(inside)
    kept = f"{verifier.name}'s counterexample keeps the label in the model itself"
    return Unknown(kept, discarded=True)


def _point(answer: str, inputs: int) -> Floats | None:
    point = np.full(inputs, np.nan)
    for index, number in _INPUT_VALUE.findall(answer):
        with contextlib.suppress(ValueError):
            if int(index) < inputs:
                point[int(index)] = float(number)
    return point if np.isfinite(point).all() else None


# Brackets are true whatever these are; they were chosen by hand and decide how time is spent.
_HALVINGS = 14
"""Halvings of the way from the input to a counterexample: 2⁻¹⁴ of its distance is left."""
_MUCH_NEARER = 0.9
"""A counterexample within this share of the radius asked about is a good one: the next question is
just below it, otherwise the radius is bisected."""
_LEAST_RADIUS_SHARE = 0.1
"""Share of the upper end that is asked about at least, where the tolerance is as large as it."""
_LEAST_STEP_SHARE = 0.25
"""Share of the tolerance by which a question must exceed what is proved."""


@dataclass(eq=False)
class _ExternalState:
    """What is proved, refuted and unknown so far about one input."""

    x: Floats
    label: int
    replay: Replay
    tolerance: float
    largest_radius: float
    proved: float = 0.0
    refuted: float = math.inf
    unknown: float = math.inf
    witness: Floats | None = None
    reason: str = OUT_OF_TIME
    discarded: int = 0
    just_below: bool = True

    def closing_radius(self) -> float:
        """The radius to which a closed bracket must be proved."""
        if not math.isfinite(self.refuted):
            return self.largest_radius
        return max(self.refuted - self.tolerance, _LEAST_RADIUS_SHARE * self.refuted)

    def next_radius(self) -> float | None:
        """The radius to ask about, or nothing when the search is over."""
        top = self.closing_radius()
        if self.proved >= self.largest_radius:
            self.reason = WHOLE_DOMAIN
            return None
        if closed_to(self.proved, self.refuted, self.tolerance):
            self.reason = CLOSED
            return None
        if min(self.unknown, top) - self.proved <= _LEAST_STEP_SHARE * self.tolerance:
            return None
        if self.just_below and top < self.unknown:
            return top
        return (self.proved + min(self.unknown, self.refuted, self.largest_radius)) / 2

    def refute(self, point: Floats) -> None:
        """A counterexample, moved towards the input as far as it stays one."""
        unbroken, broken, self.witness = 0.0, 1.0, point
        for _ in range(_HALVINGS):
            middle = (unbroken + broken) / 2
            candidate = (self.x + middle * (point - self.x)).astype(np.float32).astype(np.float64)
            if self.replay(candidate) != self.label:
                broken, self.witness = middle, candidate
            else:
                unbroken = middle
        # the next larger number, so that the distance is never too small
        self.refuted = float(np.nextafter(np.abs(self.witness - self.x).max(), np.inf))

    def add(self, radius: float, answer: Proved | Refuted | Unknown) -> None:
        """The answer to the question about one radius."""
        if isinstance(answer, Proved):
            self.proved = radius
        elif isinstance(answer, Refuted):
            self.refute(answer.witness)
        else:
            self.unknown, self.reason = radius, answer.reason
            self.discarded += answer.discarded
        self.just_below = isinstance(answer, Proved) or self.refuted < _MUCH_NEARER * radius


def bracket_radius_externally(
    verifier: ExternalVerifier,
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

    Like `bracket_radius`, for any ONNX file that the prover reads. `replay` gives the label by the
    model itself; `witness` is a counterexample to begin with. The next question is just `tolerance`
    below the nearest counterexample; where that is refuted again or stays unknown, the radius is
    bisected. `nodes` counts the questions.
    """
    started, flat = clock(), np.asarray(x, np.float64).reshape(-1)
    if not (tolerance > 0 and seconds > 0 and low < high):
        raise InvalidArgument(
            "tolerance and seconds must be above 0 and the valid range an interval, got "
            f"{tolerance}, {seconds} and [{low}, {high}]"
        )
    if replay(flat) != label:
        spent = clock() - started
        return BracketResult(0.0, 0.0, flat, 0, spent, "misclassified", 0, verifier.name)
    largest_radius = float(np.maximum(flat - low, high - flat).max())
    state = _ExternalState(flat, label, replay, tolerance, largest_radius)
    if witness is not None and replay(witness) != label:
        state.refute(witness)
    questions = 0
    while (left := started + seconds - clock()) > 0 and (radius := state.next_radius()) is not None:
        box = box_property(flat, label, radius, classes, low=low, high=high)
        state.add(radius, run_verifier(verifier, onnx, box, left / 2, replay))
        questions += 1
        if on_bracket is not None:
            on_bracket(state.proved, state.refuted)
    if state.proved > state.refuted:
        raise SurefootError(
            f"{verifier.name} proved a radius of {state.proved} although the model as run has "
            f"another label at {state.refuted}: the proof is wrong, or rounding in float32 decides "
            "there, so nothing is reported; use the built-in prover (leave out --verifier)"
        )
    return BracketResult(
        state.proved,
        state.refuted,
        state.witness,
        questions,
        clock() - started,
        state.reason,
        state.discarded,
        verifier.name,
    )
