"""Tables of inputs, classes and pairs of classes, and examples of inputs that fail."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from statistics import median

from surefoot.core.claims import About
from surefoot.core.results import Bracket, Certificate, Decision, Estimate, InputResult, Interval
from surefoot.records.input_table import tried_rows
from surefoot.records.record import ClassRow, Example, Record, Samples, named_code
from surefoot.report import formatting, tables
from surefoot.report.clauses import capitalised, class_word, confidence_clause, fails, in_kept
from surefoot.report.tables import Table, clean_faults_note
from surefoot.report.view import Card, LabelledImage, Section
from surefoot.subject.items import TERMINAL_WIDTH, shortened_pair

_FEW = 10
"""Trials of one input below which its interval says little: 0.06 % to 58.5 % after one failure in
nine (confidence 99 %)."""
FAILED_ONCE = "failed in its only trial"


def counted_of(result: InputResult) -> Estimate | None:
    """The estimate from an input's own trials, with its guarantee."""
    if isinstance(result, Bracket | Certificate):
        return None
    return result if isinstance(result, Estimate) else result.counted


def is_from_few(estimate: Estimate, fewer_than: float = _FEW) -> bool:
    """Whether so few trials were counted that they say next to nothing of how often it fails."""
    whole_count = estimate.unbiased_from in (None, estimate.trials)
    return estimate.trials < fewer_than and estimate.guarantee.error > 0 and whole_count


def count_words(estimate: Estimate) -> str:
    """In how many of its trials an input failed."""
    if estimate.from_one_trial and estimate.value < 1:
        return FAILED_ONCE
    failed = round((1 - estimate.value) * estimate.trials)
    return f"failed in {failed:,} of its {estimate.trials:,} trials"


def is_count(words: str) -> bool:
    """Whether words on an input are such a count."""
    return words.startswith("failed in ")


def tried_estimates(record: Record) -> list[Estimate]:
    """What was counted of each input that had a trial."""
    every = (counted_of(row.result) for row in tried_rows(record.inputs))
    return [one for one in every if one is not None and one.trials]


def few_trials_words(record: Record) -> str:
    """How many trials inputs had and what these cannot say; empty where most had enough."""
    if record.study.method.number("kappa") is not None:
        return ""
    tried = tried_estimates(record)
    if not tried or 2 * sum(map(is_from_few, tried)) <= len(tried):
        return ""
    least, most = min(one.trials for one in tried), max(one.trials for one in tried)
    without = len(record.inputs) - len(tried)
    each = f"of {len(tried):,} inputs, none of {without:,}" if without else "of each input"
    if least == most == 1:
        return f"One trial {each}: it says nothing of how often a single input fails."
    typical = f"{median(one.trials for one in tried):g}"
    between = f"{least:,}" if least == most else f"{least:,} to {most:,} (median {typical})"
    return f"{between} trials {each}: too few to say how often a single input fails."


def count_inputs(record: Record) -> dict[str, int]:
    """How many inputs failed in no trial, and how many in at least one."""
    tried = tried_estimates(record)
    never = sum(one.value == 1 for one in tried)
    if all(one.trials == 1 for one in tried):
        return {"kept in its trial": never, "failed in its trial": len(tried) - never}
    return {"failed in no trial": never, "failed at least once": len(tried) - never}


_CONTRAST_ROWS = 12


def class_table(record: Record, samples: Samples) -> Table:
    """What is claimed of each class, all together; the weakest first."""
    claims = {c.about.name: in_kept(c) for c in record.claims if c.about.of is About.CLASS}
    together = next((confidence_clause(c) for c in claims.values() if c.interval is not None), "")
    note = f"{capitalised(together)}." if together else ""
    robust, word = tables.counts_kept(record), class_word(*claims.values())

    def weakness(row: ClassRow) -> float:
        """Small for a class that fails often; classes without a value come last."""
        value = claims[row.name].value if row.name in claims else None
        return 2.0 if value is None else value if robust else -value

    classes = sorted(samples.classes, key=weakness)
    own: Sequence[str] = (tables.quantity_heading(record), tables.OF_POPULATION)
    rows: list[tuple[str, ...]]
    rows = [(r.name, _size(r), *tables.claim_cells(claims.get(r.name))) for r in classes]
    if record.study.is_tail:
        rows = [(r.name, _size(r), *tables.tail_cells(record, r.result)) for r in classes]
        own = (*tables.TAIL_HEADINGS[:-1], f"{tables.TAIL_HEADINGS[-1]}, for the population")
    return Table(f"Results by {word}", (word, "inputs", *own), tuple(rows), note=note)


def _size(row: ClassRow) -> str:
    """How many inputs, and in how many groups where groups were sampled."""
    groups = "1 group" if row.groups == 1 else f"{row.groups:,} groups"
    return f"{row.inputs:,} in {groups}" if row.groups else f"{row.inputs:,}"


def contrast_table(record: Record, samples: Samples) -> Table | None:
    """Which classes differ; pairs in the order of their p-values."""
    if not samples.contrasts:
        return None
    ordered = sorted(samples.contrasts, key=lambda c: (c.permutation, -abs(c.difference)))
    note = (
        "p-values are adjusted for all pairs (Holm). The permutation test is exact where two "
        "classes have the same distribution of values; Welch's t-test is approximate and left "
        "blank below ten values. A binomial test of all trials is not made: trials of the same "
        "input are no sample of its class."
    )
    kept = tables.counts_kept(record)
    rows = []
    for c in ordered[:_CONTRAST_ROWS]:
        apart = formatting.points(c.difference if kept else -c.difference)
        p, welch = formatting.p_value(c.permutation), c.welch
        rows.append(
            (c.first, c.second, apart, p, "" if welch is None else formatting.p_value(welch))
        )
    word = class_word(*record.claims)
    difference = f"{tables.quantity_heading(record)}, difference" if kept else "fails more"
    headings = (word, f"and {word}", f"{difference} (points)", "permutation p", "Welch p")
    return Table(f"Do {word}es differ?", headings, tuple(rows), 2, note, page_only=True)


def failing_words(record: Record) -> str:
    """What an input does where it fails: is wrong, changes its label, or fails."""
    return fails(record.claims[0])[0]


def fails_under(record: Record, result: InputResult, fewer_than: float = _FEW) -> str:
    """Under how many perturbations an input fails: as decided, or between its bounds.

    Where inputs had few trials, in how many it failed: their intervals say next to nothing.
    """
    kappa = record.study.method.number("kappa")
    if isinstance(result, Decision) and kappa is not None:
        return f"{'at most' if result.holds else 'more than'} {formatting.of_perturbations(kappa)}"
    estimate = counted_of(result)
    if estimate is None:
        return "undecided"
    if is_from_few(estimate, fewer_than):
        return count_words(estimate)
    around = Interval(1 - estimate.interval.high, 1 - estimate.interval.low)
    return f"{formatting.percent_range(around)} of the perturbations"


def _example_table(
    record: Record, samples: Samples, often_failed: Sequence[str], title: str, note: str
) -> Table:
    """The weakest inputs, with their true classes or outputs where these are known."""
    texts = any(map(shows_texts, samples.examples))
    truth = "true class" if record.study.model.classes else "true output"
    often = "how often" if any(map(is_count, often_failed)) else f"{failing_words(record)} under"
    labelled = any(e.true_class for e in samples.examples)
    true, shown = (truth,) * labelled, ("before", "after") * texts
    headings = ("input", often, *true, "clean", "perturbed", "in trial", *shown)
    rows = []
    for e, words in zip(samples.examples, often_failed, strict=True):
        own = shortened_pair(e.before, e.after, TERMINAL_WIDTH) * texts
        classes = (*((e.true_class,) * labelled), e.clean_class, e.failed_class)
        rows.append((e.id, words, *classes, f"{e.trial}", *own))
    return Table(title, headings, tuple(rows), len(headings), note)


def shows_texts(e: Example) -> bool:
    """Whether an example is shown in words: a text, bytes, or another item."""
    return bool(e.before or e.after)


def single_input_note(record: Record) -> str:
    """With which confidence the intervals of single inputs hold."""
    known = (counted_of(row.result) for row in tried_rows(record.inputs))
    errors = {one.guarantee.error for one in known if one}
    if not errors:
        return ""
    if max(errors) == 0:
        return "Nothing is random here: each input has one answer."
    certain = formatting.confidence(max(errors))
    return f"Confidence {certain} for each input by itself, not for all together."


def weakest_section(record: Record, samples: Samples, store: str) -> Section:
    """On the page as cards, on the terminal as a table."""
    results = {row.id: row.result for row in tried_rows(record.inputs)}
    # where the figure counts, because most inputs had few trials, all are counted
    fewer_than = math.inf if few_trials_words(record) else _FEW
    said = [fails_under(record, results[e.id], fewer_than) for e in samples.examples]
    pairs = zip(samples.examples, said, strict=True)
    cards = tuple(_card(record, e, words, store) for e, words in pairs)
    wrong = clean_faults_note(record)
    if not cards:
        others = "No input that is right when clean" if wrong else "No input"
        # a decision ends before it has counted all failures: it says no more than it decided
        kappa = record.study.method.number("kappa")
        failed = "failed in any trial."
        if kappa is not None:
            limit = formatting.of_perturbations(kappa)
            failed = f"was decided to be one that {failing_words(record)} under more than {limit}."
        lines = (f"{others} {failed}", *filter(None, [wrong]))
        return Section("weakest", "Weakest inputs", lines)
    counted = all(map(is_count, said))
    once = all(words == FAILED_ONCE for words in said)
    title = "Inputs that failed" if counted else "Weakest inputs"
    title = "Inputs that failed in their only trial" if once else title
    lines = tuple(filter(None, ["" if counted else single_input_note(record), wrong]))
    table = _example_table(record, samples, said, title, " ".join(lines))
    return Section("weakest", title, lines, cards=cards, terminal_table=table)


def _card(record: Record, e: Example, often: str, store: str) -> Card:
    what = "class" if record.study.model.classes else "output"
    true_class = f"; true {what} {e.true_class}" if e.true_class else ""
    often = often if is_count(often) else f"{failing_words(record)} under {often}"
    title, command = f"{e.id} {often}{true_class}", replay_command(record, e.id, e.trial, store)
    return example_card(e, title, f"perturbed in trial {e.trial}", f"trial {e.trial}", command)


def example_card(e: Example, title: str, how: str, found: str, command: str) -> Card:
    """An input before and after: as images, or else in words; `how` it failed, where `found`."""
    failed = LabelledImage(e.perturbed, f"{e.id}, {how}", f"{found}: ", e.failed_class, failed=True)
    clean = LabelledImage(e.image, f"{e.id}, clean", "clean: ", e.clean_class)
    return Card(
        title=title,
        text="" if e.image else f"clean: {e.clean_class}; {found}: {e.failed_class}",
        images=(clean, failed) if e.image else (),
        changes=e.changes,
        texts=(e.before, e.after) if shows_texts(e) else (),
        command=command,
    )


def replay_command(record: Record, subject: str, trial: int | str, store: str) -> str:
    """The command that runs this trial again."""
    if record.source is None:
        return f"study.replay({subject!r}, {trial})"
    where, name, run = shlex.quote(store), shlex.quote(subject), record.digest[:12]
    trust = " --trust" if named_code(record.source) else ""
    if subject.startswith("-"):
        return f"surefoot replay --store {where}{trust} -- {run} {name} {trial}"
    return f"surefoot replay {run} {name} {trial} --store {where}{trust}"
