"""The page of a study that samples at one level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from surefoot.core.claims import About, Claim, Randomness, ShareKappa, Verdict
from surefoot.core.results import Decision, Estimate, ExtrapolatedMean, Extrapolation, Undecided
from surefoot.population.precision import likely_width
from surefoot.records.input_table import clean_kinds, groups_of, tried_rows
from surefoot.records.options import PRECISION
from surefoot.records.record import Record, Samples
from surefoot.report import provenance
from surefoot.report.clauses import by_scope, class_word, continuation_note
from surefoot.report.formatting import confidence, percent, variance, with_full_stop
from surefoot.report.reasons import reason_words
from surefoot.report.tables import (
    Table,
    counts_kept,
    loss_cell,
    quantity_heading,
    ties_clause,
    verdict_table,
)
from surefoot.report.view import Caution, Figure, Section, View, table_sections
from surefoot.report.views import sampling_figures
from surefoot.report.views.attack import baseline_table, no_gradient_cautions
from surefoot.report.views.sampling_tables import (
    class_table,
    contrast_table,
    failing_words,
    few_trials_words,
    replay_command,
    tried_estimates,
    weakest_section,
)


def facts_of(record: Record, samples: Samples, verdicts: tuple[Claim, ...]) -> list[str]:
    """Further facts about the run; counts, not claims."""
    method, lines = record.study.method, []
    error = method.number("error") or 0.0
    if (width := method.number("width")) is not None:
        lines.append(
            f"Each input has an interval of its own, ± {width:g} around its estimate or narrower "
            f"(confidence {confidence(error)}, each input by itself)."
        )
    known_rows = tried_rows(record.inputs)
    decided = [r.result for r in known_rows if isinstance(r.result, Decision) and r.result.trials]
    every, tried = len(record.inputs), sum(row.result.trials > 0 for row in known_rows)
    untried = every - tried
    if record.study.promises_nothing:
        pass
    elif method.number("kappa") is not None:
        lines.append(
            f"Each of {len(decided):,} decisions is right with confidence {confidence(error)}, by "
            "itself."
        )
    elif isinstance(samples.whole, ExtrapolatedMean):
        lines += _tail_facts(record, samples.whole)
    else:
        known = tried_estimates(record)  # of the others nothing was counted
        kept = sum(one.value == 1 for one in known)
        which = " with an estimate" if len(known) < tried else " with a trial" if untried else ""
        if known:
            lines.append(f"{kept:,} of {len(known):,} inputs{which} failed in no trial.")
        if untried:
            lines.append(_untried_words(record, untried))
    kinds = clean_kinds(record.inputs)
    if labelled := sum(number for kind, number in kinds.items() if kind.labelled):
        right = sum(number for kind, number in kinds.items() if kind.same)
        lines.append(
            f"When clean, {right:,} of {labelled:,} inputs get their true label"
            f"{ties_clause(record)}."
        )
    if (other := samples.other_label) is not None:
        wanted = record.study.property.kind == "true"
        had = "keep their wrong label" if wanted else "get their true label"
        lines.append(
            f"The {other.inputs:,} inputs that are wrong when clean {had} in {other.had_it:,} of "
            f"their {other.trials:,} trials."
        )
    of_which = f"{tried:,} of {every:,}" if untried else f"{every:,}"
    lines.append(f"{record.trials:,} trials on {of_which} inputs.")
    lines += provenance.group_facts(record)
    if _groups_cross_classes(record):
        lines.append(
            "Nothing is said of classes: some groups have inputs of several classes, and which of "
            "these a group has here depends on the inputs that were drawn."
        )
    lines += provenance.rung_facts(record, verdicts)
    planned = 0 if record.study.population is None else int(record.study.population.anytime)
    if planned > 1:
        unit = "groups" if groups_of(record.inputs) else "inputs"
        lines.append(
            f"Planned for {planned:,} {unit}: the test of a requirement at that number has 0.7 of "
            "the error, looks at any other number have the rest. Another plan is another claim."
        )
    if record.extends:
        lines.append(
            f"The inputs of run {record.extends[:12]} are among these; its trials were reused."
        )
    return lines


def page_facts_of(samples: Samples) -> tuple[str, ...]:
    """Facts that a page has room for."""
    if samples.clean_loss is None:
        return ()
    return (
        f"Over these {samples.clean_loss.inputs:,} clean inputs the mean cross-entropy loss is "
        f"{loss_cell(samples.clean_loss)}; a loss has no upper bound, so that there is no "
        "interval for it.",
    )


def _untried_words(record: Record, untried: int) -> str:
    """How inputs without a trial are part of what is claimed."""
    every, none = len(record.inputs), f"{untried:,} of {len(record.inputs):,} inputs had no trial"
    if record.study.method.number("precision") is None:
        return f"{none}."
    if record.claims[0].about.of is About.POPULATION:
        return f"{none}: inputs are taken in random order until the mean is known."
    return (
        f"{none}: which inputs have a trial is drawn at random, so that the average is over all "
        f"{every:,}, and its interval accounts for the draw."
    )


def _groups_cross_classes(record: Record) -> bool:
    """Whether classes were wanted and some group has inputs of several."""
    classes: dict[str, set[int | None]] = {}
    for row in record.inputs if record.study.by_class else ():
        if row.group:
            label = row.predicted if row.label is None else row.label
            classes.setdefault(row.group, set()).add(label)
    return any(len(labels) > 1 for labels in classes.values())


def _tail_facts(record: Record, whole: ExtrapolatedMean) -> list[str]:
    spread = "" if whole.variance is None else f", with variance {variance(whole.variance)}"
    lines = [
        f"A normal distribution fitted the scores of {whole.fitted:,} of {whole.inputs:,} inputs "
        f"(completeness {percent(whole.completeness)}); the extrapolated average is over these "
        f"alone{spread}."
    ]
    failed = [row for row in record.inputs if isinstance(row.result, Undecided)]
    if failed and isinstance(failed[0].result, Undecided):
        why = with_full_stop(reason_words(failed[0].result.reason))
        lines.append(f"Not fitted, for example {failed[0].id}: {why}")
    return lines


def view(shown: provenance.Shown, samples: Samples) -> View:
    """The headline is about these inputs; the population comes next."""
    record, store, verdicts = shown.record, shown.store, shown.verdicts
    plain = [c for c in record.claims if c.about.of is not About.CLASS and c.verdict is None]
    overall, single = by_scope(verdicts)
    return shown.view_of_run(
        verdicts=overall,
        command=shown.command or ("" if record.source is None else record.source.command),
        headline=tuple(plain[:1]),
        warnings=(
            *provenance.preflight_cautions(record),
            *_missed_precision(record, verdicts),
            *_contradictions(record),
            *no_gradient_cautions({"": samples.attack}),
            *provenance.rung_cautions(record, verdicts),
        ),
        claims=tuple(plain[1:]),
        continuing=continuation_note(record.claims),
        what_fails=provenance.what_fails(record),
        claims_note=_how_to_narrow(record, samples),
        facts=tuple(facts_of(record, samples, verdicts)),
        page_facts=page_facts_of(samples),
        assumptions=_assumptions(record, samples),
        sections=_sections(record, samples, single, store),
        answer=_answer(record, samples, single),
        then=_replay(record, samples, store),
    )


def _answer(record: Record, samples: Samples, single: list[Claim]) -> Table | None:
    """Classes that do not meet what is required of each, or what an attack came to; else None."""
    if samples.attack is not None:
        return baseline_table(record, samples)
    failing = [claim for claim in single if claim.verdict is not Verdict.PASS]
    return _requirements(record, failing) if failing else None


def _replay(record: Record, samples: Samples, store: str) -> str:
    """The command that shows a failing input."""
    if record.source is None or not samples.examples:
        return ""
    first = samples.examples[0]
    command = replay_command(record, first.id, first.trial, store)
    return f"{command} shows an input that {failing_words(record)}"


def _requirements(record: Record, single: list[Claim]) -> Table:
    words = ("fails under", "at most")
    if counts_kept(record):
        robust = any(isinstance(c, ShareKappa) for c in single)
        words = ("robust share" if robust else quantity_heading(record), "at least")
    return verdict_table(single, *words, class_word(*single))


def _missed_precision(record: Record, verdicts: Sequence[Claim]) -> list[Caution]:
    """Why the mean is not known to the precision.

    Nothing where a verdict was asked for and this precision was not: an undecided one says itself
    what decides it.
    """
    precision = record.study.method.number("precision")
    reason = record.claims[0].reason
    if not precision or not reason or (verdicts and precision == PRECISION):
        return []
    return [Caution(f"Note: ± {precision:g} is not reached: {reason_words(reason)}.", urgent=True)]


def _how_to_narrow(record: Record, samples: Samples) -> str:
    """Which option likely narrows the interval of the population; empty where none does."""
    method, whole = record.study.method, samples.whole
    precision, error = method.number("precision"), method.number("error")
    if not precision or not error or samples.studied is None or not isinstance(whole, Estimate):
        return ""
    size = len(record.inputs)
    likely = likely_width(precision, error, size, 1 - whole.value)
    about_these = record.claims[0].about.of is About.THESE
    if not about_these or whole.trials == size or likely >= whole.interval.width:
        return ""
    return (
        f"The interval of the population counts one trial of each of the {whole.trials:,} inputs "
        "of the first round alone: which inputs had trials later depends on results. --about "
        "population, which plans the trials for the population, would likely narrow it."
    )


def _contradictions(record: Record) -> list[Caution]:
    wrong = [
        r
        for r in tried_rows(record.inputs)
        if isinstance(r.result, Extrapolation) and r.result.contradicted
    ]
    if not wrong:
        return []
    named = ", ".join(row.id for row in wrong[:3]) + (", …" if len(wrong) > 3 else "")
    number = "1 input" if len(wrong) == 1 else f"{len(wrong):,} inputs"
    words = f"Note: for {number} ({named}) the extrapolation contradicts the count of the same "
    return [Caution(f"{words}trials: do not rely on it there.", urgent=True)]


def _assumptions(record: Record, samples: Samples) -> tuple[str, ...]:
    """What all claims assume in addition to what their own sentences say."""
    draws = record.claims[0].random is not Randomness.NOTHING
    words = record.study.words.perturbation
    if draws:
        lines = [f"Trials are independent draws of the stated perturbation: {words}."]
    else:
        lines = [
            f"Nothing is random about the perturbation: {words}. For random levels give a range, "
            "as in rotation:-10..10."
        ]
    if isinstance(samples.whole, ExtrapolatedMean):
        lines.append(
            "Extrapolated numbers assume scores that are normal, after the transform named, far "
            "beyond what was observed; a test of normality cannot show that."
        )
    if draws:
        lines.append(
            "The perturbations are random. An adversary who searches for a bad one is a different "
            "question."
        )
    return tuple(lines)


def _not_drawn(record: Record) -> str:
    """Which inputs the figure of extrapolations lacks: those without a fit may be the weakest."""
    fitted = sum(isinstance(row.result, Extrapolation) for row in record.inputs)
    drawn, without = len(sampling_figures.extrapolations(record)), len(record.inputs) - fitted
    words = "" if drawn == fitted else f" {drawn:,} of {fitted:,} are drawn, evenly by rank."
    if without:
        inputs = "1 input without a fit is" if without == 1 else f"{without:,} without a fit are"
        words += f" {inputs} not drawn here; the figure above has every input."
    return words


def _sections(record: Record, samples: Samples, single: list[Claim], store: str) -> list[Section]:
    few = few_trials_words(record)
    described = sampling_figures.describe_inputs(record)
    figures = [Figure(partial(sampling_figures.inputs_chart, record), few, "histogram", described)]
    if isinstance(samples.whole, ExtrapolatedMean):
        caption = (
            "Line: interval from the count of the trials. Dot: extrapolated from the fitted normal "
            "distribution. Values below 1e-12 are drawn at 1e-12."
        ) + _not_drawn(record)
        draw = partial(sampling_figures.tail_chart, record)
        figures.append(Figure(draw, caption, "tails", sampling_figures.describe_tails(record)))
    title = "How many inputs failed" if few else f"How often each input {failing_words(record)}"
    title = title if record.study.method.number("kappa") is None else "How inputs were decided"
    sections = [Section("distribution", title, figures=tuple(figures))]
    sections += sampling_figures.score_sections(record)
    if samples.attack is not None:
        sections += table_sections({"baseline": baseline_table(record, samples)})
    if samples.classes:
        over = ", averaged over groups" if record.study.inputs.groups else ""
        caption = f"Dot: over the inputs studied{over}. Line: interval for the class's population."
        if isinstance(samples.whole, ExtrapolatedMean):
            caption += " Diamond: the extrapolated average."
        most, every = sampling_figures.MOST_CLASSES, len(samples.classes)
        if every > most:
            caption = f"The {most} weakest of {every:,} classes. {caption} The table has all."
        draw = partial(sampling_figures.class_chart, record, samples)
        figure = Figure(draw, caption, "class-figure", sampling_figures.describe_classes(record))
        table = class_table(record, samples)
        sections.append(Section("classes", table.title, figures=(figure,), table=table))
    tables = {"contrasts": contrast_table(record, samples)}
    if single:
        ranks = {row[0]: i for i, row in enumerate(class_table(record, samples).rows)}
        single.sort(key=lambda claim: ranks.get(claim.about.name, len(ranks)))
        tables = {"required": _requirements(record, single), **tables}
    sections += [replace(one, folded=one.id == "contrasts") for one in table_sections(tables)]
    sections.append(weakest_section(record, samples, store))
    return sections
