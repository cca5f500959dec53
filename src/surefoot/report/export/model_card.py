"""A run as a Markdown section of a model card."""

from __future__ import annotations

from surefoot.report.export.metrics import Metric, metrics_of
from surefoot.report.export.plain_text import code_block, markdown
from surefoot.report.export.run import ExportedRun, not_measured
from surefoot.report.export.total_error import total_error
from surefoot.report.sentences import sentence

_HEADINGS = (
    "Perturbation",
    "Quantity",
    "Set or population",
    "Estimate",
    "Interval",
    "Error probability",
)


def model_card(run: ExportedRun) -> str:
    """Claims as sentences, a table of their numbers, what was not measured, and how to repeat it.

    Names of files, classes and inputs are escaped: they cannot become markup, HTML or links.
    """
    view = run.view
    claims = (*run.verdicts, *run.record.claims)
    parts = [
        "## Robustness",
        markdown(view.about),
        "\n".join(f"- {markdown(sentence(claim))}" for claim in claims),
        *_table(run),
        *(f"> {markdown(line)}" for line in view.cautions),
        "### What was not measured",
        "\n".join(f"- {markdown(line)}" for line in not_measured(run)),
        "### How to repeat it" if view.command else "### What was run",
        *([code_block(view.command, _language(view.command))] if view.command else []),
        "\n".join(f"- {markdown(key)}: {markdown(value)}" for key, value in run.facts),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _table(run: ExportedRun) -> list[str]:
    metrics = metrics_of(run.record.claims)
    if not metrics:
        return []
    lines = [_row(*_HEADINGS), _row(*("---",) * len(_HEADINGS))]
    lines += [_row(*(markdown(cell) for cell in _cells(run, metric))) for metric in metrics]
    note = (
        "The error probability is that of a wrong interval, or of any wrong one of those whose "
        "sentences say that they hold together; it is 0 where the number was proved or counted, "
        f"not estimated. Intervals are rounded outwards. {_error_of_all(run)}"
    )
    return ["\n".join(lines), note]


def _error_of_all(run: ExportedRun) -> str:
    """What is promised of the whole card."""
    total = total_error(run)
    if total >= 1:
        return "The errors of all statements add up to 1 or more: each is to be read by itself."
    return (
        f"The probability that any statement of this card is wrong is at most {total:g}, if their "
        "assumptions hold: their errors add up, and those that hold together count once."
    )


def _cells(run: ExportedRun, metric: Metric) -> tuple[str, ...]:
    error = "no guarantee" if metric.error is None else f"{metric.error:g}"
    return (
        run.perturbation(metric.claim),
        metric.name,
        metric.scope,
        metric.number,
        metric.interval,
        error,
    )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _language(command: str) -> str:
    """Of the command that ran it: of a shell, or of Python."""
    return "sh" if command.startswith("surefoot ") else "python"
