"""What is compared: output, records and evidence without times, machines and versions."""

import base64
import hashlib
import json
import math
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
OF_THE_MACHINE = {"environment", "started", "seconds", "runtime", "rate", "serialNumber"}
"""Fields of a record that differ from run to run."""
_WORDS_OF_THE_MACHINE = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?([+-]\d\d:\d\d|Z)?"), "TIME"),
    (re.compile(r"python \d[^\"<]*, surefoot [^\"<]*"), "SOFTWARE"),
    (re.compile(r"surefoot \d+\.\d+\.\d+"), "surefoot VERSION"),
    (re.compile(r'time="[\d.]+"'), 'time="SECONDS"'),
    (re.compile(r"^.*: [\d,]+ of (about|at most) [\d,]+ .*\n", re.MULTILINE), ""),  # progress
    (re.compile(r'"seconds":[\d.e-]+'), '"seconds":N'),
    (re.compile(r"took [\d.,]+ (?:CPU )?seconds, [\d.,]+ in"), "took N seconds, N in"),
    (re.compile(r"about [\d,]+ trials per second"), "about N trials per second"),
    (re.compile(r"about [\d.]+ (s|min|h) \(a forecast\)"), "about N s (a forecast)"),
)
_TIMES = {"seconds", "total seconds", "median", "longest"}
"""Headings of columns of times, if one of them says seconds."""
_ABSENT = "(absent)"
"""In place of a field that only one result has: null is a value."""
_CLOSE = 1e-9
"""Relative: libraries of mathematical functions differ by a few units of the last digit."""


def canonical(record: Any) -> Any:
    """A record, or a part of one, without what differs from run to run."""
    if isinstance(record, dict):
        return {
            name: canonical(value) for name, value in record.items() if name not in OF_THE_MACHINE
        }
    if isinstance(record, list):
        return [canonical(part) for part in record]
    return canonical_text(record) if isinstance(record, str) else record


def canonical_text(text: str, folder: Path | None = None) -> str:
    """Printed text without the time, the version, and the folder that it was run in."""
    for pattern, word in _WORDS_OF_THE_MACHINE:
        text = pattern.sub(word, text)
    text = "\n".join(_without_times(text.split("\n")))
    return text if folder is None else text.replace(str(folder), "FOLDER")


def _without_times(lines: list[str]) -> Iterator[str]:
    """Lines whose tables have no numbers in their columns of times."""
    times: list[int] = []
    for line in lines:
        if line.startswith("┃"):
            headings = [cell.strip() for cell in line.split("┃")]
            timed = any("seconds" in heading for heading in headings)
            times = [i for i, heading in enumerate(headings) if timed and heading in _TIMES]
        if not line.startswith("│"):
            yield line
            continue
        cells = line.split("│")
        yield "│".join("" if i in times else cell for i, cell in enumerate(cells))


def canonical_output(text: str, folder: Path) -> Any:
    """JSON as a record, anything else as text."""
    try:
        return canonical(json.loads(text))
    except ValueError:
        return canonical_text(text, folder)


def payload(evidence: str) -> dict[str, Any]:
    """The statement inside an evidence file."""
    return json.loads(base64.b64decode(json.loads(evidence)["payload"]))


def canonical_evidence(evidence: str) -> Any:
    """That statement, unpacked; of rows that are no text the digest."""
    return canonical(_unpacked(payload(evidence)))


def _unpacked(part: Any) -> Any:
    if isinstance(part, list):
        return [_unpacked(each) for each in part]
    if not isinstance(part, dict):
        return part
    if part.get("encoding") == "zlib+base64":
        plain = zlib.decompress(base64.b64decode(part["data"]))
        try:
            return json.loads(plain)
        except ValueError:
            return hashlib.sha256(plain).hexdigest()
    return {name: _unpacked(value) for name, value in part.items()}


def tampered(evidence: str) -> str:
    """The same file with one number of its first claim changed."""
    whole, statement = json.loads(evidence), payload(evidence)
    guarantee = statement["predicate"]["claims"][0]["said"]["guarantee"]
    guarantee["error"] = guarantee["error"] / 2 + 0.01
    changed = base64.b64encode(json.dumps(statement).encode()).decode()
    return json.dumps(whole | {"payload": changed})


def differences(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """Where two results differ, one line for each place."""
    match before, after:
        case dict(), dict():
            for name in sorted(before.keys() | after.keys()):
                old, new = before.get(name, _ABSENT), after.get(name, _ABSENT)
                yield from differences(old, new, f"{place}.{name}")
        case list(), list() if len(before) == len(after):
            for i, (old, new) in enumerate(zip(before, after, strict=True)):
                yield from differences(old, new, f"{place}[{i}]")
        case str(), str() if before != after and "\n" in before + after:
            yield from differences(before.split("\n"), after.split("\n"), place)
        case float(), float() if math.isclose(before, after, rel_tol=_CLOSE, abs_tol=1e-12):
            pass
        case _ if before != after or type(before) is not type(after):
            yield f"{place}: {_short(before)} became {_short(after)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:300]}…"


def read_lines(path: Path) -> dict[str, Any]:
    """Results by their names."""
    return dict(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


def write_lines(path: Path, results: dict[str, Any]) -> None:
    """One result a line."""
    lines = (json.dumps(pair, ensure_ascii=False, sort_keys=True) for pair in results.items())
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
