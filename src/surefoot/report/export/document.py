"""A run as a model card, a bill of materials, test cases or another document."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields

from surefoot.core.claims import UNDECIDED_CHOICES
from surefoot.errors import InvalidArgument
from surefoot.records.options import DocumentOptions
from surefoot.records.spec import StudySpec
from surefoot.report.clauses import assumptions_of
from surefoot.report.export.run import (
    ExportedRun,
    Metric,
    dataset_name,
    metrics_of,
    model_name,
    not_measured,
    total_error,
)
from surefoot.report.export.sentence import claim_sentence, code_block, markdown, visible
from surefoot.report.export.table import csv_table, latex_table
from surefoot.report.junit import Case, case_of_verdict, junit_xml
from surefoot.report.sentences import measured_words, sentence
from surefoot.system.text import Json, escape

_SURROGATES = range(0xD800, 0xE000)
"""Halves of characters, which no encoding can write."""


def yaml_text(value: Mapping[str, Json] | Sequence[Json]) -> str:
    """Mappings, lists, texts, numbers and None; keys are plain words."""
    return "\n".join(_lines(value)) + "\n"


def _lines(value: Json) -> list[str]:
    """A mapping or a list, one entry a line."""
    lines: list[str] = []
    if isinstance(value, Mapping):
        for key, item in value.items():
            nested = _is_block(item)
            lines.append(f"{key}:" if nested else f"{key}: {_scalar(item)}")
            lines += [f"  {line}" for line in _lines(item)] if nested else []
        return lines
    for item in value:
        own = _lines(item) if _is_block(item) else [_scalar(item)]
        lines += [f"{'- ' if first == 0 else '  '}{line}" for first, line in enumerate(own)]
    return lines


def _is_block(value: Json) -> bool:
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str) and bool(value)


def _scalar(value: Json) -> str:
    match value:
        case str():
            return f'"{"".join(map(_character, value))}"'
        case float():
            # to its last digit; YAML 1.1 takes 1e-09 for text and 1.0e-09 for a number
            text = repr(value)
            mantissa, e, exponent = text.partition("e")
            return f"{mantissa}{'' if '.' in mantissa else '.0'}{e}{exponent}" if e else text
        case Mapping() | Sequence():
            return "{}" if isinstance(value, Mapping) else "[]"
        case _:
            return "null" if value is None else str(value).lower()


def _character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if ord(character) in _SURROGATES:
        return f"\\{escape(character)}"
    return character if character.isprintable() else escape(character)


_HEAD = "# For the metadata of a model card: between the two lines --- at the top of README.md.\n"
_BENCHMARK_HEAD = "# For a file of the folder .eval_results in the repository of the model.\n"
_NOT_IN_AN_ID = re.compile(r"[^a-z0-9._/]+")
_IMAGE_AXES = 3
"""Of one image: channels, height and width."""


def hugging_face(run: ExportedRun, options: DocumentOptions) -> str:
    """`model-index` as the Hub and huggingface_hub read it, one metric for each number.

    The interval, its error probability and the sentence with its assumptions are in the `args` of
    a metric: the format has no field of its own for them. A bound that the claim does not have is
    left out; where a claim has an interval and no estimate, the value is the interval as text.
    """
    study = run.study_of_one_model("hugging-face")
    metrics = metrics_of(run.record.claims)
    if not metrics:
        raise InvalidArgument(
            "no claim of this run has a number: hugging-face has results with numbers only; "
            "export it to model-card"
        )
    if options.benchmark_task:
        return _BENCHMARK_HEAD + yaml_text([_benchmark_result(run, metrics[0], options)])
    dataset = dataset_name(run.record, options)
    # as the Hub writes ids: small letters, and hyphens for whatever else there is
    as_id = _NOT_IN_AN_ID.sub("-", dataset.lower()).strip("-") or "data"
    result = {
        "task": {"type": options.task or _task(study)},
        "dataset": {
            "name": dataset,
            "type": options.dataset_id or as_id,
            "args": {
                "inputs": study.inputs.number,
                "selection": study.inputs.selection,
                "sha256": study.inputs.digest,
                "run": run.record.digest,
                "command": run.view.command,
                **({"notes": list(run.view.cautions)} if run.view.cautions else {}),
            },
        },
        "metrics": [_metric(run, metric) for metric in metrics],
    }
    index = [{"name": model_name(run.record, options), "results": [result]}]
    return _HEAD + yaml_text({"model-index": index})


def _benchmark_result(
    run: ExportedRun, metric: Metric, options: DocumentOptions
) -> dict[str, Json]:
    """The first number as the result of a benchmark that is registered on the Hub."""
    unused = [name for name in ("name", "dataset", "task") if getattr(options, name)]
    if unused:
        raise InvalidArgument(
            f"a result of a benchmark has no place for {unused[0]}: leave it out, or leave out "
            "benchmark_task (--benchmark-task)"
        )
    if not options.dataset_id:
        raise InvalidArgument(
            "benchmark_task (--benchmark-task) needs the benchmark it belongs to: pass its id on "
            "the Hub, dataset_id (--dataset-id)"
        )
    if metric.value is None:
        raise InvalidArgument(
            f"a result of a benchmark is one number, and {metric.name} is an interval: leave out "
            "benchmark_task (--benchmark-task)"
        )
    notes = " ".join((metric.statement, *run.view.cautions))
    started = {"date": run.record.started} if run.record.started else {}
    place = {"id": options.dataset_id, "task_id": options.benchmark_task}
    return {"dataset": place, "value": metric.value, **started, "notes": notes}


def _task(study: StudySpec) -> str:
    """The task where the run shows it: classes of images or of the rows of a table."""
    if study.model.classes and study.inputs.columns:
        return "tabular-classification"
    if study.model.classes and len(study.inputs.frame) == _IMAGE_AXES:
        return "image-classification"
    raise InvalidArgument(
        "the run does not show what the model does: pass its task, for example task="
        '"text-classification" (--task text-classification)'
    )


def _metric(run: ExportedRun, metric: Metric) -> dict[str, Json]:
    facts: dict[str, Json] = {"perturbation": run.perturbation(metric.claim)}
    bounds = {"lower_bound": metric.low, "upper_bound": metric.high}
    known = {name: end for name, end in bounds.items() if end is not None}
    if known:
        facts["confidence_interval"] = known
    if metric.error is not None:
        facts["error_probability"] = metric.error
    facts["statement"] = metric.statement
    return {
        "type": f"surefoot-{metric.claim.kind.replace('_', '-')}",
        "value": metric.interval if metric.value is None else metric.value,
        "name": metric.name,
        "args": facts,
    }


_HEADINGS = (
    *("Perturbation", "Quantity", "Set or population"),
    *("Estimate", "Interval", "Error probability"),
)


def model_card(run: ExportedRun) -> str:
    """Claims as sentences, a table of their numbers, what was not measured, and how to repeat it.

    Names of files, classes and inputs are escaped: they cannot become markup, HTML or links.
    """
    view = run.view
    claims = (*run.verdicts, *run.record.claims)
    language = "sh" if view.command.startswith("surefoot ") else "python"
    parts = [
        "## Robustness",
        *map(markdown, view.subject),
        "\n".join(f"- {markdown(sentence(claim))}" for claim in claims),
        *_table(run),
        *(f"> {markdown(line)}" for line in view.cautions),
        "### What was not measured",
        "\n".join(f"- {markdown(line)}" for line in not_measured(run)),
        "### How to repeat it" if view.command else "### What was run",
        *([code_block(view.command, language)] if view.command else []),
        "\n".join(f"- {markdown(key)}: {markdown(value)}" for key, value in run.facts),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _table(run: ExportedRun) -> list[str]:
    metrics = metrics_of(run.record.claims)
    if not metrics:
        return []
    rows: list[Sequence[str]] = [_HEADINGS, ("---",) * len(_HEADINGS)]
    for one in metrics:
        error = "no guarantee" if one.error is None else f"{one.error:g}"
        cells = (run.perturbation(one.claim), one.name, one.scope, one.number, one.interval, error)
        rows.append(list(map(markdown, cells)))
    note = (
        "The error probability is that of a wrong interval, or of any wrong one of those whose "
        "sentences say that they hold together; it is 0 where the number was proved or counted, "
        "not estimated. Intervals are rounded outwards. The "
    )
    if (total := total_error(run)) >= 1:
        note += "errors of all statements add up to 1 or more: each is to be read by itself."
    else:
        note += (
            f"probability that any statement of this card is wrong is at most {total:g}, if their "
            "assumptions hold: their errors add up, and those that hold together count once."
        )
    return ["\n".join(f"| {' | '.join(row)} |" for row in rows), note]


_SCHEMA = "http://cyclonedx.org/schema/bom-1.6.schema.json"
_NAMESPACE = uuid.UUID("6b0c9a52-43cf-5d0e-9f0e-0f6f3a6f4b11")
"""Of serial numbers: the same export has the same one."""
_WHOLE_FILE = ("the bytes of the ONNX file", "the bytes of the file", "the bytes of the pickle")
"""What a model's digest covers where it is the SHA-256 of one file, as `sha256sum` prints it."""


def cyclonedx(run: ExportedRun, options: DocumentOptions) -> str:
    """The model as a component with its hash, and the claims as performance metrics.

    A bound that a claim does not have is left out. Assumptions, and what was not measured, are
    technical limitations.
    """
    study = run.study_of_one_model("cyclonedx")
    name = model_name(run.record, options)
    hashes = {"hashes": [{"alg": "SHA-256", "content": study.model.digest}]}
    version = run.record.environment.get("surefoot", "")
    tool = {"type": "application", "name": "surefoot"} | ({"version": version} if version else {})
    component = {
        "type": "machine-learning-model",
        "bom-ref": f"model-{study.model.digest[:16]}",
        "name": visible(name),
        **(hashes if study.model.covers in _WHOLE_FILE else {}),  # else a property has the digest
        "modelCard": _model_card(run, study, options),
        "properties": _properties(run, study),
    }
    bom = {
        "$schema": _SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"tools": {"components": [tool]}},
        "components": [component],
    }
    serial = uuid.uuid5(_NAMESPACE, json.dumps(bom, sort_keys=True))
    return json.dumps({**bom, "serialNumber": f"urn:uuid:{serial}"}, indent=2) + "\n"


def _model_card(run: ExportedRun, study: StudySpec, options: DocumentOptions) -> dict[str, Json]:
    parameters: dict[str, Json] = {"task": visible(options.task)} if options.task else {}
    data = {"type": "dataset", "name": visible(dataset_name(run.record, options))}
    about = f"{study.inputs.number:,} inputs: {study.inputs.selection}"
    parameters["datasets"] = [data | {"description": visible(f"Tested on {about}")}]
    claims = (*run.verdicts, *run.record.claims)
    assumed = dict.fromkeys(one for claim in claims for one in assumptions_of(claim))
    limits = [f"Assumption: {one}" for one in assumed]
    limits += [f"Not measured: {line}" for line in not_measured(run)]
    limits += run.view.cautions
    metrics = [_performance_metric(run, metric) for metric in metrics_of(run.record.claims)]
    return {
        "modelParameters": parameters,
        "quantitativeAnalysis": {"performanceMetrics": metrics},
        "considerations": {"technicalLimitations": [visible(line) for line in limits]},
    }


def _performance_metric(run: ExportedRun, metric: Metric) -> dict[str, Json]:
    certain = "" if metric.error is None else f"; error probability {metric.error:g}"
    perturbation = run.perturbation(metric.claim)
    numbers = {"lowerBound": metric.low, "upperBound": metric.high}
    ends = {name: repr(end) for name, end in numbers.items() if end is not None}
    return {
        "type": visible(metric.name),
        **({} if metric.value is None else {"value": repr(metric.value)}),
        "slice": visible(f"{metric.scope}; {perturbation}{certain}"),
        **({"confidenceInterval": ends} if ends else {}),
    }


def _properties(run: ExportedRun, study: StudySpec) -> list[dict[str, str]]:
    record = run.record
    rows = [
        ("run", record.digest),
        ("model-digest", f"sha256 {study.model.digest} (covers {study.model.covers})"),
        ("inputs-digest", f"sha256 {study.inputs.digest}"),
        ("seed", str(study.seed)),
        ("trials", str(record.trials)),
        ("started", record.started),
        ("command", run.view.command),
        *(("verdict", sentence(claim)) for claim in run.verdicts),
        *(("claim", sentence(claim)) for claim in record.claims),
    ]
    return [{"name": f"surefoot:{name}", "value": visible(value)} for name, value in rows if value]


def junit(run: ExportedRun, options: DocumentOptions) -> str:
    """A test case for each requirement, with its verdict; refused where nothing was required."""
    cases = requirement_cases(run)
    if not cases:
        raise InvalidArgument(
            "a claim without a requirement is not a test, and none is stated for this run: state "
            "one, for example --require 0.95 (in Python result.require(0.95).export(…))"
        )
    properties = dict(run.facts) | ({"Command": run.view.command} if run.view.command else {})
    return junit_xml(cases, options.undecided or UNDECIDED_CHOICES[0], properties)


def requirement_cases(run: ExportedRun) -> list[Case]:
    """One case for each verdict; the run's time is that of the case, where there is only one."""
    seconds = run.record.seconds if len(run.verdicts) == 1 else 0.0
    suite = f"surefoot: {run.title}"
    claims = (*run.view.headline, *run.view.claims, *run.record.claims)
    about, urgent = "\n".join((*run.view.cautions, *run.view.subject)), run.view.urgent
    return [
        case_of_verdict(suite, claim, measured_words(claim, claims), urgent, seconds, about)
        for claim in run.verdicts
    ]


@dataclass(frozen=True)
class Format:
    """How a document is written, which options it uses, and whether it holds verdicts."""

    write: Callable[[ExportedRun, DocumentOptions], str]
    options: tuple[str, ...] = ()
    verdicts: bool = True


FORMATS: dict[str, Format] = {
    "model-card": Format(lambda run, _: model_card(run)),
    "hugging-face": Format(
        hugging_face, ("name", "dataset", "dataset_id", "task", "benchmark_task"), verdicts=False
    ),
    "cyclonedx": Format(cyclonedx, ("name", "dataset", "task")),
    "junit": Format(junit, ("undecided",)),
    "sentence": Format(lambda run, _: claim_sentence(run)),
    "csv": Format(csv_table, ("table", "intervals")),
    "latex": Format(latex_table, ("table", "intervals")),
}
"""Documents by name."""


def format_named(to: str) -> Format:
    """The document of this name."""
    if to not in FORMATS:
        raise InvalidArgument(f"to (--to) is one of {', '.join(FORMATS)}, got {to!r}")
    return FORMATS[to]


def document(run: ExportedRun, to: str, options: DocumentOptions) -> str:
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
    able = [name for name, one in FORMATS.items() if one.verdicts]
    if run.verdicts and not chosen.verdicts:
        raise InvalidArgument(
            f"{to} has no place for a requirement: export to {', '.join(able)}, or leave it out "
            "(surefoot export leaves out one that is recorded)"
        )
    return chosen.write(run, options)
