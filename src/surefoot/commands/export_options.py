"""Files with counterexamples and properties for other tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.commands.option import option, option_name
from surefoot.commands.output_files import check_file, check_folder
from surefoot.errors import InvalidArgument

if TYPE_CHECKING:
    from surefoot.records.record import Record
    from surefoot.study import Study


@dataclass(frozen=True)
class ExportOptions:
    """What to write for other tools."""

    counterexamples: str | Path | None = option(
        None, "Write the counterexamples here: counterexamples.npz."
    )
    vnnlib: str | Path | None = option(
        None, "Write VNN-LIB properties and instances.csv into this folder."
    )

    def check(self, names: Iterable[str]) -> None:
        """Refuse early what could not be written."""
        for name in names:
            if self.counterexamples is not None:
                check_file(path_for_network(self.counterexamples, name))
            if self.vnnlib is not None:
                check_folder(path_for_network(self.vnnlib, name))
        if self.counterexamples is not None and Path(self.counterexamples).suffix != ".npz":
            raise InvalidArgument(
                f"{option_name('counterexamples')} must be a .npz file, got {self.counterexamples}"
            )

    def write(
        self,
        study: Study,
        record: Record,
        graph: object,
        name: str,
        remark: Callable[[str], None],
    ) -> None:
        """Write the files; with several networks, the network's name is in the file name."""
        from surefoot.study.export_counterexamples import write_counterexamples, write_properties

        if self.counterexamples is not None:
            path = path_for_network(self.counterexamples, name)
            number = write_counterexamples(study, record, path)
            remark(f"{number:,} counterexamples written to {path}")
        if self.vnnlib is not None:
            if not isinstance(graph, str | Path):
                raise InvalidArgument(
                    f"{option_name('vnnlib')} names the ONNX file: pass the model by its path"
                )
            path = path_for_network(self.vnnlib, name)
            number = write_properties(study, record, Path(graph), path)
            remark(f"{number:,} properties written to {path}")


def path_for_network(path: str | Path, name: str) -> Path:
    """The path with the network's name before its suffix; unchanged if the name is empty."""
    if not name:
        return Path(path)
    plain_name = name.replace("/", "_").replace("\\", "_")  # the name may be a whole path
    target = Path(path) if Path(path).name else Path(path).resolve()
    return target.with_name(f"{target.stem}-{plain_name}{target.suffix}")
