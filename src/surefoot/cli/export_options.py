"""Files with counterexamples and properties for other tools."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from surefoot.cli.output_files import check_file, check_folder
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.store.records import Record
    from surefoot.study import Study


@dataclass(frozen=True)
class ExportOptions:
    """What to write for other tools."""

    counterexamples: Annotated[
        str | None, typer.Option(help="Write the counterexamples here: counterexamples.npz.")
    ] = None
    vnnlib: Annotated[
        str | None,
        typer.Option(help="Write VNN-LIB properties and instances.csv into this folder."),
    ] = None

    def check(self, names: Sequence[str]) -> None:
        """Refuse early what could not be written."""
        for name in names:
            if self.counterexamples is not None:
                check_file(str(path_for_network(self.counterexamples, name)))
            if self.vnnlib is not None:
                check_folder(str(path_for_network(self.vnnlib, name)))
        if self.counterexamples is not None and Path(self.counterexamples).suffix != ".npz":
            raise InvalidArgument(
                f"--counterexamples must be a .npz file, got {self.counterexamples}"
            )

    def write(self, study: Study, record: Record, graph: str, name: str) -> None:
        """Write the files; with several networks, the network's name is in the file name."""
        from surefoot.study.export_counterexamples import write_counterexamples, write_properties

        if self.counterexamples is not None:
            path = path_for_network(self.counterexamples, name)
            number = write_counterexamples(study, record, path)
            sys.stderr.write(f"{number:,} counterexamples written to {path}\n")
        if self.vnnlib is not None:
            path = path_for_network(self.vnnlib, name)
            number = write_properties(study, record, Path(graph), path)
            sys.stderr.write(f"{number:,} properties written to {path}\n")


def path_for_network(path: str, name: str) -> Path:
    """The path with the network's name before its suffix; unchanged if the name is empty."""
    if not name:
        return Path(path)
    plain_name = name.replace("/", "_").replace("\\", "_")  # the name may be a whole path
    target = Path(path) if Path(path).name else Path(path).resolve()
    return target.with_name(f"{target.stem}-{plain_name}{target.suffix}")
