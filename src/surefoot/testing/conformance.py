"""What every model, perturbation, procedure, store and journal must do.

Each check says what to change where it fails.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass, replace
from itertools import cycle, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.core.counts import Counts, Severities
from surefoot.core.procedure import Procedure, Session
from surefoot.core.results import UNIT, Decision, Estimate, Interval, Result, Undecided
from surefoot.core.tasks import Entry, Subject, Task
from surefoot.engine.devices import draw_rows
from surefoot.engine.perturbation_checks import functions_of, parts_with
from surefoot.engine.streams import stream
from surefoot.errors import InvalidArgument
from surefoot.perturb._ops.arrays import level_of
from surefoot.perturb.own_function import InputFormat
from surefoot.records.record import AttackSummary, Record, Source
from surefoot.records.spec import InputsSpec, ModelSpec, PartSpec, SpecWords, StudySpec
from surefoot.statistics.planning import simulate
from surefoot.store import Journal, Store
from surefoot.subject.items import as_item_array, copy_item, same_item
from surefoot.subject.protocols import (
    Additive,
    Drawn,
    Level,
    Model,
    Perturbation,
    Scores,
    View,
    to_host,
)


def expect(holds: bool, otherwise: str) -> None:
    """Raise AssertionError with a sentence."""
    if not holds:
        raise AssertionError(otherwise)


def check_model(model: Model, x: NDArray[np.float32], tolerance: float = 1e-4) -> None:
    """`x` is a batch of at least four inputs in the model's shape.

    The model gives class scores, or values.
    """
    signature = model.signature
    expect(signature.scores is not Scores.OBJECTS, "objects are not compared by this suite")
    expect(x.shape[1:] == signature.shape, f"x has shape {x.shape[1:]}, not {signature.shape}")
    expect(len(x) >= 4, "the suite needs at least four inputs")
    expect(re.fullmatch(r"[0-9a-f]{64}", signature.digest) is not None, "the digest is no SHA-256")
    expect(bool(signature.covers), "the signature does not say what its digest covers")
    whole = _scores(model, x)
    columns = whole.shape[1] if not signature.classes and whole.ndim > 1 else signature.classes
    expect(whole.shape[:2] == (len(x), columns), f"scores have shape {whole.shape}")
    expect(whole.ndim == 2 or not signature.classes, f"scores have shape {whole.shape}")
    expect(bool(np.isfinite(whole).all()), "scores are not finite")
    if signature.scores is Scores.PROBABILITIES:
        expect(np.allclose(whole.sum(axis=1), 1, atol=1e-3), "probabilities do not add up to 1")
    again = _scores(model, x)
    first = to_host(model.predict(model.place(x.copy())))
    kept = first.copy()
    model.predict(model.place(x[::-1].copy()))
    expect(np.array_equal(first, kept), "predict overwrote its answer to the batch before")
    _same_scores(whole, again, tolerance, "the same batch scores differently twice")
    _same_scores(whole[::-1], _scores(model, x[::-1].copy()), tolerance, "row order changes scores")
    for size in (1, 3):
        pieces = [_scores(model, x[i : i + size]) for i in range(0, len(x), size)]
        _same_scores(
            whole, np.concatenate(pieces), tolerance, f"batches of {size} score differently"
        )


def _scores(model: Model, x: NDArray[np.float32]) -> NDArray[np.floating]:
    """Scores of a batch that the model must leave as it is, there and where it came from."""
    batch = x.copy()
    placed = model.place(batch)
    before = to_host(placed).copy()
    scores = to_host(model.predict(placed)).copy()
    expect(np.array_equal(to_host(placed), before), "predict changed its input")
    expect(np.array_equal(batch, x), "predict changed the array that was placed")
    return scores


def _same_scores(
    a: NDArray[np.floating], b: NDArray[np.floating], gap: float, otherwise: str
) -> None:
    worst = float(np.max(np.abs(a - b) / (1 + np.abs(a))))
    expect(worst <= gap, f"{otherwise}: by {worst:.2g}, allowed {gap:g}")


_MOST_QUESTIONS = 10_000
"""Questions after which a procedure is taken to ask without end; real ones ask a few hundred."""
AnyProcedure = Procedure[int, Counts, Any]


def check_procedure(procedure: AnyProcedure) -> None:
    """Frozen, restartable, asks whole positive numbers, and ends with a result that adds up."""
    expect(is_dataclass(procedure), "a procedure is a frozen dataclass")
    expect(procedure.__hash__ is not None, "a procedure is frozen, so it can be hashed")
    for p in (0.0, 1.0, 0.5, 0.97, 0.001):
        first, questions = run(procedure, p, seed=1)
        second, questions_again = run(procedure, p, seed=1)
        expect(first == second, f"two runs on the same answers differ at p = {p}")
        expect(
            questions == questions_again, f"two runs on the same answers ask differently at p = {p}"
        )
        expect(
            first.trials == sum(questions),
            f"the result claims {first.trials}, asked {sum(questions)}",
        )
        match first:
            case Estimate(value=value, interval=interval, guarantee=promise):
                expect(value in interval, f"{value} lies outside its own interval")
                expect(0 <= interval.low <= interval.high <= 1, "the interval leaves [0, 1]")
                expect(0 < promise.error < 1, f"the error is {promise.error}")
            case Decision(guarantee=promise):
                expect(0 < promise.error < 1, f"the error is {promise.error}")
            case Undecided(reason=reason):
                expect(bool(reason), "undecided without a reason")


def run(procedure: AnyProcedure, p: float, seed: int) -> tuple[Result, list[int]]:
    """One run on simulated trials that hold with probability p; its questions make sense."""
    result, questions = simulate(_Bounded(procedure), p, np.random.default_rng(seed))
    expect(all(isinstance(n, int) and n >= 1 for n in questions), f"asked for {questions} trials")
    return result, questions


@dataclass(frozen=True)
class _Bounded:
    """The procedure, stopped when it asks without end."""

    procedure: AnyProcedure

    def steps(self) -> Generator[int, Counts, Any]:
        """Pass questions and answers on."""
        steps = self.procedure.steps()
        try:
            n = next(steps)
            for _ in range(_MOST_QUESTIONS):
                n = steps.send((yield n))
        except StopIteration as stop:
            return stop.value
        raise AssertionError("asks without end")


def outcomes(
    procedure: AnyProcedure, p: float, drop: float = 0.0
) -> Iterator[tuple[float, Result]]:
    """Every way a run can end, with its probability. Answers rarer than `drop` are left out."""
    from scipy.stats import binom

    paths: list[tuple[float, tuple[int, ...]]] = [(1.0, ())]
    while paths:
        chance, path = paths.pop()
        session: Session[int, Counts, Any] = Session(procedure)
        for answer in path:
            session.tell(Counts(session.question or 0, answer))
        n = session.question
        if n is None:
            yield chance, session.result
            continue
        for kept, share in enumerate(binom.pmf(np.arange(n + 1), n, p)):
            if chance * share > drop:
                paths.append((chance * float(share), (*path, kept)))


def check_journal(reopen: Callable[[], Journal]) -> None:
    """`reopen` gives a journal of one and the same run, empty at first."""
    journal = reopen()
    expect(journal.replay() == {}, "a new journal is not empty")
    one, two = Subject("one", (0,)), Subject("két / 'two'", (1,))
    journal.append([(Task(one, 0.1, 0, 5), Counts(5, 4)), (Task(two, 0.1, 0, 3), Counts(3, 3))])
    journal.append([(Task(one, 0.1, 5, 9), Counts(4, 0)), (Task(one, 0.25, 0, 2), Counts(2, 1))])
    journal.append([(Task(two, 0.1, 3, 5), Severities((0.1, 1 / 3), 0.5))])
    expected = {
        "one": [
            Entry(0.1, 0, 5, Counts(5, 4)),
            Entry(0.1, 5, 9, Counts(4, 0)),
            Entry(0.25, 0, 2, Counts(2, 1)),
        ],
        "két / 'two'": [
            Entry(0.1, 0, 3, Counts(3, 3)),
            Entry(0.1, 3, 5, Severities((0.1, 1 / 3), 0.5)),
        ],
    }
    expect(journal.replay() == expected, "replay differs from what was appended")
    expect(reopen().replay() == expected, "what was appended is gone after reopening")


def check_store(reopen: Callable[[], Store]) -> None:
    """`reopen` opens one and the same store again, empty at first."""

    def journal() -> Journal:
        store = reopen()
        store.begin("one", example_spec(1), Source("m", "d", {"a": 1}), {"python": "3"})
        return store.journal("one")

    check_journal(journal)
    store = reopen()
    expect(store.stored("one") is None, "an unfinished run has a record")
    store.begin("two", example_spec(2), None, {})
    expect(store.journal("two").replay() == {}, "two runs share a journal")
    store.journal("two").append([(Task(Subject("s", (0,)), 0.1, 0, 2), Counts(2, 2))])
    nothing = AttackSummary(1, 1, 1, 1, 0.1, reason="none")
    record = Record("two", example_spec(2), (), (), nothing, (), trials=2)
    stored = store.finish(record)
    expect(replace(stored, started="", seconds=0.0) == record, "finishing changed the record")
    expect(bool(stored.started) and stored.seconds >= 0, "the store notes neither start nor time")
    expect(reopen().stored("two") == stored, "the record is gone, or changed, after reopening")
    expect(reopen().stored("one") is None, "finishing one run finished another")
    expect(len(reopen().journal("two").replay()) == 1, "finishing a run lost its journal")


def example_spec(seed: int) -> StudySpec:
    """A study that was never run."""
    return StudySpec(
        format=1,
        model=ModelSpec("m", "all of it", (2,), 2, "logits", ""),
        inputs=InputsSpec("i", (), (), 1, "all", (), ""),
        bounds=None,
        perturbation=PartSpec("linf", {"level": 0.1}),
        property=PartSpec("same", {}),
        method=PartSpec("attack", {"starts": 1}),
        population=None,
        by_class=False,
        seed=seed,
        generator="sfc64",
        block=1,
        words=SpecWords("noise", "keep the label", "d", "clean"),
    )


_ROWS = 16
_TINY = 1e-12
"""The level next to 0, as a share of the perturbation's own."""
_UNCHANGED, _UNCHANGED_BYTES = 1e-4, 1 / 256
"""Mean change that rounding explains: of single precision, and of 256 values a pixel."""
_SCALE = "scale the change with the level, such as x + level * u, and return the input at level 0"
_OWN_RANDOMNESS = "take every random number from rng, or from u, and keep nothing between calls"
_OWN_ROW = "compute row i from row i of x and of u alone, without sums or sorting over axis 0"


def check_perturbation(
    perturbation: Perturbation,
    shape: tuple[int, ...] | None = None,
    *,
    items: Sequence[Any] | None = None,
) -> None:
    """Raise where a perturbation breaks a rule: identity at level 0, no side effects, clipping, …

    Also: float32, the same result twice and in any batch, no global randomness, and a level for
    each row. `shape` is that of one row in the layout of its view: (channels, height, width) for
    images. `items`: a few inputs in place of a shape, for a function of texts, bytes or others.
    The error says which rule is broken and what to change.
    """
    _check_definition(perturbation)
    expect(
        (shape is None) != (items is None),
        "give the shape=(…) of one input, or items=[…], a few inputs as the data have them",
    )
    if items is not None:
        _check_items(perturbation, items)
        return
    x = np.random.default_rng(5).random((_ROWS, *(shape or ())), dtype=np.float32)
    before = x.copy()
    drawn = _drawn(perturbation, x, block=0)
    drawn_before = _copied(drawn)
    level = level_of(perturbation)
    identity = _apply(perturbation, x, drawn, 0.0, UNIT)
    expect(np.array_equal(identity, x), f"level 0 must return the input, value for value: {_SCALE}")
    expect(identity is not x, "apply must return a fresh array: return x.copy() at level 0")
    with _no_global_randomness():
        out = _apply(perturbation, x, drawn, level, UNIT)
    expect(np.array_equal(x, before), "apply changed its input: begin with x = x.copy()")
    expect(_same(drawn, drawn_before), "apply changed what was drawn: write u = u * 2, not u *= 2")
    expect(
        out.shape == x.shape and out.dtype == np.float32,
        f"apply must return float32 of shape {x.shape}, got {out.dtype} of shape {out.shape}: "
        "return as many values as it was given, with astype(np.float32)",
    )
    expect(
        bool(np.isfinite(out).all()),
        "apply returned NaN or infinite values: look for a division by 0 or a root below 0",
    )
    expect(bool((out >= 0).all() and (out <= 1).all()), "apply must clip to the bounds: np.clip")
    again = _drawn(perturbation, x, block=0)
    expect(_same(drawn, again), "the same stream must give the same draws: draw from it alone")
    repeated = _apply(perturbation, x, drawn, level, UNIT)
    expect(np.array_equal(repeated, out), f"the same draws give two results: {_OWN_RANDOMNESS}")
    _check_rows(perturbation, x, drawn, out)
    _check_near_zero(perturbation, x, drawn)
    additive: Additive | None = getattr(perturbation, "additive", None)
    if additive is not None:
        noisy = x + np.float32(level) * (drawn * additive.factor + additive.shift)
        expect(
            np.allclose(np.clip(noisy, 0, 1), out, atol=1e-6),
            "apply is not its additive noise: correct `additive`, or leave it out",
        )


def _check_definition(perturbation: Perturbation) -> None:
    expect(
        is_dataclass(perturbation) and perturbation.__hash__ is not None,
        "a perturbation is a frozen dataclass: write @dataclass(frozen=True), or use "
        "sf.perturb.custom",
    )
    expect(isinstance(perturbation.view, View), "its view must be a View, such as View.VALUES")
    level = level_of(perturbation)
    expect(
        level in perturbation.levels(None), "its own level is outside its levels: correct either"
    )
    expect(
        perturbation.levels(UNIT).low == 0, "its levels must begin at 0, the identity: correct them"
    )
    expect(
        "{level}" in perturbation.phrase,
        "its phrase must contain {level}, where the report writes the level: add it",
    )


def _check_rows(
    perturbation: Perturbation, x: NDArray[np.float32], drawn: Drawn, out: NDArray[np.float32]
) -> None:
    """A row is the same alone, in any batch and beside rows of other levels."""
    level = level_of(perturbation)
    for i in (0, _ROWS - 1):
        alone = _apply(perturbation, x[i : i + 1], draw_rows(drawn, i, i + 1), level, UNIT)
        expect(
            np.array_equal(alone[0], out[i]), f"a row depends on the rest of the batch: {_OWN_ROW}"
        )
    shared = _apply(perturbation, x[:1], drawn, level, UNIT)
    expect(
        shared.shape == x.shape,
        "one input must be accepted for many draws: return a row for each row of the draws",
    )
    expect(
        np.allclose(shared[0], out[0], atol=1e-5),
        f"one input for many draws changes a row: {_OWN_ROW}",
    )
    each = _apply(perturbation, x, drawn, np.full(_ROWS, level, np.float32), UNIT)
    expect(
        np.allclose(each, out, atol=2e-4),
        "the same level for each row gives another result than one level for all: let the level "
        "be a number or an array with one for each row",
    )
    levels = np.full(_ROWS, level, np.float32)
    levels[::2] = 0
    mixed = _apply(perturbation, x, drawn, levels, UNIT)
    expect(
        np.array_equal(mixed[::2], x[::2]), f"a row of level 0 must be returned as it is: {_SCALE}"
    )
    expect(
        np.array_equal(mixed[1::2], each[1::2]),
        f"a row depends on the levels of other rows: {_OWN_ROW}",
    )


def _check_near_zero(perturbation: Perturbation, x: NDArray[np.float32], drawn: Drawn) -> None:
    """A function of the user is not called at level 0; next to it, it must change nothing."""
    functions = functions_of(perturbation)
    if not functions or any(getattr(part, "only", ()) for part in functions):
        return
    formats = {getattr(part, "input_format", None) for part in functions}
    in_bytes = bool(formats & {InputFormat.BYTES, InputFormat.PILLOW})
    near = _apply(perturbation, x, drawn, _TINY * level_of(perturbation), UNIT)
    change = float(np.abs(near - x).mean())
    expect(
        change <= (_UNCHANGED_BYTES if in_bytes else _UNCHANGED),
        f"next to level 0 the function changes its input by {change:.2g} on average, so that a "
        f"curve would begin with a jump: {_SCALE}",
    )


def _check_items(perturbation: Perturbation, items: Sequence[Any]) -> None:
    """The same rules for a function of one item; an item of the same type comes back."""
    of_items = [*functions_of(perturbation), *parts_with(perturbation, "can_change")]
    expect(len(items) > 0, "items must hold at least one input: give a few as the data have them")
    expect(
        of_items != [] and all(getattr(part, "takes_items", False) for part in of_items),
        f"{perturbation.kind} is for arrays: give a function of (item, rng, level) to "
        "sf.perturb.custom",
    )
    x = as_item_array(list(islice(cycle(items), max(_ROWS, len(items)))))
    before = as_item_array([copy_item(item) for item in x])
    drawn = _drawn(perturbation, x, block=0)
    level = level_of(perturbation)
    identity = _apply(perturbation, x, drawn, 0.0, None)
    expect(_same_items(identity, before), f"level 0 must return every item as it is: {_SCALE}")
    with _no_global_randomness():
        out = _apply(perturbation, x, drawn, level, None)
    expect(_same_items(x, before), "the function changed the item it was given: copy it first")
    repeated = _apply(perturbation, x, drawn, level, None)
    expect(_same_items(repeated, out), f"the same rng gives two results: {_OWN_RANDOMNESS}")
    for i in (len(x) - 1, 0):
        alone = _apply(perturbation, x[i : i + 1], draw_rows(drawn, i, i + 1), level, None)
        expect(
            _same_items(alone, out[i : i + 1]),
            f"an item depends on the calls before it: {_OWN_RANDOMNESS}",
        )
    near = _apply(perturbation, x, drawn, _TINY * level, None)
    expect(
        _same_items(near, before),
        "next to level 0 the function changes an item, so that a curve would begin with a jump: "
        "let it change less as the level falls, and nothing at 0",
    )


def check_image_perturbation(perturbation: Perturbation) -> None:
    """`check_perturbation` on grey and colour images, odd sizes, one pixel and long edges.

    A perturbation of colours (`needs_channels`) meets colour images alone.
    """
    for shape in ((1, 8, 8), (3, 8, 8), (3, 9, 13), (1, 1, 1), (3, 1, 6), (3, 32, 32)):
        if getattr(perturbation, "needs_channels", shape[0]) == shape[0]:
            check_perturbation(perturbation, shape)


def _apply(
    perturbation: Perturbation, x: NDArray[Any], drawn: Drawn, level: Level, bounds: Interval | None
) -> NDArray[Any]:
    """What it returns; a refusal of the package is a broken rule here."""
    try:
        out: NDArray[Any] = perturbation.apply(x, drawn, level, bounds)
    except InvalidArgument as error:
        raise AssertionError(f"{error}: correct what the function returns or does") from error
    return out


@contextmanager
def _no_global_randomness() -> Iterator[None]:
    """Refuse a function that draws from the random numbers that all of a program share."""
    before = _global_state()
    yield
    expect(
        _global_state() == before,
        f"it uses global random numbers (np.random or random): {_OWN_RANDOMNESS}",
    )


def _global_state() -> tuple[object, ...]:
    """Where the random numbers of NumPy and of Python that a whole program shares are."""
    numpy_state: Any = np.random.get_state()  # noqa: NPY002  code of others draws from it
    return numpy_state[1].tobytes(), numpy_state[2:], random.getstate()


def _drawn(perturbation: Perturbation, x: NDArray[Any], block: int) -> Drawn:
    source = stream(3, "subject", perturbation.kind, block, x)
    return perturbation.draw(source, len(x), x.shape[1:])


def _copied(drawn: Drawn) -> Drawn:
    return tuple(map(_copied, drawn)) if isinstance(drawn, tuple) else drawn.copy()


def _same(a: Drawn, b: Drawn) -> bool:
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(np.array_equal(a, b))


def _same_items(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return len(a) == len(b) and all(map(same_item, a, b))
