"""Every command is a function of Python: the same options, the same defaults, the same run."""

import inspect
import json
from dataclasses import dataclass

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import surefoot as sf
from surefoot.catalogue.methods import ESTIMATORS
from surefoot.cli.main import app
from surefoot.commands import functions
from surefoot.commands.caller import Caller, choose_display, show_nothing
from surefoot.commands.functions import python_function
from surefoot.commands.methods import estimate_method
from surefoot.core.procedure import Needs
from surefoot.engine.progress import Progress
from surefoot.errors import InvalidArgument
from surefoot.records.options import option
from tests.unit.small_models import batch, relu_net

SHAPE = (1, 6, 6)
FILES = ("model.onnx", "test.npz")
COMMANDS = typer.main.get_command(app).commands
SHARED = sorted(name for name in COMMANDS if hasattr(functions, name))
ARGUMENTS = {"model", "models", "data", "perturb", "paths", "files"}
"""They come first in Python, and by position or as --perturb in a shell."""
SHELL_ONLY, PYTHON_ONLY = {"json", "help"}, {"progress"}
"""How a result is printed, and whether progress is shown: they decide nothing."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    relu_net(tmp_path / "model.onnx", SHAPE)
    relu_net(tmp_path / "old.onnx", SHAPE, 4)
    x = (255 * batch(6, SHAPE)).astype(np.uint8)
    np.savez(tmp_path / "test.npz", x=x, y=[0, 0, 1, 1, 2, 2])
    return tmp_path


def options_of_shell(name):
    flags = {p.opts[0].removeprefix("--").replace("-", "_"): p for p in COMMANDS[name].params}
    return {flag: p.default for flag, p in flags.items() if flag not in SHELL_ONLY | ARGUMENTS}


def options_of_python(name):
    parameters = inspect.signature(getattr(sf, name)).parameters
    return {n: p.default for n, p in parameters.items() if n not in PYTHON_ONLY | ARGUMENTS}


def test_all_commands_that_measure_are_functions():
    assert {
        "certify",
        "compare",
        "critical",
        "curve",
        "doctor",
        "estimate",
        "plan",
        "tail",
        "tally",
    } == (set(SHARED))
    assert all(getattr(sf, name).__doc__ for name in SHARED)


@pytest.mark.parametrize("name", SHARED)
def test_a_function_has_the_options_and_the_defaults_of_its_command(name):
    shell, python = options_of_shell(name), options_of_python(name)
    assert set(shell) == set(python)
    assert {n: str(default) for n, default in shell.items()} == {
        n: str(default) for n, default in python.items()
    }
    assert python.get("confidence") in ({None, 0.95} if name == "curve" else {0.95, None})


@pytest.mark.parametrize("name", SHARED)
def test_an_example_of_python_stands_in_the_docstring(name):
    (example,) = [line for line in inspect.getdoc(getattr(sf, name)).splitlines()
                  if line.startswith("Example: ")]  # fmt: skip
    assert f"sf.{name}(" in example


@dataclass(frozen=True)
class _Some:
    precision: float | str | None = option(None, "How precise.")


def test_an_option_is_one_line_for_shell_and_python():
    """A field added to a class of options is an argument, a flag with its help, and is checked."""
    from surefoot.cli import parsing

    def measure(model: str, *, measurement: _Some) -> str:
        return f"{model} {measurement.precision}"

    function = python_function(measure, {"_Some": _Some})
    assert str(inspect.signature(function)).startswith("(model: str, *, precision: ")
    assert function("m", precision=3) == "m 3"
    with pytest.raises(InvalidArgument, match="measure has no option 'precison': do you mean prec"):
        function("m", precison=3)
    (some,) = parsing.Groups.of(measure, {"_Some": _Some}).options()
    parameter = parsing._typer_parameter(some, some.option)
    assert (parameter.name, parameter.default) == ("precision", None)


SAME = {
    "estimate": (("--width", "0.3", "--confidence", "0.9", "--first", "4", "--bounds", "0,1"),
                 {"width": 0.3, "confidence": 0.9, "first": 4, "bounds": (0, 1)}),
    "certify": (("--kappa", "3/10", "--property", "true", "--classes", "0,2", "--max-trials", "40"),
                {"kappa": 0.3, "property": sf.properties.TrueLabel(), "classes": (0, 2),
                 "max_trials": 40}),
    "tail": (("--draws", "30", "--limit", "0.7", "--random", "3", "--seed", "5"),
             {"draws": 30, "limit": 0.7, "random": 3, "seed": 5}),
    "curve": (("--threshold", "0.5,0.3", "--resolution", "0.1", "--assume", "one-crossing",
               "--mean", "0.1", "--std", "0.5"),
              {"threshold": (0.5, 0.3), "resolution": 0.1, "assume": "one-crossing", "mean": 0.1,
               "std": 0.5}),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("first", ["shell", "python"])
def test_the_run_of_a_function_is_that_of_the_command(folder, name, first):
    words, options = SAME[name]
    text = "linf:0..0.2" if name == "curve" else "linf:0.2"

    def in_shell():
        done = CliRunner().invoke(app, [name, *FILES, "--perturb", text, *words, "--json"])
        return json.loads(done.stdout)["digest"]

    if first == "shell":
        digest = in_shell()
        result = getattr(sf, name)(*FILES, text, **options)
        assert result.from_store
        assert result.record.digest == digest
    else:
        result = getattr(sf, name)(*FILES, text, **options)
        assert not result.from_store
        assert in_shell() == result.record.digest
        assert [run.digest for run in sf.runs("surefoot.db")] == [result.record.digest]


def test_radii_are_the_same_run_too(folder):
    done = CliRunner().invoke(app, ["critical", *FILES, "--first", "2", "--samples", "0", "--json"])
    result = sf.critical(*FILES, first=2, samples=0)
    assert result.from_store
    assert result.record.digest == json.loads(done.stdout)["digest"]


def test_objects_are_the_same_run_as_files(folder):
    """A loaded model, arrays and an object for the perturbation; and nothing need be stored."""
    by_name = sf.estimate(*FILES, "linf:0.2", width=0.3)
    with np.load("test.npz") as data:
        arrays = data["x"], data["y"]
    noise, same = sf.perturb.LinfNoise(0.2), sf.properties.SameLabel()
    model = sf.load_model("model.onnx", bounds=(0, 1))
    for data in (arrays, sf.load_inputs("test.npz"), folder / "test.npz"):
        result = sf.estimate(model, data, noise, width=0.3, property=same, store=None)
        assert result.record.digest == by_name.record.digest
        assert not result.from_store
        assert result.command == ""
    assert by_name.command == "sf.estimate('model.onnx', 'test.npz', 'linf:0.2', width=0.3)"


def test_a_run_on_files_is_replayed_from_the_store(folder):
    result = sf.estimate(*FILES, "linf:0.2", width=0.3, bounds=(0, 1), first=3)
    study = sf.read_study("surefoot.db")
    assert study.digest == result.record.digest
    assert study.replay(result.inputs[0].id, 0).kept in (True, False)


def test_levels_and_models_stand_side_by_side(folder):
    swept = sf.estimate(*FILES, "linf", levels=(0.1, 0.2), width=0.3, store=None)
    assert list(swept.parts) == ["0.1", "0.2"]
    objects = sf.estimate(*FILES, sf.perturb.LinfNoise(), levels=(0.1, 0.2), width=0.3, store=None)
    assert objects.record.digest == swept.record.digest
    two = sf.compare(["model.onnx", "old.onnx"], "test.npz", "linf:0.2", width=0.3, not_worse=1.0,
                     reference=(0.9, 0.8))  # fmt: skip
    assert list(two.parts) == ["model.onnx", "old.onnx"]
    assert two.exit_code == 0
    models = {n: sf.load_model(f"{n}.onnx", bounds=(0, 1)) for n in ("model", "old")}
    by_name = sf.compare(
        models, "test.npz", "linf:0.2", width=0.3, reference={"model": 1, "old": 2}
    )
    assert {p.record.digest for p in by_name.parts.values()} == (
        {p.record.digest for p in two.parts.values()}
    )
    curves = sf.curve(models, "test.npz", ["linf:0.2", "blur:0..1"], resolution=0.1)
    assert "model, blur:0..1" in curves.parts


def test_a_curve_takes_an_object_with_or_without_its_level(folder):
    by_text = sf.curve(*FILES, "blur:0..1.5", resolution=0.1)
    by_object = sf.curve(*FILES, sf.perturb.GaussianBlur(1.5), resolution=0.1)
    assert by_object.from_store
    assert by_object.record.digest == by_text.record.digest
    turned = sf.curve(*FILES, sf.parse_perturbation("rotation:-20..20"), resolution=0.1)
    span = turned.details.curve.span
    assert (span.low, span.high) == (-20, 20)
    assert sf.curve(*FILES, sf.perturb.GaussianBlur(), resolution=0.1).details.curve.span.high > 0
    with pytest.raises(InvalidArgument, match="linf needs a range of levels"):
        sf.curve(*FILES, sf.perturb.LinfNoise())


def test_studies_are_compared_as_before(folder):
    inputs, noise = sf.load_inputs("test.npz"), sf.perturb.LinfNoise(0.2)
    method = sf.methods.FixedSize(0.4, 0.1)
    studies = {n: sf.Study(sf.load_model(f"{n}.onnx", bounds=(0, 1)), inputs, noise, method)
               for n in ("model", "old")}  # fmt: skip
    assert list(sf.compare(studies, error=0.1).parts) == ["model", "old"]
    with pytest.raises(InvalidArgument, match="models, data and a perturbation, or a dict of stud"):
        sf.compare(["model.onnx", "old.onnx"])


REFUSED = [
    ("estimate", {"widht": 0.1}, "estimate has no option 'widht': do you mean width"),
    ("estimate", {"zzz": 1}, r"no option 'zzz': see help\(\) for all"),
    ("estimate", {"first": 2.5}, "first must be an integer, got 2.5"),
    ("estimate", {"workers": 0}, "workers must be an integer ≥ 1, got 0"),
    ("estimate", {"seed": True}, "seed must be an integer ≥ 0, got True"),
    ("estimate", {"correct_only": "yes"}, "correct_only must be True or False, got 'yes'"),
    ("estimate", {"precision": 0.02, "width": 0.1}, "is for an estimate of each input"),
    ("estimate", {"about": "population"}, "add precision"),
    ("estimate", {"precision": 0.02, "about": "all"}, "must be these or population"),
    ("estimate", {"width": float("nan")}, r"width \(--width\) must be a finite number, got nan"),
    ("estimate", {"confidence": 95}, r"confidence \(--confidence\) .*got 95: write 0.95 for 95 %"),
    ("estimate", {"method": "magic"}, "no method 'magic': choose one of exact-sequential"),
    ("estimate", {"property": 3}, "3 is no property: write it as 'true'"),
    ("estimate", {"require": 80}, r"require \(--require\) must be between 0 and 1, got 80"),
    ("estimate", {"require": 0.5, "levels": (0.1, 0.2)}, "a requirement is about one level"),
    ("estimate", {"figure": "a.svg"}, "needs several levels"),
    ("estimate", {"report": "no/folder/r.html"}, "there is no folder"),
    ("estimate", {"time_limit": 0}, r"time_limit \(--time-limit\) is a number of seconds above 0"),
    ("estimate", {"first": 2, "random": 2}, "choose either first or random"),
    ("estimate", {"random": 60}, r"random \(--random\) 60: test.npz has 6 inputs"),
    ("estimate", {"shape": (1, -6)}, r"shape \(--shape\) must be the shape of one input"),
    ("certify", {}, r"give either kappa \(--kappa 1e-3\) or sil"),
    ("certify", {"kappa": 0.1, "attack": "pgd"}, "write attack_method='pgd'"),
    ("certify", {"kappa": 0.1, "attack_starts": 2}, r"needs attack=True \(--attack\)"),
    ("certify", {"sil": 5}, "sil must be an integer ≥ 1 and ≤ 4, got 5"),
    ("curve", {"grid": 64}, r"grid \(--grid\) is not for method sequential: use asap"),
    ("curve", {"threshold": "most"}, "'most' is not a number"),
    ("plan", {"width": 0.1, "kappa": 0.1}, r"either width \(--width\) or precision"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "says"), REFUSED)
def test_an_option_that_means_nothing_is_refused(folder, name, options, says):
    with pytest.raises(InvalidArgument, match=says):
        getattr(sf, name)(*FILES, "linf:0.2", **options)
    assert not (folder / "surefoot.db").exists()


def test_what_is_loaded_already_takes_no_options_of_loading(folder):
    model, inputs = sf.load_model("model.onnx", bounds=(0, 1)), sf.load_inputs("test.npz")
    with pytest.raises(InvalidArgument, match="bounds is for a model that is read here"):
        sf.estimate(model, inputs, "linf:0.2", bounds=(0, 1))
    with pytest.raises(InvalidArgument, match="scale is for a data that is read here"):
        sf.estimate("model.onnx", inputs, "linf:0.2", scale=1.0)
    with pytest.raises(InvalidArgument, match="leave out labels="):
        sf.estimate(model, (inputs.x, inputs.labels), "linf:0.2", labels=inputs.labels)
    with pytest.raises(InvalidArgument, match="3 is no perturbation: write it as 'linf:8/255'"):
        sf.estimate(model, inputs, 3)


def test_a_level_that_is_not_used_is_remarked_on(folder):
    with pytest.warns(UserWarning, match=r"0.1 in perturb .* is not used with levels \(--levels\)"):
        sf.estimate(*FILES, "linf:0.1", levels=(0.2, 0.3), width=0.4, store=None)


def test_a_plan_is_printed_in_lines(folder):
    lines = str(sf.plan(*FILES, "linf:0.2", width=0.3, assume=(1, 0.9))).splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("6 inputs; the model does about ")
    assert lines[1].startswith("If every input is kept with probability 1: ")


def test_where_nobody_watches_nothing_is_shown_unless_it_is_wanted():
    assert choose_display(False) is choose_display(None) is show_nothing
    assert choose_display(True) is not show_nothing
    with Caller().display("inputs") as watch:
        watch(Progress(0, 1, 0, 1))


@pytest.mark.parametrize(
    ("options", "option", "value"),
    [
        ({"width": "wide"}, "width", "wide"),
        ({"confidence": 95}, "confidence", 95),
        ({"about": "these"}, "about", "these"),
        ({"precision": 0.1, "width": 0.2}, "width", 0.2),
        ({"pilot_error": 0.01}, "pilot_error", 0.01),
        ({"method": "guess"}, "method", "guess"),
        ({"seed": -1}, "seed", -1),
        ({"half": 1}, "half", 1),
        ({"withd": 0.1}, "withd", 0.1),
        ({"require": 95}, "require", 95),
        ({"figure": "curve.svg"}, "figure", "curve.svg"),
        ({"ray_address": "auto"}, "ray_address", "auto"),
    ],
)
def test_a_refusal_carries_the_option_and_its_value(options, option, value):
    with pytest.raises(InvalidArgument) as refused:
        sf.estimate("model.onnx", "test.npz", "linf:8/255", store=None, **options)
    assert (refused.value.option, refused.value.value) == (option, value)


@dataclass(frozen=True)
class Halves:
    """A method that names no width."""

    error: float
    needs = Needs.SAMPLES


def test_a_method_is_given_the_options_that_it_names(monkeypatch):
    monkeypatch.setitem(ESTIMATORS, "halves", Halves)
    assert estimate_method(None, 0.9, "halves") == Halves(error=0.1)
    with pytest.raises(InvalidArgument) as refused:
        estimate_method(0.1, 0.9, "halves")
    assert (refused.value.option, refused.value.value) == ("width", 0.1)
