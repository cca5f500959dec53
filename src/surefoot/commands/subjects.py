"""Models and inputs of a command, read as its options say, and where they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from surefoot.commands.caller import Caller
from surefoot.commands.function import is_plain
from surefoot.errors import InvalidArgument
from surefoot.models.endpoint_connection import is_address, read_address
from surefoot.records.record import Source
from surefoot.study.load_files import FileOptions
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Model, Scores


@dataclass(frozen=True, eq=False)
class Subjects:
    """Models by name, the inputs chosen for all of them, and what the user gave for them."""

    models: Mapping[str, Model]
    inputs: Inputs
    given: Mapping[str, Any]
    data: Any
    reading: FileOptions

    def source(self, name: str, caller: Caller, perturb: Any, property: Any) -> Source | None:  # noqa: ANN401  a perturbation, or its text
        """What a store remembers of the request; None where a part of it is in memory."""
        options = {f.name: getattr(self.reading, f.name) for f in fields(self.reading)}
        texts = [*self.given.values(), self.data, perturb, property]
        if not all(isinstance(text, str | Path) for text in texts):
            return None
        if not all(map(is_plain, options.values())):
            return None
        paths = [str(path) for path in self.given.values()]
        return Source(
            str(self.given[name]),
            str(self.data),
            {k: v for k, v in asdict(self.reading).items() if v is not None},
            command=caller.command,
            perturb=perturb,
            property=property,
            models=tuple(paths) if len(paths) > 1 else (),
            study=caller.study,
        )

    def sources(self, caller: Caller, perturb: Any, property: Any) -> dict[str, Source] | None:  # noqa: ANN401  a perturbation, or its text
        """The source of each model; None where a part of the request is in memory."""
        sources = {name: self.source(name, caller, perturb, property) for name in self.models}
        known = {name: source for name, source in sources.items() if source is not None}
        return known if len(known) == len(sources) else None


def read_subjects(
    models: Mapping[str, Any],
    data: Any,  # noqa: ANN401  any kind of data
    reading: FileOptions,
    seed: int,
    needs: Scores | None = None,
) -> Subjects:
    """Load the models and the inputs that are chosen for all of them.

    `needs` is what the property reads of a model.
    """
    loaded, inputs = reading.load(list(models.values()), data, seed, needs)
    return Subjects(dict(zip(models, loaded, strict=True)), inputs, models, data, reading)


def named_models(models: Any) -> dict[str, Any]:  # noqa: ANN401  any kinds of models
    """Several models by name: of a mapping its keys, of files their names, else a number."""
    if isinstance(models, Mapping):
        return {str(name): model for name, model in models.items()}
    if not isinstance(models, list | tuple):
        return {"": models}
    if len(models) == 1:
        return {"": models[0]}
    return dict(zip(_names(models), models, strict=True))


def _names(models: list[Any] | tuple[Any, ...]) -> list[str]:
    """File names, or whole paths where file names are ambiguous; `model 2` of one in memory.

    A model behind an address has its own name; its version and its host are added where two would
    be called the same.
    """
    paths = [str(m) if isinstance(m, str | Path) else f"model {i}" for i, m in enumerate(models, 1)]
    for name in (_file_name, _with_version, _with_host):
        names = [name(path) for path in paths]
        if len(set(names)) == len(names):
            return names
    if len(set(paths)) < len(paths):
        raise InvalidArgument("the same model is named twice: compare different models")
    return paths


def _file_name(path: str) -> str:
    return read_address(path, None).name if is_address(path) else Path(path).name


def _with_version(path: str) -> str:
    if not is_address(path):
        return Path(path).name
    address = read_address(path, None)
    return address.name if address.version is None else f"{address.name} version {address.version}"


def _with_host(path: str) -> str:
    """The whole path of a file."""
    if not is_address(path):
        return path
    return f"{_with_version(path)} on {read_address(path, None).server.partition('://')[2]}"
