"""What is asked of a table or figure: models, data, its options, and how studies are run for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from papers.options import PaperOptions, Texts
from surefoot.commands.caller import Caller
from surefoot.commands.option import Groups
from surefoot.commands.values import Number, Numbers, as_number, as_numbers
from surefoot.errors import InvalidArgument
from surefoot.records.options import FileOptions, option_name
from surefoot.study.load_files import load_files

if TYPE_CHECKING:
    from papers.paper import Part
    from surefoot.study import Result
    from surefoot.subject.inputs import Inputs
    from surefoot.subject.protocols import Model


@dataclass(frozen=True, eq=False)
class Request:
    """Models by name, data, brackets, and the options as the part of the paper reads them.

    `options` has a value for every option of the part: the one that was given, else that of the
    paper, or the quick one. `files` says how model and data are read and which inputs are chosen.
    """

    part: Part
    models: Mapping[str, Any]
    data: Any
    brackets: str | Path | None
    options: Mapping[str, Any]
    files: FileOptions
    seed: int = 1
    store: str | Path | None = None
    workers: int | None = None
    quick: bool = False
    caller: Caller = Caller()  # noqa: RUF009  a frozen value

    def run(self, command: str, models: Any, perturb: Any, **options: Any) -> Result:  # noqa: ANN401  handed on as they are
        """Run `estimate`, `certify`, `tail`, `curve`, `critical` or `compare` with these options.

        `models` is one model, or for `compare` several by name. It is what `sf.estimate(…)` does,
        with the data, the seed and the store of this request. `critical` takes no perturbation.
        """
        function = getattr(import_module(f"surefoot.commands.{command}"), command)
        groups = Groups.of(function)
        own = {"seed": self.seed, "store": self.store, "workers": self.workers}
        values = {**{f.name: getattr(self.files, f.name) for f in fields(self.files)}, **own}
        values |= options
        chosen = groups.build(values)
        if values:
            raise InvalidArgument(f"{command} has no option {next(iter(values))!r}: leave it out")
        about = (self.data,) if command == "critical" else (self.data, perturb)
        result: Result = function(models, *about, **chosen, caller=self.caller)
        return result

    def refuse_correct_only(self) -> None:
        """For a table of accuracy: inputs chosen for being right say nothing of it."""
        if self.files.correct_only:
            raise InvalidArgument(
                f"correct_only (--correct-only) plays no part in {self.part.name}: its accuracy "
                "needs the inputs that a model gets wrong too, so leave it out"
            )

    def load(self) -> tuple[dict[str, Model], Inputs]:
        """The models by name, and the inputs that are chosen for all of them."""
        loaded, inputs = load_files(self.files, list(self.models.values()), self.data, self.seed)
        return dict(zip(self.models, loaded, strict=True)), inputs


def chosen_options(part: Part, given: Mapping[str, Any], *, quick: bool) -> dict[str, Any]:
    """The options of this part with the values given; one that it does not read is refused."""
    for name, value in given.items():
        if value is not None and name not in part.options:
            known = ", ".join(option_name(known) for known in part.options) or "none"
            raise InvalidArgument(
                f"{option_name(name)} plays no part in {part.name}: its options are {known}; leave "
                "it out"
            )
    values = {name: _read(name, value) for name, value in given.items() if value is not None}
    return {**part.options, **(part.quick if quick else {}), **values}


def _read(name: str, value: Any) -> Any:  # noqa: ANN401  what a user gives
    """Numbers from text; what may be given several times as a tuple."""
    hint = get_type_hints(PaperOptions)[name]
    if hint == Numbers | None:
        return as_numbers(name, value)
    if hint == Number | None:
        return as_number(name, value)
    if hint == Texts | None:
        return (value,) if isinstance(value, str) else tuple(value)
    return value
