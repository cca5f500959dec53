"""`show`, `report`, `replay`, `export` and `serve`: what a store has of finished runs."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from surefoot.commands import values as v
from surefoot.commands.caller import Answer, Caller
from surefoot.commands.options import STORE
from surefoot.core.results import Particle, RareFailure
from surefoot.errors import InvalidArgument, ReportFailed
from surefoot.records.options import DocumentOptions, Option, option
from surefoot.system.whole_file import write_whole

if TYPE_CHECKING:
    from surefoot.store.runs import RunCheck, RunSummary
    from surefoot.study import Result, Study

LATEST = "latest"
RunArgument = Annotated[
    str, Option("The first characters of a run's name, or latest.", metavar="RUN", argument=True)
]
_DAMAGED = 3
"""The exit code where a run of the store is damaged."""


@dataclass(frozen=True)
class StoreOptions:
    """Where runs are kept."""

    store: str = option(STORE, "File or postgresql:// URL of the evidence.")


@dataclass(frozen=True)
class ShowOptions(StoreOptions):
    """One run, all runs of a store, or whether they are sound."""

    json: bool = option(False, "Print the whole result as JSON.")
    every: bool = option(False, "List all runs of the store.", names=("--list",))
    check: bool = option(False, "Check all runs of the store; exit code 3: damaged.")
    repair: bool = option(
        False,
        "Keep the sound rows of a damaged run, drop its record; name the run. Of a file with "
        "damaged pages: save what can be read into a new one.",
    )


def show(run: RunArgument = LATEST, *, options: ShowOptions) -> Result | Answer:
    """A finished run, the list of runs, or what is wrong with them."""
    from surefoot.study.read_store import read_result

    every, check, repair = options.every, options.check, options.repair
    chosen = [n for n, on in (("list", every), ("check", check), ("repair", repair)) if on]
    if len(chosen) > 1:
        raise InvalidArgument(f"--{chosen[0]} and --{chosen[1]} exclude each other: use one")
    if run != LATEST and (every or check):
        raise InvalidArgument(f"--{chosen[0]} is about all runs: leave out {run}")
    if check:
        return _checked(options.store)
    if repair:
        return _repaired(options.store, run)
    return _listed(options.store) if every else read_result(options.store, run)


def _checked(store: str) -> Answer:
    """One line for each run, and what to do; the exit code says whether all are sound."""
    from surefoot.store.locations import public_location
    from surefoot.store.outcomes import check_store

    checks, where = check_store(store), public_location(store)
    damaged = [check for check in checks if check.problem]
    runs = len([check for check in checks if check.digest])
    lines = [_line(check) for check in checks]
    lines.append(f"{where}: {runs} {'run' if runs == 1 else 'runs'}, {len(damaged)} damaged")
    for check in damaged:
        kept = "removes it"
        if check.readable:
            kept = (
                f"keeps the {check.sound:,} rows before the damage, and the command that began it "
                "goes on"
            )
        elif check.sound:
            kept += "; the command that began it puts it right, and goes on from all of its rows"
        if check.whole_file:
            kept = "saves what can be read into a new file"
        if check.digest or check.whole_file:
            run = f" {check.digest[:12]}".rstrip()
            lines.append(f"surefoot show{run} --repair --store {where} {kept}")
    return Answer(lines, json.dumps([_fields(c) for c in checks]), _DAMAGED if damaged else 0)


def _repaired(store: str, run: str) -> Answer:
    """What was wrong with a run, and what is kept of it; of a damaged file, of all runs."""
    from surefoot.store.outcomes import repair_run
    from surefoot.store.rescue import file_problem, rescue_runs

    if file_problem(store):
        rescue = rescue_runs(store)
        lines = [_kept_line(check) for check in rescue.runs]
        lines += [f"{rescue.store} has what could be read: use it from now on (--store)"]
        plain = {"store": rescue.store, "runs": [_fields(check) for check in rescue.runs]}
        return Answer(lines, json.dumps(plain))
    if run == LATEST:
        raise InvalidArgument(
            "--repair needs the name of a run: surefoot show --check lists those that are damaged"
        )
    check = repair_run(store, run)
    line = _kept_line(check) + ": nothing to repair" * (not check.problem)
    return Answer([line], json.dumps(_fields(check)))


def _kept_line(check: RunCheck) -> str:
    """What is left of a run."""
    if not check.problem or not check.digest:
        return _line(check)
    if not check.readable:
        return f"run {check.digest[:12]} is removed: the command that began it starts afresh"
    return (
        f"run {check.digest[:12]} keeps {check.sound:,} of {check.rows:,} rows: the command "
        "that began it goes on from them"
    )


def _fields(check: RunCheck) -> dict[str, str | int | bool]:
    """As JSON, with the key that `--list` has for the run's name."""
    fields = asdict(check)
    return {"run": fields.pop("digest"), **fields}


def _line(check: RunCheck) -> str:
    if check.problem:
        return f"damaged: {check.problem}"
    return f"run {check.digest[:12]} is sound: {check.rows:,} rows"


def _listed(location: str) -> Answer:
    from surefoot.report.tables import Table
    from surefoot.store.locations import public_location
    from surefoot.store.outcomes import runs as runs_of

    runs, store = runs_of(location), public_location(location)
    fields = [
        {
            "run": r.digest,
            "started": r.started,
            "finished": r.finished and not r.stopped,
            "stopped": r.stopped,
            "trials": r.trials,
            "last_write": r.last_write,
            "model": "" if r.source is None else r.source.model,
            "command": "" if r.source is None else r.source.command,
            "preprocessing": r.spec.preparation,
            "clean_accuracy": r.clean_accuracy.get("", dict(r.clean_accuracy) or None),
        }
        for r in runs
    ]
    if not runs:
        return Answer([f"{store} has no runs yet"], json.dumps(fields))
    names = "run,begun,state,command,model,preprocessing,data,perturbation,clean accuracy,trials"
    headings, cells = tuple(names.split(",")), {cell for r in runs for cell in r.cells}
    rows = tuple(_row(r) for r in runs if r.digest not in cells)
    note = f"{len(cells):,} cells of suites are not listed: --json has them." if cells else ""
    table = Table(f"Runs in {store}", headings, rows, len(headings) - 2, note)
    return Answer([table], json.dumps(fields))


def _row(run: RunSummary) -> tuple[str, ...]:
    from surefoot.report.formatting import file_name
    from surefoot.report.key_figure import clean_words

    words, source = run.spec.words, run.source
    written = run.last_write[:19].replace("T", " ")
    state = "finished" if run.finished else f"unfinished, last written {written}"
    command = [] if source is None else source.command.split()
    return (
        run.digest[:12],
        run.started[:16].replace("T", " "),
        "stopped by the time limit" if run.stopped else state,
        command[1] if len(command) > 1 else "",  # estimate, certify; empty where Python called it
        "(in Python)" if source is None else file_name(source.model),
        run.spec.preparation or "none",
        words.source,
        f"{len(run.cells):,} cells"
        if run.cells
        else (source.perturb if source else "") or words.perturbation,
        clean_words(run.clean_accuracy),
        f"{run.trials:,}",
    )


@dataclass(frozen=True)
class ReportOptions(StoreOptions):
    """Where the report goes."""

    out: str = option("report.html", "Write the HTML report here.", names=("--out", "-o"))


def report(run: RunArgument = LATEST, *, options: ReportOptions) -> Answer:
    """Write the HTML report of a finished run."""
    from surefoot.study.read_store import read_result

    v.check_page_file("out", options.out)
    read_result(options.store, run).report(options.out)
    return Answer([options.out])


@dataclass(frozen=True)
class ReplayOptions(StoreOptions):
    """What is written of the trial, and which code may run."""

    save: str | None = option(
        None, "Write the perturbed input here: .png or .npy; any file for items."
    )
    trust: bool = option(False, "Run the code, or ask the server, that the stored run names.")


def replay(
    run: RunArgument,
    subject: Annotated[str, Option("The id of an input.", metavar="INPUT", argument=True)],
    trial: Annotated[
        str,
        Option(
            "The number of a trial; of splitting also found-1, the failure of its first run.",
            metavar="TRIAL",
            argument=True,
        ),
    ],
    *,
    options: ReplayOptions,
) -> Answer:
    """Repeat one trial of a stored run."""
    from surefoot.study.read_store import read_study
    from surefoot.subject.items import item_change

    v.check_file(options.save)
    study = read_study(options.store, run, trust=options.trust)
    repeated = study.replay(subject, _trial(options.store, run, subject, trial))
    if options.save is not None:
        _save(Path(options.save), study, repeated.perturbed)
    fields = {
        "input": subject,
        "trial": int(trial) if trial.isdecimal() else trial,
        "clean": output_words(study, repeated.clean_label, repeated.clean_output),
        "perturbed": output_words(study, repeated.label, repeated.output),
        "severity": repeated.severity,
        "kept": repeated.kept,
    }
    how = f"severity {repeated.severity:.4g}: a trial fails at {repeated.limit:g} or above"
    if study.property.kind in ("true", "same"):  # the severity is a difference of two scores
        other, kind = repeated.severity, study.property.kind
        label = "true label" if kind == "true" else "label of the clean input"
        more = "more" if other >= 0 else "less"
        how = f"the best other label scores {abs(other):.4g} {more} than the {label}"
    lines = [
        f"Input {subject}, trial {trial}: clean {fields['clean']}, perturbed "
        f"{fields['perturbed']}: {'kept' if repeated.kept else 'failed'} ({how})."
    ]
    words = item_change(repeated.clean, repeated.perturbed) if study.fitted.holds_items else None
    if words is not None:
        fields |= {"before": words.before, "after": words.after}
        lines += [f"before: {words.before}\nafter: {words.after}"] if words.before else []
    return Answer(lines, json.dumps(fields, ensure_ascii=False))


def _trial(store: str, run: str, subject: str, name: str) -> int | Particle:
    """The trial of this name: a number, or what a run of splitting found."""
    from surefoot.study.read_store import read_result

    if re.fullmatch(r"-?[0-9]{1,18}", name):
        return int(name)
    result = read_result(store, run).by_id.get(subject)
    runs = result.runs if isinstance(result, RareFailure) else ()
    known = {f"found-{i}": one.found for i, one in enumerate(runs, 1) if one.found is not None}
    if name not in known:
        names = ", ".join(known) or "none of splitting"
        raise InvalidArgument(
            f"trial must be a number or a failure that was found (of input {subject}: {names}), "
            f"got {name!r}: give one of them"
        )
    return known[name]


def output_words(study: Study, label: int | None, output: object) -> str:
    """The class of an output, or the output itself where the model has no classes."""
    prop: Any = study.property
    return prop.words(output) if label is None else study.fitted.class_name(label)


def _save(path: Path, study: Study, x: object) -> None:
    import numpy as np

    from surefoot.core.results import Interval
    from surefoot.engine.examples import png

    try:
        if study.fitted.holds_items:
            _save_item(path, x)
            return
        array = np.asarray(x)
        if path.suffix == ".npy":
            file = io.BytesIO()
            np.save(file, array)
            write_whole(path, file.getvalue())
        elif not study.fitted.frame:
            raise InvalidArgument("these inputs are not images: save them as .npy")
        else:
            known = study.model.signature.bounds
            values = known or Interval(float(array.min()), float(array.max()))
            write_whole(path, base64.b64decode(png(array, study.fitted.frame, values)))
    except OSError as error:
        raise ReportFailed(
            f"{path} cannot be written ({error.strerror or error}): choose another place"
        ) from error


def _save_item(path: Path, item: object) -> None:
    """A text or bytes as they are, a Pillow image in the format of the file's name."""
    save = getattr(item, "save", None)
    if isinstance(item, str):
        write_whole(path, item.encode("utf-8", "surrogatepass"))
    elif isinstance(item, bytes | bytearray):
        write_whole(path, bytes(item))
    elif save is not None:
        try:
            save(path)
        except ValueError as error:
            raise InvalidArgument(f"{path}: {error}: write it as perturbed.png") from error
    else:
        raise InvalidArgument(
            f"an item that is {type(item).__name__} has no file format: use study.replay in Python"
        )


@dataclass(frozen=True)
class ExportOptions:
    """Which document, where it goes, and what is required of the run."""

    to: Literal["model-card", "hugging-face", "cyclonedx", "junit", "sentence", "csv", "latex"] = (
        option(
            "model-card",
            "Which document: a Markdown section, model-index, an ML-BOM, tests, one sentence for a "
            "paper, or a table of the report as CSV or LaTeX (booktabs).",
            common=True,
        )
    )
    out: str | None = option(
        None, "Write it here (default: print it).", names=("--out", "-o"), common=True
    )
    store: str = option(STORE, "File or postgresql:// URL of the evidence.", common=True)
    require: str | None = option(
        None, "Require this much of the result, as its command does: 0.95, or all.", common=True
    )
    require_each: str | None = option(
        None, "Require it of every class: 0.9; or of those named: stop=0.99.", common=True
    )
    require_these: str | None = option(
        None, "Require it of at least this share of these inputs: 0.95.", common=True
    )


def export(
    run: Annotated[
        str,
        Option(
            "The first characters of a run's name, latest, or run.evidence.json",
            metavar="RUN",
            argument=True,
        ),
    ] = LATEST,
    *,
    options: ExportOptions,
    document: DocumentOptions,
    caller: Caller,
) -> Answer:
    """Write a finished run as a part of another document."""
    from surefoot.report.export.document import format_named
    from surefoot.report.export.table import CLAIMS, table_names
    from surefoot.study.read_store import read_run

    v.check_text_file(options.out)
    result = read_run(run, options.store)
    least, each, these = options.require, options.require_each, options.require_these
    before = result.record.required
    if least is not None or each is not None or these is not None:
        result = result.require(
            "all" if least == "all" else None if least is None else v.as_number("require", least),
            of_each_class=None if each is None else v.class_shares("require_each", each),
            of_these=None if these is None else v.share("require_these", these),
            accept_clean_accuracy=before is not None and before.accept_clean_accuracy,
        )
    elif result.verdicts and not format_named(options.to).verdicts:
        caller.remark(f"what was required of the run is left out: {options.to} has no place for it")
        result = replace(result, verdicts=())
    text = result.export(options.out, options.to, **vars(document))
    others = [name for name in table_names(result.view) if name != (document.table or CLAIMS)]
    if options.to in ("csv", "latex") and others and not document.table:
        caller.remark(f"other tables of this run: {', '.join(others)} (--table {others[0]})")
    if options.out is None:
        return Answer([text])
    caller.remark(about_run(result))
    return Answer([options.out])


def about_run(result: Result) -> str:
    """Which run a file is written of: its name, and what was studied."""
    return f"run {result.record.digest[:12]}: {result.view.about}"


@dataclass(frozen=True)
class ServeOptions:
    """Which stores are shown, to whom, and what readers may run."""

    store: Sequence[str] | None = option(
        None, "File or postgresql:// URL with runs; may be repeated.", repeats=True
    )
    host: str = option("127.0.0.1", "Address to listen on; the default is this machine alone.")
    port: int = option(8420, "Port to listen on; 0 is any free one.")
    token_env: str | None = option(
        None,
        "Environment variable with the token that readers must give. Without it one is made and "
        "printed as a link.",
    )
    no_token: bool = option(
        False, "Ask for no token: every user and program of this machine can read the stores."
    )
    replay: Sequence[str] | None = option(
        None,
        "Let readers replay trials of runs whose model and data are in this folder; may be "
        "repeated.",
        repeats=True,
    )
    trust: bool = option(False, "With --replay: run code, ask servers that a run names.")
