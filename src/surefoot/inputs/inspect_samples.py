"""Samples of a log of Inspect: which are the same, what they ask, and whether all are there."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.inputs.outcome_meaning import shown
from surefoot.inputs.outcome_rows import PART_OF_CONTENT, Remark

_MOST_TEXT = 5120
"""Characters of a text that Inspect keeps in the summary of a sample; the rest is not compared, so
that a log as .json and the same log as .eval have the same contents."""
_CONVERT = "write it as JSON with `inspect log convert --to json`"
Sample = Mapping[str, Any]


def check_samples(path: Path, samples: Sequence[Any]) -> None:
    """Refuse samples without an id, or whose ids and epochs do not tell them apart."""
    trials = set[tuple[str, str]]()
    kinds: dict[str, type] = {}
    contents: dict[str, str] = {}
    for number, sample in enumerate(samples, start=1):
        if not isinstance(sample, dict) or not isinstance(sample.get("id"), str | int):
            raise InvalidArgument(f"{path}, sample {number} has no id: {_CONVERT}")
        name, epoch = str(sample["id"]), str(sample.get("epoch", 1))
        if kinds.setdefault(name, type(sample["id"])) is not type(sample["id"]):
            raise InvalidArgument(
                f"{path}: the ids {name} and '{name}' are a number and a text and would be one "
                "case: give each sample an id of its own"
            )
        if (name, epoch) in trials:
            raise InvalidArgument(
                f"{path}: sample {name}, epoch {epoch} is there twice, and would count as two "
                "trials: remove one"
            )
        trials.add((name, epoch))
        content = content_of(sample)
        if contents.setdefault(name, content) != content:
            raise InvalidArgument(
                f"{path}: sample {name} has another input or target in epoch {epoch} than before: "
                "give each sample an id of its own"
            )


def content_of(sample: Sample) -> str:
    """A digest of what the sample asks; empty where the log does not say it.

    Of input and target; of input and choices where it has some, whose order may be shuffled from
    run to run, and the letter of the target with it.
    """
    if sample.get("input") is None:
        return ""
    choices = sample.get("choices")
    answers = sorted(_texts(choices)) if choices else _texts(sample.get("target"))
    texts = [*_texts(sample["input"]), "", *answers]
    digest = hashlib.sha256("\0".join(text[:_MOST_TEXT] for text in texts).encode()).hexdigest()
    return digest + (PART_OF_CONTENT if any(len(text) > _MOST_TEXT for text in texts) else "")


def _texts(value: Any, depth: int = 4) -> list[str]:  # noqa: ANN401  of JSON
    """The texts of an input or a target; of messages role and content, whose ids are random."""
    if not depth:  # deeper than anything that Inspect writes
        return []
    if isinstance(value, list):
        return [text for one in value for text in _texts(one, depth - 1)]
    if not isinstance(value, dict):
        return [str(value)]
    if "content" in value:
        return [str(value.get("role")), *_texts(value["content"], depth - 1)]
    kind = str(value.get("type"))
    return [str(value.get("text")) if kind == "text" else f"({kind.capitalize()})"]


def check_total(path: Path, header: Mapping[str, Any], samples: int) -> list[Remark]:
    """Refuse a log that ended well with other samples than it counts; one that stopped is noted.

    `total_samples` counts every epoch of every sample.
    """
    results = header.get("results")
    total = results.get("total_samples") if isinstance(results, dict) else None
    if not isinstance(results, dict) or not isinstance(total, int) or total in (0, samples):
        return []
    if header.get("status") == "success" and not results.get("early_stopping"):
        raise InvalidArgument(
            f"{path} says total_samples={shown(total)}, and it has {samples:,} samples (every "
            "epoch counts): give the whole log, or run the rest with `inspect eval-retry`"
        )
    text = f"the log has {samples:,} of {total:,} samples; which ended need not be a random choice"
    return [Remark("total", text, is_warning=True)]
