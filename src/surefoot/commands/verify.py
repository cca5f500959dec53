"""`evidence`, `verify` and `key`: the evidence of a run for a second party, and how it is checked.

With model and data, trials are run again.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from surefoot.commands import values as v
from surefoot.commands.caller import Answer, Caller
from surefoot.commands.options import STORE
from surefoot.commands.stored import LATEST, RunArgument, about_run
from surefoot.records.options import FileOptions, Option, option, option_name, refused

if TYPE_CHECKING:
    from surefoot.evidence.answers import EvidenceCheck
    from surefoot.evidence.statement import Evidence
    from surefoot.recheck.rebuild_study import RerunRequest


@dataclass(frozen=True)
class EvidenceOptions:
    """Where the evidence goes, and who signs it."""

    out: str = option("run.evidence.json", "Write the evidence here.", names=("--out", "-o"))
    store: str = option(STORE, "File or postgresql:// URL of the evidence.")
    key: str | None = option(None, "Private key that signs the file (surefoot key new).")


def evidence(run: RunArgument = LATEST, *, options: EvidenceOptions, caller: Caller) -> Answer:
    """Write the evidence of a finished run."""
    from surefoot.evidence.write import write_evidence
    from surefoot.study.read_store import read_result

    out = options.out
    v.check_text_file(out)
    result = read_result(options.store, run)
    write_evidence(result.record.digest, out, store=options.store, key=options.key)
    caller.remark(about_run(result))
    signs = " (unsigned; --key key.pem signs it)" if options.key is None else ""
    return Answer([f"{out}{signs}"])


@dataclass(frozen=True)
class KeyOptions:
    """Where a key goes."""

    out: str = option(
        "key.pem", "Write the private key here, the public as .pub.", names=("--out", "-o")
    )


def key(
    action: Annotated[Literal["new"], Option("Make a new key.", metavar="new", argument=True)],
    *,
    options: KeyOptions,
) -> Answer:
    """Make a key that signs evidence."""
    del action  # there is only one
    from surefoot.evidence.envelope import key_id, new_key, read_public_key

    v.check_file(options.out)
    public = new_key(options.out)
    name = key_id(read_public_key(public))[:16]
    return Answer(
        [f"{options.out} signs; keep it to yourself", f"{public} checks; publish it (key {name})"]
    )


_SEEDS = 10**12
"""Seeds that a fresh one is drawn from: nobody can run them all beforehand, and it can be typed."""


def _again(default: v.Given, text: str, **more: v.Given) -> v.Given:
    return option(default, text, panel="Running trials again (with --model and --data)", **more)


@dataclass(frozen=True)
class RerunOptions:
    """What is run again, where model and data are."""

    share: v.Number | None = _again(
        None,
        "Part of the trials to run again, at least one, though it be fewer than without it "
        "(default: 0.01, and no fewer than notice 5 % altered with probability 95 %).",
    )
    seed: int | None = _again(
        None, "Seed that draws the trials to run again (default: a fresh one).", least=0
    )
    proofs: int | None = _again(None, "Proofs of critical radii to do again (default: 3).", least=0)
    perturb: str | object | None = _again(
        None, "The perturbation, where it is code of your own: mine.py:halve:0.5"
    )
    property: str | object | None = _again(
        None, "The property, where it is code of your own: @module:name"
    )


def check_evidence(
    path: Annotated[str | Path, Option("The evidence of a run.", metavar="FILE", argument=True)],
    key: Annotated[str | Path | None, Option("Public key that must have signed the file.")] = None,
    *,
    model: Annotated[
        v.AnyModel,
        Option(
            "Also run trials again, with this model; of a comparison --model A --model B.",
            metavar="MODEL",
            repeats=True,
        ),
    ] = None,
    data: Annotated[v.AnyData, Option("The data for that, as in the run.", metavar="DATA")] = None,
    time_limit: Annotated[
        float | None,
        Option(
            "Give up after so long, exit code 2 (default: 30, and 100 more for each MB).",
            metavar="SECONDS",
        ),
    ] = None,
    rerun: RerunOptions,
    inputs: FileOptions,
    caller: Caller,
) -> EvidenceCheck:
    """Check the evidence of a run; with model and data, run some of its trials again.

    `key`: the file of the public key that must have signed it. `model` and `data` as for
    `sf.estimate`, with the options that the run read them with; of a comparison a list of models,
    as for `sf.compare`. `share` of the trials is run
    again, drawn by a `seed` of yours; without it 0.01, and no fewer than notice 5 % altered with
    probability 95 %. `time_limit`: of running them again, or without model of
    the check itself (30 seconds, and 100 more for each MB of the file). Its `exit_code` is that of
    `surefoot verify`. The sizes that a file states are limited before anything is made of them;
    that command also limits the memory of its process.

    Example: print(sf.check_evidence("run.evidence.json", model="model.onnx", data="test.npz"))
    """
    from surefoot.evidence.check import read_and_check

    request = requested_rerun(model, data, rerun, inputs)
    own_limit = time_limit if request is None else None  # else it is that of the trials run again
    check, evidence = read_and_check(path, key, time_limit=own_limit)
    return run_again(check, evidence, request, time_limit, caller)


def requested_rerun(
    model: v.AnyModel, data: v.AnyData, rerun: RerunOptions, inputs: FileOptions
) -> RerunRequest | None:
    """What is to be run again; None without model and data. What makes no sense is refused."""
    given = {name: value for name, value in vars(rerun).items() if value is not None}
    if model is None or data is None:
        plain = vars(FileOptions())
        names = [*given, *(name for name, value in vars(inputs).items() if value != plain[name])]
        if model is not None or data is not None:
            one, other = ("model", "data") if data is None else ("data", "model")
            raise refused(
                one,
                model if data is None else data,
                f"needs {option_name(other)} too: trials are run again with both; "
                "give both, or neither",
            )
        if names:
            raise refused(
                names[0],
                None,
                "is for running trials again: give model and data too "
                "(--model model.onnx --data test.npz), or leave it out",
            )
        return None
    if rerun.share is not None:
        given["share"] = v.as_number("share", rerun.share)
        if not 0 < given["share"] <= 1:
            raise refused(
                "share",
                rerun.share,
                f"is the part of the trials to run again, above 0 and at most "
                f"1, got {given['share']:g}: try 0.01",
            )
    from surefoot.recheck.rebuild_study import RerunRequest

    several = model.values() if isinstance(model, Mapping) else model
    models = tuple(several) if isinstance(model, Mapping | list | tuple) else (model,)
    return RerunRequest(models, data, files=inputs, **{"seed": secrets.randbelow(_SEEDS)} | given)


def run_again(
    check: EvidenceCheck,
    evidence: Evidence | None,
    request: RerunRequest | None,
    time_limit: float | None,
    caller: Caller,
) -> EvidenceCheck:
    """The check with model and data, where both are given."""
    if request is None or evidence is None:
        return check
    from surefoot.recheck.check_with_model import check_with_model

    with caller.display("inputs") as watch:
        shown = replace(request, on_progress=watch, announce=caller.announce)
        return check_with_model(check, evidence, replace(shown, time_limit=time_limit))
