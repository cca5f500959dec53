"""The record of a comparison, made from the records of its parts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from surefoot.conclude.comparison import CURVES, compare_curves, compare_samples
from surefoot.conclude.stability import as_in_records
from surefoot.errors import InvalidArgument
from surefoot.records.record import Record
from surefoot.records.spec import ComparisonSpec


def joined_record(
    records: Mapping[str, Record],
    along: str,
    error: float | None = None,
    reference: Mapping[str, float] | None = None,
) -> Record:
    """Finished records side by side, with the claims that hold of them together."""
    if len(records) < 2:
        raise InvalidArgument(f"a comparison needs two or more, got {len(records)}")
    if along == CURVES:
        comparison, claims = compare_curves(records)
    else:
        comparison, claims, error = compare_samples(records, along, error, reference)
    first: Record = next(iter(records.values()))
    if isinstance(first.spec, ComparisonSpec):
        raise InvalidArgument("a comparison cannot be compared again: compare its parts")
    return Record(
        digest=digest_of_parts(record.digest for record in records.values()),
        spec=ComparisonSpec(first.spec, error, tuple(records)),
        claims=as_in_records(claims, records.values()),
        inputs=(),
        details=comparison,
        findings=(),
        trials=sum(r.trials for r in records.values()),
        environment=first.environment,
        stopped_early=any(r.stopped_early for r in records.values()),
    )


def digest_of_parts(digests: Iterable[str]) -> str:
    """The name of a comparison: the SHA-256 digest of the names of its runs, in order."""
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()
