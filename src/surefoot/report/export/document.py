"""Which documents there are, and a run as one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from surefoot.errors import InvalidArgument
from surefoot.report.export.cyclonedx import cyclonedx
from surefoot.report.export.model_card import hugging_face, model_card
from surefoot.report.export.requirement_cases import junit
from surefoot.report.export.run import ExportedRun, ExportOptions
from surefoot.report.export.sentence import claim_sentence


@dataclass(frozen=True)
class Format:
    """How a document is written, which options it uses, and whether it holds verdicts."""

    write: Callable[[ExportedRun, ExportOptions], str]
    options: tuple[str, ...] = ()
    verdicts: bool = True


FORMATS: dict[str, Format] = {
    "model-card": Format(lambda run, _: model_card(run)),
    "hugging-face": Format(
        hugging_face,
        ("name", "dataset", "dataset_id", "task", "benchmark_task"),
        verdicts=False,
    ),
    "cyclonedx": Format(cyclonedx, ("name", "dataset", "task")),
    "junit": Format(junit, ("undecided",)),
    "sentence": Format(lambda run, _: claim_sentence(run)),
}
"""Documents by name."""


def format_named(to: str) -> Format:
    """The document of this name."""
    if to not in FORMATS:
        raise InvalidArgument(f"to (--to) is one of {', '.join(FORMATS)}, got {to!r}")
    return FORMATS[to]


def document(run: ExportedRun, to: str, options: ExportOptions) -> str:
    """The run as a document; an option that it has no place for is refused."""
    chosen = format_named(to)
    for field in fields(options):
        if getattr(options, field.name) and field.name not in chosen.options:
            has = [name for name, one in FORMATS.items() if field.name in one.options]
            option = field.name.replace("_", "-")
            raise InvalidArgument(
                f"{to} has no place for {field.name} (--{option}): it is for {' and '.join(has)}; "
                "leave it out"
            )
    if run.verdicts and not chosen.verdicts:
        raise InvalidArgument(
            f"{to} has no place for a requirement: export to model-card, cyclonedx, junit or "
            "sentence, or leave it out (surefoot export leaves out one that is recorded)"
        )
    return chosen.write(run, options)
