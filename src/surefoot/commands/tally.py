"""`tally` and `brackets`: statistics for what other tools measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from surefoot.commands import options as o
from surefoot.commands import values as v
from surefoot.commands.caller import Caller
from surefoot.commands.critical import RadiusOptions, RadiusOutcome
from surefoot.errors import InvalidArgument
from surefoot.records.options import Option, option, refused, refused_value, same_option

if TYPE_CHECKING:
    from surefoot.inputs.outcomes.rows import Meaning
    from surefoot.study import Result


@dataclass(frozen=True)
class TallyOptions:
    """What the columns mean, what is required of the cases, and what is written."""

    case: str | None = option(
        None, "Column that names the case; none: every row is a case of its own.", common=True
    )
    outcome: str | None = option(
        None, "Column, metric or scorer of the outcome: passed, acc, match.", common=True
    )
    one_means: str | None = option(
        None,
        "What a 1 is in a column whose name does not say it: pass or fail.",
        metavar="pass|fail",
    )
    means: str | Mapping[str, str] | None = option(
        None, "What words mean, pass, fail or skip: refused=fail,answered=pass."
    )
    passes_at: v.Number | None = option(
        None, "Scores from this number on pass, those below it fail: 0.5.", common=True
    )
    fails_at: v.Number | None = option(
        None, "Scores from this number on fail, those below it pass: 0.2."
    )
    by: str | None = option(None, "Also a claim about each class in this column.", common=True)
    group: str | None = option(
        None,
        "Column that names the group of each case, such as a patient. Then groups are the sample.",
        common=True,
    )
    reruns: str | None = option(
        None,
        "Which attempts count of cases that were run again since they failed; without it the "
        "first, where the outcomes show it.",
        metavar="first|last|all",
    )
    confidence: v.Number = option(o.CONFIDENCE, "Confidence of the result.")
    require: v.Number | None = option(
        None, "Require that at least this share of such cases pass: 0.95.", common=True
    )
    require_each: v.ClassShares | None = option(
        None, "Require the same of every class: 0.9; or of the classes named: maths=0.9,law=0.8."
    )
    not_worse: v.Number | None = option(
        None,
        "Require that cases of the first file fail at most this much more often than those of each "
        "other: 0.02.",
        common=True,
    )
    figure: str | Path | None = option(
        None, "Write the figure here: tally.svg, .png, .pdf or .json."
    )
    report: str | Path | None = same_option(o.RunOptions, "report")


@dataclass(frozen=True)
class BracketsOptions:
    """Which rows of a file of brackets are read, which quantile is claimed, what is written."""

    networks: str | None = option(
        None, "Only these networks, comma-separated, in this order.", common=True
    )
    split: str | None = option(None, "Only rows of this split: test.")
    source: str | None = option(
        None, "Only rows of these sources: fairness,fomlas; of each network, of the first it has."
    )
    quantile: v.Number = same_option(RadiusOptions, "quantile")
    confidence: v.Number = same_option(RadiusOptions, "confidence")
    at: v.Numbers | None = same_option(RadiusOutcome, "at")
    by: str | None = option(
        None, "Also a quantile of each split, label or training (columns of the file).", common=True
    )
    ceiling: v.Number | None = option(
        None, "The largest radius that counts, for the mean of the population: 0.4."
    )
    estimator: str = same_option(RadiusOutcome, "estimator")
    gamma: v.Number | None = same_option(RadiusOutcome, "gamma")
    require: v.Number | None = same_option(RadiusOutcome, "require")
    figure: str | Path | None = same_option(RadiusOutcome, "figure")
    report: str | Path | None = same_option(o.RunOptions, "report")


def tally(*files: str | Path, options: TallyOptions) -> Result:
    """How often cases fail in a test that was run elsewhere, and how certain that is.

    `files`: one file of outcomes, or several of the same cases, which are compared case by case:
    CSV, samples of lm-evaluation-harness (.jsonl), logs of Inspect (.json, .eval), JUnit's XML.
    Several trials of a case are one value of the sample. The options are those of `surefoot tally`.

    Example: sf.tally("outcomes.csv", by="topic", require=0.9)
    """
    return run_tally(files, options=options, caller=Caller())


def run_tally(
    files: Annotated[
        Sequence[str | Path],
        Option(
            "results.csv, samples.jsonl (lm-evaluation-harness), log.json or .eval (Inspect), "
            "junit.xml. Several files of the same cases are compared.",
            metavar="OUTCOMES...",
            argument=True,
            repeats=True,
        ),
    ],
    *,
    options: TallyOptions,
    caller: Caller,
) -> Result:
    """The same; the result says which command repeats it."""
    from surefoot.inputs.outcomes.rows import RERUNS, ColumnNames
    from surefoot.study.external import tally_files

    v.check_distinct({"files": files, "figure": options.figure, "report": options.report})
    v.check_page_file("report", options.report)
    v.check_figure_file(options.figure)
    error = v.error_from(options.confidence)
    least = None if options.require is None else v.share("require", options.require)
    each = options.require_each
    least_of_each = None if each is None else v.class_shares("require_each", each)
    margin = None if options.not_worse is None else v.share("not_worse", options.not_worse)
    _check_number_of_files(len(files), options)
    if options.reruns not in (None, *RERUNS):
        raise refused_value("reruns", options.reruns, f"is none of {', '.join(RERUNS)}: choose one")
    columns = ColumnNames(
        options.case, options.outcome, options.group, options.by, _meaning(options), options.reruns
    )
    result = tally_files(files, columns, error)
    if margin is not None:
        result = result.require(not_worse=(next(iter(result.parts)), margin))
    elif least is not None or least_of_each is not None:
        result = result.require(least, of_each_class=least_of_each)
    running = o.RunOptions(report=options.report, store=None)
    return running.finish(result, caller.command, options.figure)


def run_brackets(
    path: Annotated[
        str,
        Option(
            "Brackets, one input per row; or VERONA's file.", metavar="RESULTS.csv", argument=True
        ),
    ],
    *,
    options: BracketsOptions,
    caller: Caller,
) -> Result:
    """Quantiles of the critical radii in a file, which the caller's command repeats."""
    from surefoot.study.external import brackets

    running = o.RunOptions(report=options.report)
    running.check()
    v.check_figure_file(options.figure)
    result = brackets(
        path,
        networks=tuple(options.networks.split(",")) if options.networks else (),
        split=options.split,
        source=options.source,
        quantile=v.share("quantile", options.quantile),
        error=v.error_from(options.confidence),
        at=() if options.at is None else v.as_numbers("at", options.at),
        by=options.by,
        ceiling=None if options.ceiling is None else v.as_number("ceiling", options.ceiling),
        estimator=options.estimator,
        gamma=None if options.gamma is None else v.as_number("gamma", options.gamma),
    )
    if options.require is not None:
        result = result.require(v.as_number("require", options.require))
    return running.finish(result, caller.command, options.figure)


def _meaning(options: TallyOptions) -> Meaning:
    """What the user says that values mean."""
    from surefoot.inputs.outcomes.rows import FAIL, MEANINGS, PASS, Cut, Meaning

    one_means, passes_at, fails_at = options.one_means, options.passes_at, options.fails_at
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
        cut = Cut(v.as_number("passes_at", passes_at), PASS)
    elif fails_at is not None:
        cut = Cut(v.as_number("fails_at", fails_at), FAIL)
    return Meaning(one_means, {} if options.means is None else _word_meanings(options.means), cut)


def _word_meanings(given: str | Mapping[str, str]) -> dict[str, str]:
    """By word: "refused=fail,answered=pass", or a mapping. Capitals make no difference."""
    from surefoot.inputs.outcomes.rows import WORD_MEANINGS

    if isinstance(given, Mapping):
        pairs = [(str(word), "=", str(meant)) for word, meant in given.items()]
    else:
        pairs = [part.rpartition("=") for part in str(given).split(",")]
    meanings: dict[str, str] = {}
    for word, meant in ((a.strip().lower(), b.strip().lower()) for a, _, b in pairs):
        if not word or meant not in WORD_MEANINGS or word in meanings:
            problem = "is there twice" if word in meanings else "is no word and its meaning"
            raise InvalidArgument(
                f"means (--means) {given}: {word}={meant} {problem}; write pairs with "
                f"{', '.join(WORD_MEANINGS)}, such as refused=fail,answered=pass"
            )
        meanings[word] = meant
    return meanings


def _check_number_of_files(files: int, options: TallyOptions) -> None:
    """Refuse options that are of one file alone, or of several."""
    if files == 0:
        raise InvalidArgument("tally needs a file of outcomes: give one, such as results.csv")
    if files == 1 and options.not_worse is not None:
        raise InvalidArgument(
            "not_worse (--not-worse) compares files of the same cases: give two, new.csv old.csv"
        )
    for name in ("by", "require", "require_each"):
        given = getattr(options, name)
        if files > 1 and given is not None:
            raise refused(
                name, given, "is about one file: leave it out, or tally each file by itself"
            )
