"""What a study comes back with: claims, the table of inputs, what the method found."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from surefoot.conclude import requirements
from surefoot.conclude.radii import at_radii
from surefoot.conclude.sampling import claim_about
from surefoot.conclude.sampling_requirements import share_of_all
from surefoot.conclude.scope import as_in_records
from surefoot.conclude.smoothing import claim_about_certificate, noise_of
from surefoot.conclude.splitting import claim_about_rare
from surefoot.core.claims import Claim, Radius, Verdict
from surefoot.core.results import (
    Bracket,
    Certificate,
    Estimate,
    Extrapolation,
    InputResult,
    Interval,
    Undecided,
)
from surefoot.errors import InvalidArgument, needing
from surefoot.records.input_table import tried_rows
from surefoot.records.json_records import plain_numbers
from surefoot.records.record import (
    Comparison,
    Curves,
    Details,
    InputRow,
    Member,
    OfClasses,
    Record,
    Requirements,
    Tally,
    row_and_column,
)
from surefoot.store import Journal, reading
from surefoot.system.whole_file import write_whole

if TYPE_CHECKING:
    import pandas as pd

    from surefoot.core.claims import UndecidedAs
    from surefoot.evidence.statement import Evidence
    from surefoot.records.options import IntervalsAs
    from surefoot.report.view import View


_ALL_INPUTS = "all inputs"
_MOST_LISTED = 10_000
"""Inputs that JSON lists one by one; of more, those that had a trial, and how many had none."""
_NO_DATA = ("scores",)
_FIT_COLUMNS = {
    "limit": "limit_after",
    "level": "normality_level",
    "accepted": "fitted",
    "p_value": "normality_p",
    "p_is_bound": "normality_p_is_bound",
    "statistic": "anderson_darling",
}
"""Names of the values of a fit beside those of an input, where a level is that of a perturbation
and a value that of the claim."""


def rows_of(record: Record, claim_about: Callable[[InputRow], Claim]) -> list[dict[str, Any]]:
    """One row a level of each curve, or one row an input with what is claimed about it."""
    details = record.details
    if isinstance(details, Tally):
        return [_row_of_case(row, details.names) for row in record.inputs]
    if not isinstance(details, Curves):
        return [_row_of_input(row, claim_about(row)) for row in record.inputs]
    measure = record.study.method.text("measure") or "accuracy"
    curves = {_ALL_INPUTS: details.curve, **{row.name: row.curve for row in details.classes}}
    return [
        {
            "curve": name,
            "level": point.level,
            "quantity": measure,
            "value": point.value,
            **_ends(point.interval),
            "trials": point.trials,
        }
        for name, curve in curves.items()
        for point in sorted(curve.points, key=lambda point: point.level)
    ]


def _row_of_cell(member: Member) -> dict[str, Any]:
    """The accuracy of a cell, or the share kept, with its interval."""
    row, column = row_and_column(member.name)
    known = member.whole if isinstance(member.whole, Estimate) else None
    return {
        "perturbation": row,
        "column": column,
        "level": member.level,
        "value": math.nan if known is None else known.value,
        **_ends(None if known is None else known.interval),
        "trials": 0 if known is None else known.trials,
        "run": member.digest,
    }


def _row_of_case(row: InputRow, names: tuple[str, ...]) -> dict[str, Any]:
    """A case of a test that was run elsewhere: what was counted, and no claim."""
    kept = row.result.value if isinstance(row.result, Estimate) else math.nan
    return {
        "id": row.id,
        **({"group": row.group} if row.group else {}),
        **({"class": names[row.label]} if row.label is not None else {}),
        "trials": row.result.trials,
        "failed": round((1 - kept) * row.result.trials),
    }


def _row_of_input(row: InputRow, claim: Claim) -> dict[str, Any]:
    from surefoot.report.clauses import quantity_words

    ended = {"reason": row.result.reason} if isinstance(row.result, Bracket) else {}
    return {
        "id": row.id,
        **({"group": row.group} if row.group else {}),
        "label": row.label,
        "predicted": row.predicted,
        "quantity": quantity_words(claim),
        "value": math.nan if claim.value is None else claim.value,
        **_ends(claim.interval),
        "verdict": None if claim.verdict is None else str(claim.verdict),
        "trials": claim.trials,
        **ended,
        **_fit(row.result),
    }


def _fit(result: InputResult) -> dict[str, Any]:
    """The normal distribution of a tail: the one used, or the last of those that did not fit."""
    if not isinstance(result, Extrapolation | Undecided) or not result.fits:
        return {}
    values = {name: value for name, value in vars(result.fits[-1]).items() if name not in _NO_DATA}
    contradicted = isinstance(result, Extrapolation) and result.contradicted
    return {**{_FIT_COLUMNS.get(k, k): v for k, v in values.items()}, "contradicted": contradicted}


def _ends(interval: Interval | None) -> dict[str, float]:
    known = None if interval is None else asdict(interval)
    return known or {"low": math.nan, "high": math.nan}


_OPTIONS = {
    "least": "--require",
    "of_these": "--require-these",
    "of_each_class": "--require-each",
    "clean_accuracy": "--clean-accuracy",
}
"""Of a command, and of `surefoot export`."""
_ACCEPT = "--accept-clean-accuracy"


def required_command(command: str, required: Requirements) -> str:
    """The command of a run, with this in place of what it required; empty where there is none.

    One that shows a stored run requires nothing, and a shell names no model of several.
    """
    given = vars(required).items()
    stated = {name: value for name, value in given if value is not None and value is not False}
    if command.startswith("sf."):
        return f"{command}.require({', '.join(f'{name}={v!r}' for name, v in stated.items())})"
    shown = command.startswith("surefoot show ")
    if not command.startswith("surefoot ") or shown or required.not_worse is not None:
        return ""
    try:
        words = _without_requirements(shlex.split(command))
    except ValueError:  # an evidence file may call anything a command
        return ""
    words += [_ACCEPT] * bool(stated.pop("accept_clean_accuracy", False))
    return shlex.join(
        [*words, *(word for name, v in stated.items() for word in (_OPTIONS[name], _text(v)))]
    )


def _without_requirements(words: list[str]) -> list[str]:
    """An option and its value are two words, or one with an equal sign between them."""
    kept, is_value = [], False
    for word in words:
        option, equal, _ = word.partition("=")
        required = option in _OPTIONS.values() and not is_value
        if not required and not is_value and word != _ACCEPT:
            kept.append(word)
        is_value = required and not equal
    return kept


def _text(value: float | Mapping[str, float]) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{name}={number!r}" for name, number in value.items())
    return repr(value)


@dataclass(frozen=True, eq=False)
class Result:
    """The answer to a study, or to several side by side (`parts`, by name).

    `print` it, write its `report`, `plot` it, or read its `claims`, `inputs` and `details`.
    `verdicts` answer what was required of it.
    """

    record: Record
    parts: Mapping[str, Result] = field(default_factory=dict)
    verdicts: tuple[Claim, ...] = ()
    from_store: bool = False
    command: str = ""
    store: str = "surefoot.db"
    journal: Journal | None = None
    """The journal of a run without a store."""
    attack_run: Result | None = None
    """The attack beside a run without a store: a run of its own."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Every statement about these inputs, classes and the population; the headline first."""
        return self.record.claims

    @property
    def inputs(self) -> Sequence[InputRow]:
        """One row an input."""
        return self.record.inputs

    @property
    def details(self) -> Details:
        """What the method found beside its claims: classes, a curve, quantiles, examples."""
        return self.record.details

    @cached_property
    def by_id(self) -> Mapping[str, InputResult]:
        """Each input's own result, by id."""
        return {row.id: row.result for row in self.inputs}

    def claim_about(self, name: str) -> Claim:
        """What is said of one input, by itself."""
        row = next((row for row in self.inputs if row.id == name), None)
        if row is None:
            raise InvalidArgument(
                f"there is no input {name!r} among the {len(self.inputs)} here"
                "; see result.inputs for their ids"
            )
        return self._claim_about(row)

    def _claim_about(self, row: InputRow) -> Claim:
        study, first = self.record.study, self.claims[0]
        if isinstance(row.result, Certificate):
            claim: Claim = claim_about_certificate(row, row.result, noise_of(study))
        elif study.method.kind == "splitting":
            claim = claim_about_rare(row, study)
        else:
            method = study.method
            claim = claim_about(row, first.random, method.kind, method.number("kappa"))
            if isinstance(claim, Radius):
                claim = replace(claim, norm=getattr(first, "norm", claim.norm))
            claim = claim.saying(kept=first.kept, confident=first.confident)
        return as_in_records((claim,), [self.record])[0]

    @cached_property
    def _records(self) -> dict[str, Record]:
        """Those of the results side by side, by name."""
        return {name: part.record for name, part in self.parts.items()}

    def require(
        self,
        least: float | Literal["all"] | None = None,
        *,
        of_each_class: OfClasses | None = None,
        of_these: float | None = None,
        not_worse: tuple[str, float] | None = None,
        clean_accuracy: float | None = None,
        accept_clean_accuracy: bool = False,
    ) -> Result:
        """The same result with a verdict on each requirement; they share the stated error.

        `least`: the least mean that is kept, robust share, share of levels, or quantile of the
        radius, as the method measures it; "all" requires that every one of these inputs fails at
        most as often as κ says, and `of_these` that such a share of them does. `of_each_class`:
        the same of every class, or a number for each class named: {"stop": 0.99, "parking": 0.9}.
        `not_worse`: a model, and by how much it may fail more often than the others.
        `clean_accuracy`: the least share of these inputs that get their true label when clean,
        which is counted and costs no error. Where the answers to clean inputs are implausible, as
        `sf.doctor` says, nothing passes unless `accept_clean_accuracy` is true.
        """
        if isinstance(least, str):
            of_these = share_of_all(least, of_these)
        number = None if isinstance(least, str) else least
        if isinstance(of_each_class, Mapping):  # classes named by text, as a record keeps them
            by_text = {str(name): value for name, value in of_each_class.items()}
            of_each_class = by_text if len(by_text) == len(of_each_class) else of_each_class
        demanded = Requirements(
            number,
            of_each_class,
            not_worse,
            of_these,
            clean_accuracy=clean_accuracy,
            accept_clean_accuracy=accept_clean_accuracy,
        )
        verdicts = requirements.check_requirements(self.record, self._records, demanded)
        verdicts = as_in_records(verdicts, (self.record, *self._records.values()))
        record = replace(self.record, required=demanded, verdicts=verdicts)
        required = replace(self, record=record, verdicts=verdicts)
        return required.repeated_by(required_command(self._command, demanded))

    def repeated_by(self, command: str) -> Result:
        """The same result; `command` gives it, verdicts included."""
        source = self.record.source
        if source is not None:
            source = replace(source, command=command)
        return replace(self, record=replace(self.record, source=source), command=command)

    @property
    def exit_code(self) -> int:
        """0: every requirement holds or there is none; 1: one is refuted; 2: one is undecided."""
        verdicts = {claim.verdict for claim in self.view.verdicts}
        if Verdict.FAIL in verdicts:
            return 1
        return 2 if Verdict.UNDECIDED in verdicts else 0

    def at_radius(self, *radii: float) -> Result:
        """The same result with how many inputs are proved, refuted and open at these radii.

        And the share of the population that is robust there, all radii together.
        """
        claims = at_radii(self._records or {"": self.record}, radii)
        return replace(self, record=replace(self.record, claims=(*self.claims, *claims)))

    @cached_property
    def view(self) -> View:
        """The outcome in its parts, as a terminal, a text and a page show them."""
        # the report is imported when there is something to report: the first batch comes sooner
        from surefoot.report.views.record import view_of_record

        return view_of_record(self.record, self._records, self.verdicts, self._command, self.store)

    @property
    def _command(self) -> str:
        """The command that gives it, with what it requires."""
        source = self.record.source
        return self.command or ("" if source is None else source.command)

    def report(self, path: str | Path) -> Path:
        """Write the page, whole or not at all."""
        from surefoot.report.page import write_page

        return write_page(self.view, Path(path))

    def evidence(self, path: str | Path, key: str | Path | None = None) -> Path:
        """Write study, claims, verdicts and journal, for a second party's `surefoot verify`.

        `key` is the file of a private key that signs it. The journal is that of the run, or of its
        store; of a database with a password use `sf.write_evidence`. Of several results side by
        side it has all studies and journals.
        """
        from surefoot.evidence.write import evidence_in_store, write_statement

        if all(part.journal is not None for part in self.parts.values() or (self,)):
            return write_statement(self._evidence(), path, key)
        with reading(self.store) as store:
            evidence = evidence_in_store(self.record, store, self._records)
        return write_statement(evidence, path, key)

    def _evidence(self) -> Evidence:
        """The evidence of a run without a store, by the journals at hand."""
        from surefoot.evidence.statement import evidence_of

        attack = None if self.attack_run is None else self.attack_run._evidence()
        entries = {} if self.journal is None else self.journal.replay()
        parts = {name: part._evidence() for name, part in self.parts.items()}
        return evidence_of(self.record, entries, attack, parts)

    def export(
        self,
        path: str | Path | None = None,
        to: str = "model-card",
        *,
        name: str = "",
        dataset: str = "",
        dataset_id: str = "",
        task: str = "",
        benchmark_task: str = "",
        undecided: UndecidedAs | None = None,
        table: str = "",
        intervals: IntervalsAs | None = None,
    ) -> str:
        """The result as a document of others, written to `path` where one is given.

        `to` is model-card (Markdown), hugging-face (`model-index`), cyclonedx (ML-BOM), junit, in
        which each requirement is a test, or sentence: the first claim for a paper, and how to
        cite it. `name` is that of the model, `dataset` and `dataset_id`
        name the data, `task` says what the model does: where they are left out, names of files
        stand in. `benchmark_task`: write the first number as the result of this task of the
        benchmark `dataset_id`. `undecided`: what an undecided requirement does in JUnit, fail
        (default), skip or pass. csv and latex write one table: `table` names it (default: claims),
        `intervals` is range (default) or plus-minus.
        """
        from surefoot.records.options import DocumentOptions
        from surefoot.report.export.document import document
        from surefoot.report.export.run import ExportedRun

        run = ExportedRun(self.record, self._records, self.verdicts, self.view)
        options = DocumentOptions(
            name, dataset, dataset_id, task, benchmark_task, table, intervals, undecided
        )
        text = document(run, to, options)
        if path is not None:
            write_whole(Path(path), text)
        return text

    def plot(self, path: str | Path | None = None) -> Any:  # noqa: ANN401  an object of Altair
        """The main figure; written as .svg, .png, .pdf or Vega-Lite .json where a path is given."""
        from surefoot.report.figures import shown_as_svg, write_figure
        from surefoot.report.views.record import chart_of_record

        chart = shown_as_svg(chart_of_record(self.record, self._records))
        if path is not None:
            write_figure(chart, Path(path))
        return chart

    def to_json(self) -> str:
        """Everything, for machines; every claim with its sentence."""
        return json.dumps(self._plain(), ensure_ascii=False, allow_nan=False)

    def _plain(self) -> dict[str, Any]:
        from surefoot.report.key_figure import accuracy_of

        accuracy = None if self.parts else accuracy_of(self.claims)
        whole: dict[str, Any] = {} if accuracy is None else {"accuracy": accuracy.fields}
        inputs = self.inputs if len(self.inputs) <= _MOST_LISTED else tried_rows(self.inputs)
        whole |= asdict(replace(self.record, inputs=tuple(inputs)))
        if len(inputs) < len(self.inputs):
            whole["untried"] = len(self.inputs) - len(inputs)
        whole["claims"] = [_with_sentence(claim) for claim in self.claims]
        whole["verdicts"] = [_with_sentence(claim) for claim in self.verdicts]
        if self.parts:
            whole["parts"] = {name: part._plain() for name, part in self.parts.items()}
        plain: dict[str, Any] = plain_numbers(whole)
        return plain

    def to_frame(self) -> pd.DataFrame:
        """One row an input with its claim, or one row a level of a curve or a cell of a suite.

        Of several results side by side the rows of all, with the name of each in `part`.
        """
        with needing("to_frame needs pandas: pip install pandas"):
            import pandas as pd
        members = self.details.members if isinstance(self.details, Comparison) else ()
        along = self.details.along if isinstance(self.details, Comparison) else ""
        if along == "cell":
            return pd.DataFrame([_row_of_cell(member) for member in members])
        levels = {one.name: one.level for one in members if along == "level"}
        rows = rows_of(self.record, self._claim_about)
        for name, part in self.parts.items():
            named = {"part": name, **({"level": levels[name]} if name in levels else {})}
            rows += [{**named, **row} for row in rows_of(part.record, part._claim_about)]
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        """One line: the verdicts, the first claim as far as it fits, and what it took."""
        from surefoot.report.page import short_line

        return short_line(self.view, self.record.trials)

    def _repr_html_(self) -> str:
        """As a notebook shows it: the claims, the first figure and the first table."""
        from surefoot.report.page import notebook_html

        return notebook_html(self.view, self.store if self.from_store else "")

    def __str__(self) -> str:
        """The answer, the verdicts and what is wrong."""
        return self.view.brief()

    def explain(self) -> str:
        """Every claim, table and assumption."""
        return self.view.text()


def _with_sentence(claim: Claim) -> dict[str, Any]:
    """All of its fields in one object; its number, interval and verdict by the same names."""
    from surefoot.report.sentences import sentence

    fields = asdict(claim)
    around = None if claim.interval is None else asdict(claim.interval)
    required = None if claim.requirement is None else claim.requirement.number
    read = {
        "value": claim.value,
        "interval": around,
        "requirement": required,
        "verdict": claim.verdict,
        "sentence": sentence(claim),
    }
    return {**fields.pop("said"), **fields, **read}
