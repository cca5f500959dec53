"""The weakest inputs of a study that sampled: cards of a page, and commands that run them again."""

from __future__ import annotations

import shlex
from dataclasses import replace

from surefoot.core.results import InputResult
from surefoot.records.record import Example, Record, Samples, named_code
from surefoot.report.clean_faults import clean_faults_note
from surefoot.report.formatting import of_perturbations
from surefoot.report.sampling.few_trials import FAILED_ONCE, is_count
from surefoot.report.sampling.tables import (
    example_table,
    fails_under,
    shows_texts,
    single_input_note,
)
from surefoot.report.view import Card, LabelledImage, Section


def weakest_section(record: Record, samples: Samples, store: str) -> Section:
    """On the page as cards, on the terminal as a table."""
    results = {row.id: row.result for row in record.inputs}
    cards = tuple(_card(record, e, results[e.id], store) for e in samples.examples)
    wrong = clean_faults_note(record)
    if not cards:
        others = "No input that is right when clean" if wrong else "No input"
        lines = (f"{others} {_no_failure(record)}", *filter(None, [wrong]))
        return Section("weakest", "Weakest inputs", lines)
    said = [fails_under(record, results[e.id]) for e in samples.examples]
    counted = all(map(is_count, said))
    once = all(words == FAILED_ONCE for words in said)
    title = "Inputs that failed" if counted else "Weakest inputs"
    title = "Inputs that failed in their only trial" if once else title
    lines = tuple(filter(None, ["" if counted else single_input_note(record), wrong]))
    table = replace(example_table(record, samples), title=title, note=" ".join(lines))
    return Section("weakest", title, lines, cards=cards, terminal_table=table)


def _no_failure(record: Record) -> str:
    """A decision ends before it has counted all failures: it says no more than it decided."""
    kappa = record.study.method.number("kappa")
    if kappa is None:
        return "failed in any trial."
    return f"was decided to fail under more than {of_perturbations(kappa)}."


def _card(record: Record, e: Example, result: InputResult, store: str) -> Card:
    what = "class" if record.study.model.classes else "output"
    true_class = f"; true {what} {e.true_class}" if e.true_class else ""
    images = (
        LabelledImage(e.image, f"{e.id}, clean", "clean: ", e.clean_class),
        LabelledImage(
            e.perturbed,
            f"{e.id}, perturbed in trial {e.trial}",
            f"trial {e.trial}: ",
            e.failed_class,
            failed=True,
        ),
    )
    labels = f"clean: {e.clean_class}; trial {e.trial}: {e.failed_class}"
    fails = fails_under(record, result)
    fails = fails if is_count(fails) else f"fails under {fails}"
    return Card(
        title=f"{e.id} {fails}{true_class}",
        text="" if e.image else labels,
        images=images if e.image else (),
        changes=e.changes,
        texts=(("before", e.before), ("after", e.after)) if shows_texts(e) else (),
        command=replay_command(record, e.id, e.trial, store),
    )


def replay_command(record: Record, subject: str, trial: int, store: str) -> str:
    """The command that runs this trial again."""
    if record.source is None:
        return f"study.replay({subject!r}, {trial})"
    where, name, run = shlex.quote(store), shlex.quote(subject), record.digest[:12]
    trust = " --trust" if named_code(record.source) else ""
    if subject.startswith("-"):
        return f"surefoot replay --store {where}{trust} -- {run} {name} {trial}"
    return f"surefoot replay {run} {name} {trial} --store {where}{trust}"
