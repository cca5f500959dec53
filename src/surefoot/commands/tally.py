"""`tally`: statistics for outcomes that were counted elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.commands.options import CONFIDENCE
from surefoot.commands.output_files import check_distinct, check_figure_file, check_page_file
from surefoot.commands.values import ClassShares, Number, as_number, class_shares, error_from, share
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.inputs.outcomes.rows import Meaning
    from surefoot.study import Result


def tally(
    *files: str | Path,
    case: str | None = None,
    outcome: str | None = None,
    one_means: str | None = None,
    means: str | Mapping[str, str] | None = None,
    passes_at: Number | None = None,
    fails_at: Number | None = None,
    by: str | None = None,
    group: str | None = None,
    confidence: Number = CONFIDENCE,
    require: Number | None = None,
    require_each: ClassShares | None = None,
    not_worse: Number | None = None,
    figure: str | Path | None = None,
    report: str | Path | None = None,
) -> Result:
    """How often cases fail in a test that was run elsewhere, and how certain that is.

    `files`: one file of outcomes, or several of the same cases, which are compared case by case:
    CSV, samples of lm-evaluation-harness (.jsonl), logs of Inspect (.json, .eval), JUnit's XML.
    Several trials of a case are one value of the sample. The options are those of `surefoot tally`.

    Example: sf.tally("outcomes.csv", by="topic", require=0.9)
    """
    from surefoot.inputs.outcomes.rows import ColumnNames
    from surefoot.study.external import tally_files

    check_distinct({"files": files, "figure": figure, "report": report})
    check_page_file("report", report)
    check_figure_file(figure)
    error = error_from(confidence)
    least = None if require is None else share("require", require)
    each = None if require_each is None else class_shares("require_each", require_each)
    margin = None if not_worse is None else share("not_worse", not_worse)
    _check_options(len(files), by, least, each, margin)
    meaning = _meaning(one_means, means, passes_at, fails_at)
    columns = ColumnNames(case, outcome, group, by, meaning)
    result = tally_files(files, columns, error)
    if margin is not None:
        result = result.require(not_worse=(next(iter(result.parts)), margin))
    elif least is not None or each is not None:
        result = result.require(least, of_each_class=each)
    if figure is not None:
        result.plot(figure)
    if report is not None:
        result.report(report)
    return result


def _meaning(
    one_means: str | None,
    means: str | Mapping[str, str] | None,
    passes_at: Number | None,
    fails_at: Number | None,
) -> Meaning:
    """What the user says that values mean."""
    from surefoot.inputs.outcomes.rows import FAIL, MEANINGS, PASS, Cut, Meaning

    if one_means is not None and one_means not in MEANINGS:
        raise InvalidArgument(
            f"one_means (--one-means) must be {' or '.join(MEANINGS)}, got {one_means!r}"
        )
    if sum(given is not None for given in (one_means, passes_at, fails_at)) > 1:
        raise InvalidArgument(
            "one_means (--one-means), passes_at (--passes-at) and fails_at (--fails-at) say the "
            "same of numbers: give one of them"
        )
    cut = None
    if passes_at is not None:
        cut = Cut(as_number("passes_at", passes_at), PASS)
    elif fails_at is not None:
        cut = Cut(as_number("fails_at", fails_at), FAIL)
    return Meaning(one_means, {} if means is None else _word_meanings(means), cut)


def _word_meanings(given: str | Mapping[str, str]) -> dict[str, str]:
    """By word: "refused=fail,answered=pass", or a mapping. Capitals make no difference."""
    from surefoot.inputs.outcomes.rows import WORD_MEANINGS

    pairs: list[tuple[str, str]] = []
    if isinstance(given, Mapping):
        pairs = [(str(word), str(meant)) for word, meant in given.items()]
    else:
        for part in str(given).split(","):
            word, _, meant = part.rpartition("=")
            pairs.append((word, meant))
    meanings: dict[str, str] = {}
    for word, meant in ((a.strip().lower(), b.strip().lower()) for a, b in pairs):
        if not word or meant not in WORD_MEANINGS or word in meanings:
            problem = "is there twice" if word in meanings else "is no word and its meaning"
            raise InvalidArgument(
                f"means (--means) {given}: {word}={meant} {problem}; write pairs with "
                f"{', '.join(WORD_MEANINGS)}, such as refused=fail,answered=pass"
            )
        meanings[word] = meant
    return meanings


def _check_options(
    files: int, by: str | None, least: object, each: object, margin: float | None
) -> None:
    """Refuse options that are of one file alone, or of several."""
    if files == 0:
        raise InvalidArgument("tally needs a file of outcomes: give one, such as results.csv")
    if files == 1 and margin is not None:
        raise InvalidArgument(
            "not_worse (--not-worse) compares files of the same cases: give two, new.csv old.csv"
        )
    for name, given in (("by", by), ("require", least), ("require-each", each)):
        if files > 1 and given is not None:
            raise InvalidArgument(
                f"{name.replace('-', '_')} (--{name}) is about one file: leave it out, or tally "
                "each file by itself"
            )
