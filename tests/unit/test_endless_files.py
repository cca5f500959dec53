"""Files that never end, or hold far more than they weigh, are one sentence."""

import math
import threading
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import surefoot as sf
from surefoot.errors import ModelFailed
from surefoot.evidence import within_limits
from surefoot.evidence.within_limits import OutOfTime, within
from surefoot.inputs import tables
from surefoot.models import call_limit
from tests.onnx_models import onnx_model
from tests.refusals import failed, refused


def endless_loop(path: Path, shape: tuple[int, ...] = (3,)) -> Path:
    """An ONNX file whose Loop has no number of iterations, and a condition that stays true."""
    go, v = ("cond", TensorProto.BOOL, []), ("v", TensorProto.FLOAT, None)
    copies = [helper.make_node("Identity", [n], [f"{n}_out"]) for n in ("cond", "v")]
    body = helper.make_graph(
        copies,
        "body",
        [helper.make_tensor_value_info(*one) for one in (("i", TensorProto.INT64, []), go, v)],
        [helper.make_tensor_value_info(f"{n}_out", *more) for n, *more in (go, v)],
    )
    flat = helper.make_node("Flatten", ["x"], ["flat"])
    loop = helper.make_node("Loop", ["", "go", "flat"], ["y"], body=body)
    ends = [("x", ["n", *shape])], [("y", ["n", math.prod(shape)])]
    onnx.save(onnx_model([flat, loop], *ends, {"go": True}), path)
    return path


def test_a_loop_without_exit_is_stopped(tmp_path: Path) -> None:
    path = endless_loop(tmp_path / "loop.onnx")
    failed(r"longer than 0.2 s.*--call-limit", sf.load_model, path, call_limit=0.2)
    with pytest.raises(ModelFailed, match=r"longer than 0.5 s"):
        sf.estimate(path, (np.zeros((4, 3)), [0] * 4), perturb="linf:0.1", call_limit="0.5s")


@pytest.mark.parametrize("limit", [0, -1, float("inf"), "soon"])
def test_a_limit_that_is_no_time_is_refused(limit: object, tmp_path: Path) -> None:
    said = refused(
        "call_limit", sf.estimate, tmp_path / "m.py", np.zeros((4, 3)), perturb="linf:0.1",
        call_limit=limit,
    )  # fmt: skip
    assert "above 0" in said


def test_a_call_that_cannot_be_stopped_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of the user waits for what only the end of the program brings."""
    import threading

    ended, said = threading.Event(), []

    def end(sentence: str) -> None:
        said.append(sentence)
        ended.set()

    def stuck(x: np.ndarray) -> np.ndarray:
        assert ended.wait()
        return np.stack([x[:, 0], 1 - x[:, 0]], axis=1)

    monkeypatch.setattr(call_limit._watch, "end", end)
    sf.load_model(stuck, shape=(3,), call_limit=0.1)
    monkeypatch.setattr(call_limit._watch, "seconds", call_limit.USUAL_SECONDS)
    assert said == [call_limit.late_words(0.1)]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_parquet_file_of_endless_equal_rows_is_refused_before_it_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    if library == "pandas":
        pytest.importorskip("pyarrow")
    frames, path = pytest.importorskip(library), tmp_path / "zeros.parquet"
    frame = frames.DataFrame({"a": np.zeros(2000), "label": np.zeros(2000, dtype=np.int64)})
    (frame.to_parquet if library == "pandas" else frame.write_parquet)(path)
    monkeypatch.setattr(tables, "_MOST_ROWS", 1999)
    monkeypatch.setattr(frames, "read_parquet", lambda _: pytest.fail("it was decoded"))
    if library == "polars":
        monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    refused(r"has 2,000 rows, more than 1,999", sf.load_inputs, path, "label")


SECONDS = 60
"""For a thread to get its turn, on a busy machine."""


def test_what_a_function_returns_or_raises_in_time_is_the_outcome():
    assert within(SECONDS, lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        within(SECONDS, lambda: 1 // 0)


def test_a_function_that_ends_while_it_is_being_stopped_has_its_outcome(monkeypatch):
    """The request to stop may come after the last line of the function."""
    go_on = threading.Event()

    def end(check):
        go_on.set()
        check.join(SECONDS)
        check.failures.append(within_limits._Stop())

    monkeypatch.setattr(within_limits, "_end", end)
    assert within(0.01, lambda: go_on.wait(SECONDS) and 7) == 7


@pytest.mark.parametrize("place", ["outcome", "failures"])
def test_a_thread_that_is_stopped_while_it_leaves_says_nothing_and_ends(place):
    """What it would say is a warning, and an error in this suite."""

    class Stopping(list):
        def append(self, value):
            super().append(value)
            check.stop()

    check = within_limits._Check(lambda: 7 if place == "outcome" else 1 // 0)
    setattr(check, place, Stopping())
    check.start()
    check.join(SECONDS)
    assert not check.is_alive()
    assert len(getattr(check, place)) == 1
    check.stop()  # nobody is there: nothing happens


def test_a_function_without_end_is_out_of_time_and_ended():
    ended = threading.Event()

    def endless():
        try:
            while True:
                pass
        finally:
            ended.set()

    with pytest.raises(OutOfTime):
        within(0.01, endless)
    assert ended.wait(SECONDS)


def test_a_check_is_ended_even_where_python_drops_the_first_request(capfd, monkeypatch):
    monkeypatch.setattr(within_limits, "_STOP_SECONDS", float(SECONDS))
    dropped = threading.Event()

    class Destroyed:
        def __del__(self):
            try:
                while True:
                    pass
            finally:
                dropped.set()

    def endless():
        Destroyed()
        while True:
            pass

    while not dropped.is_set():  # it may have to end before it gets there
        with pytest.raises(OutOfTime):
            within(0.05, endless)
    assert "Exception ignored" not in capfd.readouterr().err


def test_an_import_is_not_cut_short(tmp_path, monkeypatch):
    """The module asks for its own end while it is imported, and is whole."""
    (tmp_path / "asks_for_its_end.py").write_text(
        "import threading\nthreading.current_thread().stop()\nwhole = [0 for _ in range(100)]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    check = within_limits._Check(lambda: len(__import__("asks_for_its_end").whole))
    check.start()
    check.join(SECONDS)
    assert check.outcome == [100]
