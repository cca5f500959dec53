"""Outcomes in logs of Inspect: .json, and .eval, which is an archive of such files."""

from __future__ import annotations

import hashlib
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument, refusing
from surefoot.inputs.outcomes import rows as outcomes
from surefoot.inputs.outcomes.rows import ColumnNames, Meaning, Outcome, OutcomeFile, Remark
from surefoot.system.text import Json

_MOST_TEXT = 5120
"""Characters of a text that Inspect keeps in the summary of a sample; the rest is not compared, so
that a log as .json and the same log as .eval have the same contents."""
_CONVERT = "write it as JSON with `inspect log convert --to json`"
Sample = Mapping[str, Json]


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
    is_part = any(len(text) > _MOST_TEXT for text in texts)
    return digest + outcomes.PART_OF_CONTENT * is_part


def _texts(value: Json, depth: int = 4) -> list[str]:
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


def _ending(path: Path, header: Mapping[str, Json], samples: int) -> list[Remark]:
    """Refuse a log that ended well with other samples than it counts; one that stopped is noted.

    `total_samples` counts every epoch of every sample.
    """
    remarks = []
    status, results = header.get("status"), header.get("results")
    if status != "success":
        text = (
            f"the log has the status {outcomes.shown(status)}; the samples in it are those that "
            "ended first, which need not be a random choice"
        )
        remarks.append(Remark("status", text, is_warning=True))
    total = results.get("total_samples") if isinstance(results, dict) else None
    if not isinstance(results, dict) or not isinstance(total, int) or total in (0, samples):
        return remarks
    if status == "success" and not results.get("early_stopping"):
        raise InvalidArgument(
            f"{path} says total_samples={outcomes.shown(total)}, and it has {samples:,} samples "
            "(every epoch counts): give the whole log, or run the rest with `inspect eval-retry`"
        )
    text = f"the log has {samples:,} of {total:,} samples; which ended need not be a random choice"
    return [*remarks, Remark("total", text, is_warning=True)]


_HEADER, _SUMMARIES, _SAMPLES = "header.json", "summaries.json", "samples/"
_PARTIAL, _NO_ANSWER = "P", "N"
_NEEDED = ("id", "epoch", "input", "choices", "target", "scores", "error", "metadata")
_DAMAGES = (
    OSError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError,
    EOFError, struct.error, OverflowError,
)  # fmt: skip
"""What unpacking a damaged archive raises, whatever it was compressed with."""


def read_inspect_json(path: Path, wanted: ColumnNames) -> OutcomeFile:
    """A log as one JSON file."""
    log = _parsed(str(path), outcomes.read_text(path))
    samples = log.get("samples") if isinstance(log, dict) else None
    if not isinstance(log, dict) or "eval" not in log or not isinstance(samples, list):
        raise InvalidArgument(
            f"{path} is no log of Inspect with samples: tally reads .csv, .jsonl, .xml (JUnit) and "
            "logs of Inspect; give one of them"
        )
    return _from_samples(path, log, samples, wanted)


def read_inspect_archive(path: Path, wanted: ColumnNames) -> OutcomeFile:
    """A log as an archive; its summaries hold every score, else its samples do."""
    outcomes.check_size(path)
    unpacking = refusing(f"{path} cannot be unpacked", _CONVERT, *_DAMAGES)
    with unpacking, zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if _HEADER not in names:
            raise InvalidArgument(
                f"{path} has no {_HEADER}: the evaluation has not ended; wait for it"
            )
        header = _member(path, archive, _HEADER)
        samples = _member(path, archive, _SUMMARIES) if _SUMMARIES in names else None
        if not isinstance(samples, list):
            files = sorted(n for n in names if n.startswith(_SAMPLES) and n.endswith(".json"))
            samples = []
            for name in files:
                sample = _member(path, archive, name)
                if not isinstance(sample, dict):
                    raise InvalidArgument(f"{path}, {name} is no sample of Inspect: {_CONVERT}")
                # Only what a tally needs: the messages of a sample may be long.
                samples.append({key: sample[key] for key in _NEEDED if key in sample})
    return _from_samples(path, header if isinstance(header, dict) else {}, samples, wanted)


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> Json:
    """What a file of the archive holds; what it says of its size is not relied on."""
    with archive.open(name) as opened:
        content = opened.read(outcomes.MOST_BYTES + 1)
    if len(content) > outcomes.MOST_BYTES:
        raise InvalidArgument(
            f"{path}, {name} unpacks to more than {outcomes.MOST_BYTES / 2**20:,.0f} MiB: write "
            "the scores to a CSV file"
        )
    with refusing(f"{path}, {name} is no UTF-8 text", _CONVERT, UnicodeDecodeError):
        text = content.decode("utf-8")
    return _parsed(f"{path}, {name}", text)


def _parsed(where: str, text: str) -> Json:
    with refusing(f"{where} is not JSON", "write the log again", ValueError, RecursionError):
        return json.loads(text)


def _from_samples(
    path: Path, header: Mapping[str, Json], samples: list[Any], wanted: ColumnNames
) -> OutcomeFile:
    if wanted.case not in (None, "id"):
        raise InvalidArgument(
            f"case (--case) {wanted.case}: in a log of Inspect the case is the id of a sample; "
            "leave it out"
        )
    check_samples(path, samples)
    scorer = _scorer(path, samples, wanted.outcome)
    guess = " (the only one)" if wanted.outcome is None else ""
    remarks = [
        Remark("case", "the id of the sample; its epochs are trials of the same case"),
        Remark("outcome", f"the score {scorer}{guess}"),
        *outcomes.field_remarks(wanted, "{} in the metadata"),
        *_ending(path, header, len(samples)),
    ]
    silent = sum(_is_silent(_score(s, scorer), wanted.meaning) for s in samples)
    if silent:
        were = "1 answer is" if silent == 1 else f"{silent:,} answers are"
        remarks.append(Remark("no answer", f"{were} scored N and counted as failed", True))
    evaluation = header.get("eval")
    task = evaluation.get("task") if isinstance(evaluation, dict) else ""
    rows = list(_outcomes(path, samples, scorer, wanted))
    remarks += outcomes.meaning_remarks(path, scorer, rows, wanted.meaning)
    task = str(task or "")
    return outcomes.outcome_file(path, rows, remarks, task=task, reruns=wanted.reruns)


def _scorer(path: Path, samples: list[Sample], wanted: str | None) -> str:
    scorers = list(
        dict.fromkeys(
            str(name)
            for sample in samples
            if isinstance(scores := sample.get("scores"), dict)
            for name in scores
        )
    )
    if wanted in scorers or (wanted is None and len(scorers) == 1):
        return scorers[0] if wanted is None else wanted
    if not scorers:
        raise InvalidArgument(f"{path} has no scores: score it with `inspect score`")
    said = "" if wanted is None else f"no score {wanted!r}; it has "
    raise InvalidArgument(
        f"{path} has {said}the scores {' and '.join(scorers)}: name one with outcome (--outcome)"
    )


def _score(sample: Sample, scorer: str) -> Json:
    scores = sample.get("scores")
    score = scores.get(scorer) if isinstance(scores, dict) else None
    return score.get("value") if isinstance(score, dict) else None


def _outcomes(
    path: Path, samples: list[Sample], scorer: str, wanted: ColumnNames
) -> Iterator[Outcome]:
    meaning = wanted.meaning
    for sample in samples:
        case = str(sample["id"])
        place = f"{path}, sample {case}, epoch {sample.get('epoch', 1)}"
        value = _score(sample, scorer)
        if value is None and sample.get("error"):
            raise InvalidArgument(
                f"{place} ended with an error and has no score: run it again with `inspect "
                "eval-retry`"
            )
        if value == _PARTIAL and outcomes.word_of(value) not in meaning.words:
            raise InvalidArgument(
                f"{place}: {scorer} is 'P', a partial score; use a scorer that says C or I, or say "
                "what it means with means (--means P=fail)"
            )
        failed = _is_silent(value, meaning) or outcomes.read_outcome(place, scorer, value, meaning)
        group, class_name = (_metadata(place, sample, key) for key in (wanted.group, wanted.by))
        more = (group, class_name, content_of(sample), place, outcomes.value_words(value, meaning))
        yield Outcome(case, int(bool(failed)), int(failed is not None), *more)


def _is_silent(value: Json, meaning: Meaning) -> bool:
    """Whether there was no answer, which counts as failed unless the user says otherwise."""
    return value == _NO_ANSWER and outcomes.word_of(value) not in meaning.words


def _metadata(place: str, sample: Sample, key: str | None) -> str:
    if key is None or key == outcomes.NO_COLUMN:
        return ""
    metadata = sample.get("metadata")
    value = metadata.get(key) if isinstance(metadata, dict) else None
    if isinstance(value, str | int) and str(value).strip():
        return str(value).strip()
    known = ", ".join(map(str, metadata)) if isinstance(metadata, dict) and metadata else "nothing"
    raise InvalidArgument(
        f"{place} has no {key!r} in its metadata, which has {known}: choose another"
    )
