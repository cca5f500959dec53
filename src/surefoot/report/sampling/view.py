"""The view of a study that sampled: failure probabilities, decisions, or extrapolated tails."""

from __future__ import annotations

import shlex

from surefoot.claims import About, Claim
from surefoot.report.attack.view import baseline_table, no_gradient_cautions
from surefoot.report.claim_parts import may_continue
from surefoot.report.figures import class_intervals, local_results, tails
from surefoot.report.formatting import confidence, ended, percent
from surefoot.report.provenance import about_run, findings_section, odd_findings, provenance
from surefoot.report.tables import (
    by_itself,
    class_table,
    contrast_table,
    example_table,
    fails_under,
    verdict_table,
)
from surefoot.report.view import Card, Figure, LabelledImage, Section, View
from surefoot.results import (
    Decision,
    Estimate,
    ExtrapolatedMean,
    Extrapolation,
    InputResult,
    Undecided,
)
from surefoot.store.records import Example, Record, Samples

SIL = {"SIL 1": 1e-1, "SIL 2": 1e-2, "SIL 3": 1e-3, "SIL 4": 1e-4}
"""Probability of failure on demand, IEC 61508, low demand."""


def view(
    record: Record, found: Samples, verdicts: tuple[Claim, ...], command: str, store: str
) -> View:
    """The headline is about these inputs; the population comes next."""
    plain = [c for c in record.claims if c.about.of is not About.CLASS and c.verdict is None]
    decided = tuple(c for c in record.claims if c.verdict is not None and not verdicts)
    head, rest = tuple(plain[:1]), tuple(plain[1:])
    asked = tuple(
        c for c in (*decided, *verdicts) if not (c.about.of is About.CLASS and c.about.name)
    )
    return View(
        title=record.spec["words"]["source"],
        headline=head,
        about=about_run(record),
        cautions=(
            *odd_findings(record),
            *_contradictions(record),
            *no_gradient_cautions({"": found.attack}),
        ),
        claims=rest,
        continuing=may_continue(record.claims),
        verdicts=asked,
        facts=tuple(_facts(record, found)),
        assumptions=_assumptions(record, found),
        sections=_sections(record, found, verdicts, store),
        command=command or repeat_command(record),
        provenance=(("", tuple(provenance(record))),),
    )


def repeat_command(record: Record) -> str:
    """What to type to repeat the whole run, if it came from the command line."""
    return "" if record.source is None else str(record.source.options.get("command", ""))


def _contradictions(record: Record) -> list[str]:
    wrong = [
        r for r in record.inputs if isinstance(r.result, Extrapolation) and r.result.contradicted
    ]
    if not wrong:
        return []
    named = ", ".join(row.id for row in wrong[:3]) + (", …" if len(wrong) > 3 else "")
    return [
        f"Look: for {len(wrong):,} inputs ({named}) the extrapolation contradicts the count of the "
        "same trials: do not believe it there."
    ]


def _assumptions(record: Record, found: Samples) -> tuple[str, ...]:
    """What all claims rest on beside what their own sentences say."""
    lines = [
        "Trials are independent draws of the stated perturbation: "
        + record.spec["words"]["perturbation"]
        + "."
    ]
    if isinstance(found.whole, ExtrapolatedMean):
        lines.append(
            "Extrapolated numbers assume scores that are normal, after the transform named, far "
            "beyond what was observed; a test of normality cannot show that."
        )
    lines.append(
        "Perturbations here are random; an adversary who searches for a bad one is another "
        "question."
    )
    return tuple(lines)


def _facts(record: Record, found: Samples) -> list[str]:
    """What else the run showed; counts, not claims."""
    method, lines = record.spec["method"], []
    if "width" in method:
        lines.append(
            f"Each input has an interval of its own, ± {method['width']:g} around its estimate or "
            f"narrower (confidence {confidence(method['error'])}, each input by itself)."
        )
    decided = [r.result for r in record.inputs if isinstance(r.result, Decision)]
    if "kappa" in method:
        robust, n = sum(d.holds for d in decided), len(record.inputs)
        lines.append(
            f"{robust:,} of {n:,} inputs were decided to be below the limit, "
            f"{len(decided) - robust:,} above, {n - len(decided):,} stayed undecided "
            f"(confidence {confidence(method['error'])}, each input by itself)."
        )
        lines += [
            f"A failure probability of {limit:g} is numerically the {level} low-demand limit of "
            "IEC 61508; this is a statement about a number, not a certification."
            for level, limit in SIL.items()
            if limit == method["kappa"]
        ]
    elif isinstance(found.whole, ExtrapolatedMean):
        lines += _tail_facts(record, found.whole)
    else:
        steady = sum(isinstance(r.result, Estimate) and r.result.value == 1 for r in record.inputs)
        lines.append(f"{steady:,} of {len(record.inputs):,} inputs failed in no trial.")
    labelled = [row for row in record.inputs if row.label is not None]
    if labelled:
        right = sum(row.label == row.predicted for row in labelled)
        lines.append(f"Clean, {right:,} of {len(labelled):,} inputs get their true label.")
    lines.append(f"{record.trials:,} trials on {len(record.inputs):,} inputs.")
    if record.extends:
        lines.append(f"These inputs add to those of run {record.extends[:12]}, which are kept.")
    return lines


def _tail_facts(record: Record, whole: ExtrapolatedMean) -> list[str]:
    spread = "" if whole.variance is None else f", with variance {whole.variance:.3g}"
    lines = [
        f"A normal distribution fitted the scores of {whole.fitted:,} of {whole.inputs:,} inputs "
        f"(completeness {percent(whole.completeness)}); the extrapolated average is over these "
        f"alone{spread}."
    ]
    failed = [row for row in record.inputs if isinstance(row.result, Undecided)]
    if failed and isinstance(failed[0].result, Undecided):
        lines.append(f"Not fitted, for example {failed[0].id}: {ended(failed[0].result.reason)}")
    return lines


def _sections(
    record: Record, found: Samples, verdicts: tuple[Claim, ...], store: str
) -> tuple[Section, ...]:
    figures = [Figure(local_results(record), id="histogram")]
    if isinstance(found.whole, ExtrapolatedMean):
        caption = (
            "Line: what the count of the trials leaves possible. Dot: what the fitted normal "
            "distribution says. Values below 1e-12 are drawn there."
        )
        figures.append(Figure(tails(record), caption, "tails"))
    sections = [Section("distribution", "How often each input fails", figures=tuple(figures))]
    if found.attack is not None:
        table = baseline_table(record, found)
        sections.append(Section("baseline", table.title, table=table))
    if found.classes:
        caption = "Dot: over the inputs studied. Line: interval for the class's population."
        if isinstance(found.whole, ExtrapolatedMean):
            caption += " Diamond: the extrapolated average."
        figure = Figure(class_intervals(record, found), caption, "class-figure")
        table = class_table(record, found)
        sections.append(Section("classes", table.title, figures=(figure,), table=table))
    if each := [c for c in verdicts if c.about.of is About.CLASS and c.about.name]:
        asked = verdict_table(each)
        sections.append(Section("required", asked.title, table=asked))
    if (differ := contrast_table(record, found)) is not None:
        sections.append(Section("differ", differ.title, table=differ))
    sections.append(_weakest(record, found, store))
    sections.append(findings_section(record))
    return tuple(sections)


def _weakest(record: Record, found: Samples, store: str) -> Section:
    """On the page as cards, on the terminal as a table."""
    own = {row.id: row.result for row in record.inputs}
    cards = tuple(_card(record, e, own[e.id], store) for e in found.examples)
    if not cards:
        return Section("weakest", "Where it is weakest", ("No input failed in any trial.",))
    screen = example_table(record, found)
    return Section(
        "weakest", "Where it is weakest", (by_itself(record),), cards=cards, screen=screen
    )


def _card(record: Record, e: Example, result: InputResult, store: str) -> Card:
    true = f"; true class {e.true_class}" if e.true_class else ""
    images = (
        LabelledImage(e.image, "clean", "clean: ", e.clean_class),
        LabelledImage(e.perturbed, "perturbed", f"trial {e.trial}: ", e.failed_class, failed=True),
    )
    words = f"clean: {e.clean_class}; trial {e.trial}: {e.failed_class}"
    return Card(
        title=f"{e.id} fails under {fails_under(record, result)}{true}",
        words="" if e.image else words,
        images=images if e.image else (),
        changes=e.changes,
        command=replay_command(record, e.id, e.trial, store),
    )


def replay_command(record: Record, subject: str, trial: int, store: str) -> str:
    """What to type to see that trial again."""
    if record.source is None:
        return f"study.replay({subject!r}, {trial})"
    where, name, run = shlex.quote(store), shlex.quote(subject), record.digest[:12]
    if subject.startswith("-"):
        return f"surefoot replay --store {where} -- {run} {name} {trial}"
    return f"surefoot replay {run} {name} {trial} --store {where}"
