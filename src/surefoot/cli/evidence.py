"""`evidence`, `verify` and `key`: evidence that a second party can check."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any, Literal

import typer

from surefoot.cli import options as o
from surefoot.cli.output import command_line, say_run
from surefoot.cli.progress import progress_on_stderr
from surefoot.cli.store_commands import LATEST, RunArg
from surefoot.cli.terminal import HOLDS, prints_to_stderr
from surefoot.commands import verify as function
from surefoot.commands.caller import Caller
from surefoot.commands.output_files import check_file, check_text_file
from surefoot.errors import InvalidArgument

_MEMORY_BYTES = 2 * 2**30
"""That a check may take: 100,000 inputs take less, and a file of a stranger shall not take all."""
_SECONDS = 600.0
"""For all of a check with model and data, where no limit is given."""


def evidence(
    run: RunArg = LATEST,
    out: Annotated[
        str, typer.Option("--out", "-o", help="Write the evidence here.")
    ] = "run.evidence.json",
    store: o.StoreOption = o.DEFAULT_STORE,
    key: Annotated[
        str | None, typer.Option(help="Private key that signs the file (surefoot key new).")
    ] = None,
) -> int:
    """Write the evidence of a finished run, for a second party without model and data.

    The file holds the study, every claim, every input's result and the journal, as an in-toto
    statement. Check it with surefoot verify.

    Example: surefoot evidence latest -o run.evidence.json
    """
    from surefoot.evidence.write import write_evidence
    from surefoot.study.read_store import read_result

    check_text_file(out)
    result = read_result(store, run)
    write_evidence(result.record.digest, out, store=store, key=key)
    say_run(result)
    typer.echo(out if key is not None else f"{out} (unsigned; --key key.pem signs it)")
    return HOLDS


@o.options_of(function.check_evidence)
def verify(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The evidence of a run.")],
    *,
    key: Annotated[
        str | None, typer.Option(help="Public key that must have signed the file.")
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="Also run trials again, with this model; of a comparison --model A --model B.",
        ),
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="The data for that, as in the run.")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Give up after so long, exit code 2 (default: 30, and 100 more for each MB).",
        ),
    ] = None,
    json: o.Json = False,
    **options: Any,  # noqa: ANN401  the options of the command
) -> int:
    """Check the evidence of a run, without model and data or with both.

    Checks the signature, replays the journal through the method and recomputes every claim. With
    --model and --data, also compares their digests with the file, draws trials at random and runs
    them again; inputs of an attack beside them are attacked again. Exit codes: 0 all claims follow
    and all trials came out alike, 1 something does not, 2 something was not recomputed or not run
    again, 3 an error.

    Example: surefoot verify run.evidence.json
    """
    from surefoot.evidence.check import read_and_check
    from surefoot.evidence.within_limits import memory_limit

    if time_limit is not None and not time_limit > 0:
        raise InvalidArgument(f"--time-limit must be above 0 seconds, got {time_limit:g}: try 600")
    rerun, inputs, models = options["rerun"], options["inputs"], model or None
    function.check_rerun(models, data, rerun, inputs)
    begun = time.monotonic()
    with memory_limit(_MEMORY_BYTES):
        check, evidence = read_and_check(file, key, time_limit=time_limit)
    left = max(begun + (time_limit or _SECONDS) - time.monotonic(), 1.0)
    caller = Caller(command_line(), progress_on_stderr, announce=_say)
    with prints_to_stderr():
        check = function.run_again(check, evidence, models, data, left, rerun, inputs, caller)
    typer.echo(check.to_json() if json else str(check))
    return check.exit_code


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")


def key(
    action: Annotated[Literal["new"], typer.Argument(metavar="new", help="Make a new key.")],
    out: Annotated[
        str, typer.Option("--out", "-o", help="Write the private key here, the public as .pub.")
    ] = "key.pem",
) -> int:
    """Make a key that signs evidence (Ed25519): a private file for you, a public one for others.

    Example: surefoot key new -o key.pem
    """
    del action  # there is only one
    from surefoot.evidence.envelope import key_id, new_key, read_public_key

    check_file(out)
    public = new_key(out)
    name = key_id(read_public_key(public))[:16]
    typer.echo(f"{out} signs; keep it to yourself\n{public} checks; publish it (key {name})")
    return HOLDS
