"""A paper, its tables and figures, and what is asked of one: models, data, options, how to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import surefoot as sf
from papers.exhibit import Exhibit
from papers.words import Interval

InvalidArgument = sf.errors.InvalidArgument

STORE = "surefoot.db"
_ROMAN = {"i": "1", "ii": "2", "iii": "3", "iv": "4", "v": "5"}
_DATA = Path(str(files("surefoot") / "data"))
MODELS = {
    "fashion-cnn": _DATA / "fashion_cnn.onnx",
    "fashion-mlp-noise": _DATA / "fashion_mlp_noise.onnx",
}
"""Small networks for Fashion-MNIST that come with the package, by name."""
PROVABLE = {"fashion-mlp-noise": MODELS["fashion-mlp-noise"]}
"""Those whose radii are proved in seconds: one hidden layer of 32 ReLUs."""
IMAGES, BOUNDS = _DATA / "fashion_test.npz", (0.0, 1.0)
"""300 test images, the first 30 of each class, and the range of their pixels."""


@dataclass(frozen=True)
class Part:
    """A table or a figure.

    `options` are those that it reads, with the values of the paper; `quick` are the values that
    take seconds on the embedded networks. `needs` is what it is made from: models and data,
    brackets, or nothing.
    """

    name: str
    title: str
    make: Callable[[Request], Exhibit]
    options: Mapping[str, Any]
    quick: Mapping[str, Any]
    needs: tuple[str, ...]


@dataclass(frozen=True)
class Paper:
    """A paper: who wrote it, what it says in one sentence, and its tables and figures."""

    name: str
    authors: str
    title: str
    published: str
    summary: str
    parts: list[Part] = field(default_factory=list)

    def exhibit(
        self,
        name: str,
        title: str,
        options: Mapping[str, Any],
        quick: Mapping[str, Any] | None = None,
        needs: tuple[str, ...] = ("models", "data"),
    ) -> Callable[[Callable[[Request], Exhibit]], Callable[[Request], Exhibit]]:
        """A decorator of the function that makes the table or figure of this name."""

        def add(make: Callable[[Request], Exhibit]) -> Callable[[Request], Exhibit]:
            self.parts.append(Part(name, title, make, options, quick or {}, needs))
            return make

        return add

    def part(self, table: str | int | None = None, figure: str | int | None = None) -> Part:
        """The table or the figure of this number; Roman numerals are read too."""
        kind, number = ("table", table) if table is not None else ("figure", figure)
        text = str(number).strip().lower()
        wanted = f"{kind} {_ROMAN.get(text, text)}"
        for part in self.parts:
            if part.name == wanted:
                return part
        known = ", ".join(part.name for part in self.parts)
        raise InvalidArgument(f"{self.name} has no {wanted}: it has {known}; choose one of them")


@dataclass(frozen=True, eq=False)
class Request:
    """Models by name, data, brackets, and the options as the part of the paper reads them.

    `options` has a value for every option of the part: the one that was given, else that of the
    paper, or the quick one. `files` are the options of `sf.estimate` that say how model and data
    are read and which inputs are chosen. `announce` gets the name of each step before it runs.
    """

    part: Part
    models: Mapping[str, Any]
    options: Mapping[str, Any]
    files: Mapping[str, Any]
    data: Any = None
    brackets: str | Path | None = None
    quick: bool = False
    seed: int = 1
    store: str | Path | None = STORE
    workers: int | None = None
    progress: bool | None = None
    command: str = ""
    announce: Callable[[str], None] = lambda _: None

    @classmethod
    def of(cls, part: Part, models: Any, given: Mapping[str, Any]) -> Request:
        """From what a user gives; a name that is no option is refused."""
        own = {f.name for f in fields(cls)} - {"part", "models", "options", "files"}
        known = [*PART_OPTIONS, *FILE_OPTIONS, *own]
        for name in given:
            if name not in known:
                near = get_close_matches(name, known, n=3)
                way_out = f"do you mean {' or '.join(near)}?" if near else "see help(papers.make)"
                raise InvalidArgument(f"make has no option {name!r}: {way_out}")
        named, how = _named(models), {n: v for n, v in given.items() if n in own}
        files = {n: v for n, v in given.items() if n in FILE_OPTIONS}
        files = {n: v for n, v in files.items() if v is not None and v is not False}
        if how.get("quick") and not named and how.get("data") is None:
            named, how["data"], files = MODELS, IMAGES, {"bounds": BOUNDS, **files}
        asked = {n: v for n, v in given.items() if n in PART_OPTIONS}
        options = chosen_options(part, asked, quick=bool(how.get("quick")))
        return cls(part, named, options, files, **how)

    @property
    def missing(self) -> list[str]:
        """What the part is made from and was not given."""
        given = {"models": bool(self.models), "data": self.data is not None}
        given["brackets"] = self.brackets is not None or self.quick or all(given.values())
        return [what for what in self.part.needs if not given[what]]

    def make(self) -> Exhibit:
        """The exhibit, with its name, title and command."""
        if self.missing:
            raise InvalidArgument(
                f"{self.part.name} needs {' and '.join(self.missing)}: add "
                + " ".join(_HOW[what] for what in self.missing)
                + ", or --quick (quick=True) for the embedded networks"
            )
        made, name = self.part.make(self), self.part.name
        title = made.title or f"{name.capitalize()}: {self.part.title}"
        return replace(made, name=name, title=title, command=self.command)

    def run(self, command: str, model: Any, *perturb: Any, **options: Any) -> sf.Result:
        """`sf.estimate(…)`, `sf.tail(…)` or another, with the data and options of this request."""
        own = {n: getattr(self, n) for n in ("seed", "store", "workers", "progress")}
        function, values = getattr(sf, command), {**self.files, **own, **options}
        result: sf.Result = function(model, self.data, *perturb, **values)
        return result.repeated_by(self.command)

    def load(self, **changes: Any) -> tuple[dict[str, Any], Any]:
        """The models by name, and the inputs that are chosen for all of them."""
        files = {**self.files, **changes}
        models, inputs = sf.load(dict(self.models), self.data, seed=self.seed, **files)
        return models, inputs

    def only(self, name: str) -> float:
        """The value of an option of which this part takes one."""
        value, *more = self.options[name]
        if more:
            one = f"{option_name(name)} takes one number here, got {1 + len(more)}"
            raise InvalidArgument(f"{one}: make one table for each")
        return float(value)

    def refuse_correct_only(self) -> None:
        """For a table of accuracy: inputs chosen for being right say nothing of it."""
        if self.files.get("correct_only"):
            raise InvalidArgument(
                f"correct_only (--correct-only) plays no part in {self.part.name}: its accuracy "
                "needs the inputs that a model gets wrong too, so leave it out"
            )


_HOW = {
    "models": "--models model.onnx (models=…)",
    "data": "--data test.npz (data=…)",
    "brackets": "--brackets results.csv (brackets=…), or models and data to prove them",
}


def _named(models: Any) -> dict[str, Any]:
    """Models by name: of a mapping its keys, of files their names or whole paths, else a number."""
    if isinstance(models, Mapping):
        return {str(name): model for name, model in models.items()}
    several = list(models) if isinstance(models, list | tuple) else [models]
    of_memory = "model {}" if len(several) > 1 else "model"
    paths = [
        str(m) if isinstance(m, str | Path) else of_memory.format(i)
        for i, m in enumerate(several, 1)
    ]
    short = [Path(path).name for path in paths]
    return dict(zip(short if len(set(short)) == len(short) else paths, several, strict=True))


@dataclass(frozen=True)
class Option:
    """An option of tables and figures: its help, how its value is read, the least integer.

    `kind` is number, numbers, texts (which a shell may give several times), text, integer or flag.
    """

    text: str
    kind: str = "text"
    least: int = 0
    default: Any = None

    def read(self, name: str, value: Any) -> Any:
        """Numbers from text; what may be given several times as a tuple."""
        match self.kind:
            case "numbers":
                return numbers(name, value)
            case "number":
                return numbers(name, [value])[0]
            case "texts":
                return (value,) if isinstance(value, str) else tuple(value)
            case "integer":
                return whole(name, value, self.least)
        return value


PART_OPTIONS = {
    "perturb": Option("Perturbation, as for estimate; may be given several times.", "texts"),
    "levels": Option("Levels of the perturbation: 0.01,0.02,0.04.", "numbers"),
    "width": Option("How far each estimate may be from the truth.", "number"),
    "pairs": Option("Width and error: 0.05,0.05; may be given several times.", "texts"),
    "confidence": Option("Confidence of the result.", "number"),
    "kappa": Option("Largest allowed failure probabilities: 0.1,0.01.", "numbers"),
    "method": Option(
        "kappa-test, exact-binomial or published-doubling; may be given several times.", "texts"
    ),
    "property": Option("What must hold: true (label), same (label), …"),
    "attack_step": Option("Length of a step of PGD: 2/255.", "number"),
    "attack_iterations": Option("Steps of PGD.", "integer", 1),
    "attack_starts": Option("Random starts of PGD.", "integer", 1),
    "limit": Option("Confidence that no wrong class may reach.", "number"),
    "draws": Option("Trials per input.", "integer", 20),
    "input": Option("The input that is shown, by its id (default: a fitting one)."),
    "threshold": Option("Accuracies that the curve must not fall below.", "numbers"),
    "points": Option("ASAP's n: the numbers of levels allowed.", "numbers"),
    "curvature": Option("ASAP's â: the assumed curvatures.", "numbers"),
    "oracle": Option("Levels at which a whole curve is evaluated.", "integer", 21),
    "time_limit": Option("Conclude each curve after this time: 60, 90s, 10m."),
    "images": Option("Numbers of images: 10,20,50.", "numbers"),
    "repeats": Option("How often an experiment is repeated.", "integer", 1),
    "quantile": Option("σ: the share of inputs that may be less robust.", "number"),
    "gamma": Option("γ: the interval is shorter than this when it stops.", "number"),
    "bins": Option("Algorithm 1's n: bins of the quantile.", "integer", 8),
    "ceiling": Option("Algorithm 1's largest edge: no radius is above it.", "number"),
    "sample": Option("The most inputs that a run of algorithm 1 may take.", "integer", 1),
    "replacement": Option("Draw inputs with replacement: runs are independent.", "flag"),
    "seconds": Option("Seconds of proof per input.", "number"),
    "split": Option("The rows of a file of brackets with this split: test."),
    "source": Option(
        "Only rows of these sources: fairness,fomlas; of each network, of the first it has."
    ),
}
"""Of all tables and figures; each reads some of them and refuses the others."""


FILE_OPTIONS = {
    **dict.fromkeys(("bounds", "mean", "std", "scores", "shape", "output", "labels"), "text"),
    **dict.fromkeys(("label_pattern", "size", "class_names", "read_as", "group"), "text"),
    **dict.fromkeys(("device", "token_variable", "classes"), "text"),
    **dict.fromkeys(("scale", "length"), "number"),
    **dict.fromkeys(("first", "random"), "integer"),
    **dict.fromkeys(("half", "trust", "correct_only"), "flag"),
}
"""How model and data are read and which inputs are chosen: options of `sf.estimate`, which say what
they mean, and the kind of each."""


def chosen_options(part: Part, given: Mapping[str, Any], *, quick: bool) -> dict[str, Any]:
    """The options of this part with the values given; one that it does not read is refused."""
    for name, value in given.items():
        if value is not None and name not in part.options:
            known = ", ".join(map(option_name, part.options)) or "none"
            raise InvalidArgument(
                f"{option_name(name)} plays no part in {part.name}: its options are {known}; leave "
                "it out"
            )
    values = {n: PART_OPTIONS[n].read(n, v) for n, v in given.items() if v is not None}
    return {**part.options, **(part.quick if quick else {}), **values}


def option_name(name: str) -> str:
    """How an error names an option, for Python and for a shell: `time_limit (--time-limit)`."""
    return f"{name} (--{name.replace('_', '-')})"


def numbers(name: str, value: Any) -> tuple[float, ...]:
    """One number or several, as text with commas (0.05, 3e-2, 8/255) or as a sequence."""
    if isinstance(value, str) and "," in value:
        value = value.split(",")
    if not isinstance(value, str) and hasattr(value, "__iter__"):
        return tuple(one for part in value for one in numbers(name, part))
    try:
        return (float(Fraction(str(value).strip())),)
    except (ValueError, ZeroDivisionError):
        raise InvalidArgument(
            f"{option_name(name)}: {value!r} is not a number: write it as 0.03 or 8/255"
        ) from None


def whole(name: str, value: Any, least: int) -> int:
    """An integer of at least this size."""
    number, *more = numbers(name, value)
    if more or number != int(number) or number < least:
        raise InvalidArgument(f"{option_name(name)} must be an integer ≥ {least}, got {number:g}")
    return int(number)


def exact_interval(kept: int, trials: int, error: float) -> Interval:
    """Clopper and Pearson's interval of a probability."""
    return sf.statistics.clopper_pearson(sf.methods.Counts(trials, kept), error)


def error_of(confidence: float) -> float:
    """The allowed probability of being wrong: 1 - 0.95 is 0.05, not 0.050000000000000044."""
    if not 0 <= confidence <= 1:
        raise InvalidArgument(
            f"confidence (--confidence) must be between 0 and 1, got {confidence:g}"
        )
    return round(1 - confidence, 12)
