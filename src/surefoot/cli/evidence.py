"""`evidence`, `verify` and `key`: evidence that a second party can check."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from surefoot.cli import options as o
from surefoot.cli.store_commands import LATEST, RunArg
from surefoot.cli.terminal import HOLDS
from surefoot.commands.output_files import check_file
from surefoot.errors import EvidenceFailed, InvalidArgument

if TYPE_CHECKING:
    from surefoot.study.evidence_answers import EvidenceCheck

_SECONDS = 600.0
"""Within which a file must be recomputed: a million inputs take less."""


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
    from surefoot.study.write_evidence import write_evidence

    check_file(out)
    write_evidence(run, out, store=store, key=key)
    typer.echo(out if key is not None else f"{out} (unsigned; --key key.pem signs it)")
    return HOLDS


def verify(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The evidence of a run.")],
    key: Annotated[
        str | None, typer.Option(help="Public key that must have signed the file.")
    ] = None,
    time_limit: Annotated[
        float, typer.Option(metavar="SECONDS", help="Give up after so long; exit code 2.")
    ] = _SECONDS,
    json: o.Json = False,
) -> int:
    """Check the evidence of a run without model and data.

    Checks the signature, replays the journal through the method and recomputes every claim. Exit
    codes: 0 all claims follow, 1 one does not or the signature is wrong, 2 something was not
    recomputed, 3 the file cannot be read.

    Example: surefoot verify run.evidence.json
    """
    if not time_limit > 0:
        raise InvalidArgument(f"--time-limit must be above 0 seconds, got {time_limit:g}: try 600")
    check = _within(time_limit, file, key)
    if check is None:
        typer.echo(
            f"Undecided: {file} was not recomputed within {time_limit:g} seconds: pass a larger "
            "--time-limit, unless somebody made it to be slow."
        )
        return 2
    typer.echo(check.to_json() if json else str(check))
    return check.exit_code


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
    from surefoot.evidence_file.keys import key_id, new_key, read_public_key

    check_file(out)
    public = new_key(out)
    name = key_id(read_public_key(public))[:16]
    typer.echo(f"{out} signs; keep it to yourself\n{public} checks; publish it (key {name})")
    return HOLDS


def _within(seconds: float, file: str, key: str | None) -> EvidenceCheck | None:
    """The check, or None where it takes too long; its thread ends with the process."""
    from surefoot.study.check_evidence import check_evidence

    outcome: list[Any] = []

    def check() -> None:
        try:
            outcome.append(check_evidence(file, key))
        except BaseException as error:  # noqa: BLE001  raised where it is awaited
            outcome.append(error)

    thread = threading.Thread(target=check, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        return None
    if isinstance(outcome[0], MemoryError):
        raise EvidenceFailed(f"{file} needs more memory than there is") from outcome[0]
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    checked: EvidenceCheck = outcome[0]
    return checked
