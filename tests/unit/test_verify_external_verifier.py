"""Other provers as commands: real answers, and all the ways in which a command can go wrong."""

import contextlib
import ctypes
import importlib.util
import shlex
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from surefoot.errors import SurefootError
from surefoot.graph.network import linear_layer
from surefoot.verify import (
    ExternalVerifier,
    Network,
    Proved,
    Refuted,
    Unknown,
    bracket_radius,
    bracket_radius_externally,
    read_network,
    run_verifier,
)
from surefoot.verify.vnnlib import (
    BoxProperty,
    Instance,
    box_property,
    read_property,
    write_instances,
    write_property,
)
from tests.refusals import refused
from tests.unit.small_networks import random_network, write_onnx

HERE = Path(__file__).parent
PYTHON = shlex.quote(sys.executable)
EXACT = ExternalVerifier(
    f"{PYTHON} {HERE / 'exact_verifier.py'} {{onnx}} {{vnnlib}} {{seconds}} {{result}}"
)
MARABOU = ExternalVerifier(
    f"{PYTHON} {HERE.parents[1] / 'examples' / 'verifiers' / 'marabou.py'} "
    "{onnx} {vnnlib} {seconds} {result}"
)


def marabou_runs() -> bool:
    """Whether this machine has Marabou (there are wheels for some Pythons only)."""
    if importlib.util.find_spec("maraboupy") is None:
        return False
    with contextlib.suppress(OSError):
        ctypes.CDLL("libatomic.so.1", mode=ctypes.RTLD_GLOBAL)
    return importlib.util.find_spec("maraboupy.MarabouCore") is not None


def model_label(path: Path):
    """What onnxruntime says about a point."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def label(x: np.ndarray) -> int:
        scores = session.run(None, {"x": x.astype(np.float32)[None]})[0]
        return int(scores[0].argmax())

    return label


@pytest.fixture
def slope(tmp_path: Path) -> Path:
    """Label 0 below x + y = 1, label 1 from there on."""
    weights, bias = np.array([[-1.0, -1.0], [1.0, 1.0]]), np.array([1.0, -1.0])
    return write_onnx(Network((linear_layer(weights, bias),), (2,)), tmp_path / "a slope.onnx")


def saying(code: str) -> ExternalVerifier:
    """A command that runs some Python; `out` writes the result."""
    text = f"import sys\nout = lambda t: open(sys.argv[3], 'w').write(t)\n{code}"
    return ExternalVerifier(
        f"{PYTHON} -c {shlex.quote(text)} {{onnx}} {{vnnlib}} {{result}} {{seconds}}"
    )


def around(radius: float) -> BoxProperty:
    return box_property(np.array([0.25, 0.25]), 0, radius, 2)


def test_a_bracket_by_another_prover_closes_around_the_true_radius(slope: Path) -> None:
    label = model_label(slope)
    brackets: list[tuple[float, float]] = []
    bracket = bracket_radius_externally(
        EXACT, slope, np.array([0.25, 0.25]), 0, 2, label, tolerance=0.05, low=-9, high=9,
        witness=np.array([0.65, 0.65]), on_bracket=lambda a, b: brackets.append((a, b)),
        seconds=600,
    )  # fmt: skip
    assert bracket.low <= 0.25 <= bracket.high <= bracket.low + 0.0501
    assert (bracket.reason, brackets[-1]) == ("closed", (bracket.low, bracket.high))
    assert "exact_verifier.py" in bracket.prover
    assert label(bracket.witness) == 1
    assert bracket.nodes <= 4
    wrong = bracket_radius_externally(EXACT, slope, np.array([0.25, 0.25]), 1, 2, label)
    assert (wrong.low, wrong.high, wrong.reason) == (0.0, 0.0, "misclassified")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("out('unknown')", "answered unknown"),
        ("out('timeout')", "answered timeout"),
        ("out('maybe')", "no answer but 'maybe'"),
        ("sys.exit('no licence found')", "exit code 1 and no answer: no licence found"),
        ("out('sat')", "without a value"),
        ("out('sat ((X_0 0.3) (X_1 nan))')", "without a value"),
        ("out('sat ((X_0 0.9) (X_1 0.9))')", "outside the box by 0.55"),
        ("out('sat ((X_0 0.3) (X_1 0.3))')", "keeps the label"),
    ],
)
def test_whatever_is_no_answer_is_unknown(slope: Path, code: str, words: str) -> None:
    answer = run_verifier(saying(code), slope, around(0.1), 60, model_label(slope))
    assert isinstance(answer, Unknown)
    assert words in answer.reason


def test_answers_may_be_printed_and_older_words_are_known(slope: Path) -> None:
    label = model_label(slope)
    assert isinstance(run_verifier(saying("print('holds')"), slope, around(0.1), 60, label), Proved)
    says = saying("print('violated')\nprint('((X_0 0.6500000001) (X_1 0.65))')")
    answer = run_verifier(says, slope, around(0.4), 60, label)
    assert isinstance(answer, Refuted)
    assert (answer.witness <= around(0.4).upper).all()


def test_a_prover_that_overruns_is_stopped_with_its_children(slope: Path, tmp_path: Path) -> None:
    after, alive = tmp_path / "after", tmp_path / "alive"
    child = (
        "import time; from pathlib import Path\n"
        f"while not Path({str(after)!r}).exists(): time.sleep(.02)\n"
        f"Path({str(alive)!r}).touch()"
    )
    start = f"subprocess.Popen([sys.executable, '-c', {child!r}])"
    code = f"import subprocess, time\n{start}\ntime.sleep(600)"
    answer = run_verifier(saying(code), slope, around(0.1), 0.5, model_label(slope))
    assert isinstance(answer, Unknown)
    assert "stopped after 0.5 s" in answer.reason
    after.touch()
    time.sleep(0.5)
    assert not alive.exists()


def test_a_wrong_proof_is_caught_by_a_counterexample(slope: Path) -> None:
    # Unknown on the whole domain, then a false proof, then a true counterexample below it.
    code = (
        "r = float(open(sys.argv[2]).read().split('(<= X_0 ')[1].split(')')[0]) - 0.25\n"
        "out('unknown' if r > 0.7 else 'unsat' if r < 0.4 else 'sat ((X_0 .51) (X_1 .51))')"
    )
    with pytest.raises(SurefootError, match="the proof is wrong"):
        bracket_radius_externally(
            saying(code), slope, np.array([0.25, 0.25]), 0, 2, model_label(slope)
        )


@pytest.mark.parametrize(
    "command", ["", "tool {onnx}", "tool {onnx} {vnnlib} {gpu}", "tool 'x {onnx} {vnnlib}"]
)
def test_commands_without_their_places_are_refused(command: str) -> None:
    refused("command", ExternalVerifier, command)


def test_a_missing_program_says_so(slope: Path) -> None:
    with pytest.raises(SurefootError, match="no-such-prover cannot be started"):
        run_verifier(
            ExternalVerifier("no-such-prover {onnx} {vnnlib}"),
            slope,
            around(0.1),
            5,
            model_label(slope),
        )


@pytest.mark.slow
@pytest.mark.skipif(not marabou_runs(), reason="Marabou is not installed")
@pytest.mark.parametrize("seed", range(2))
def test_marabou_agrees_just_inside_and_just_outside_our_bracket(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(200 + seed)
    path = write_onnx(random_network(rng, 2 + seed % 2, [4, 4], 3, [0.0]), tmp_path / "net.onnx")
    network, label = read_network(path), model_label(path)
    x = rng.uniform(0.3, 0.7, network.shape)
    ours = bracket_radius(network, x, label(x), tolerance=1e-3, replay=label, low=-9, high=9)
    assert np.isfinite(ours.high)
    inside, outside = (
        run_verifier(MARABOU, path, box_property(x, label(x), r, 3, low=-9, high=9), 600, label)
        for r in (0.999 * ours.low, 1.002 * ours.high)
    )
    assert isinstance(inside, Proved), inside
    assert isinstance(outside, Refuted), outside


def test_a_property_is_read_back_bit_by_bit() -> None:
    x = np.random.default_rng(0).uniform(0, 1, 20)
    box = box_property(x, 3, 1 / 30, 5)
    read = read_property(write_property(box))
    assert (read.lower == box.lower).all()
    assert (read.upper == box.upper).all()
    assert (read.label, read.classes) == (3, 5)


def test_the_written_box_holds_the_exact_box() -> None:
    x = np.random.default_rng(1).uniform(0, 1, 50)
    radius = 0.1
    box = box_property(x, 0, radius, 2)
    for lower, upper, centre in zip(box.lower, box.upper, x, strict=True):
        assert Fraction(lower) <= max(Fraction(centre) - Fraction(radius), 0)
        assert Fraction(upper) >= min(Fraction(centre) + Fraction(radius), 1)
    assert (box.lower >= 0).all()
    assert (box.upper <= 1).all()


def test_a_negative_tiny_bound_survives() -> None:
    box = box_property(np.array([1e-12]), 0, 1e-9, 2, low=-1.0)
    assert (read_property(write_property(box)).lower == box.lower).all()


def test_other_writers_order_is_read() -> None:
    text = """
    (declare-const X_0 Real) (declare-const Y_0 Real) (declare-const Y_1 Real)
    (assert (<= X_0 0.5)) (assert (>= X_0 0.25)) ; a comment
    (assert (or (and (<= Y_1 Y_0))))
    """
    read = read_property(text)
    assert (read.lower[0], read.upper[0], read.label) == (0.25, 0.5, 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("(<= X_0", "(<= X_7"), "not declared"),
        (("(assert (<= X_0 0.5))", ""), "lower and an upper"),
        (("(>= Y_0 Y_1)", "(>= Y_0 0.5)"), "one label"),
        (("(>= Y_2 Y_1)", "(>= Y_2 Y_0)"), "one label"),
        (("(and (>= Y_2 Y_1))", ""), "one label"),
        (("(assert (or", "(assert (and"), "any"),
    ],
)
def test_other_properties_are_refused(change: tuple[str, str], words: str) -> None:
    text = """
    (declare-const X_0 Real)
    (declare-const Y_0 Real) (declare-const Y_1 Real) (declare-const Y_2 Real)
    (assert (<= X_0 0.5)) (assert (>= X_0 0.25))
    (assert (or (and (>= Y_0 Y_1)) (and (>= Y_2 Y_1)) ))
    """
    assert read_property(text).label == 1
    refused(words, read_property, text.replace(*change))


def test_instances_are_lines_of_network_property_and_seconds() -> None:
    lines = [Instance("a.onnx", "p/0.vnnlib", 60.0), Instance("b.onnx", "p/1.vnnlib", 0.5)]
    assert write_instances(lines) == "a.onnx,p/0.vnnlib,60\nb.onnx,p/1.vnnlib,0.5\n"


@pytest.mark.parametrize("name", ["neuralsat", "abcrown"])
def test_provers_known_by_name_get_their_own_arguments(tmp_path: Path, name: str) -> None:
    script = tmp_path / "main.py"
    script.write_text(
        "import runpy, sys\n"
        "given = dict(zip(sys.argv[1:], sys.argv[2:]))\n"
        "names = ('--net', '--spec', '--result_file') if '--net' in given else "
        "('--onnx_path', '--vnnlib_path', '--results_file')\n"
        "onnx, vnnlib, result = (given[name] for name in names)\n"
        "assert given['--device'] == 'cpu' and given['--last'] == '1'\n"
        f"sys.argv = ['', onnx, vnnlib, given['--timeout'], result]\n"
        f"runpy.run_path({str(HERE / 'exact_verifier.py')!r}, run_name='__main__')\n"
    )
    network = Network((linear_layer(np.array([[1.0], [-1.0]]), np.zeros(2)),), (1,))
    path, x = write_onnx(network, tmp_path / "n.onnx"), np.array([0.5])
    verifier = ExternalVerifier(f"{name}={script} --last 1")
    assert verifier.name == name

    def ask(radius: float) -> Proved | Refuted | Unknown:
        box = box_property(x, 0, radius, 2, low=-1.0, high=1.0)
        return run_verifier(verifier, path, box, 60.0, network.label)

    assert ask(0.4) == Proved(name)
    assert isinstance(ask(0.6), Refuted)


def test_a_prover_that_is_not_installed_is_refused_with_the_way_out() -> None:
    refused("abcrown=PATH", ExternalVerifier, "abcrown")
