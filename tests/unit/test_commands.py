"""Every command is a function of Python: the same options, the same defaults, the same run."""

import inspect
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image

import surefoot as sf
from surefoot.catalogue.methods import METHODS
from surefoot.cli import parsing
from surefoot.cli.main import app
from surefoot.commands import functions
from surefoot.commands.caller import Caller, choose_display, show_nothing
from surefoot.commands.functions import python_function
from surefoot.engine.progress import Progress
from surefoot.errors import InvalidArgument, StoreFailed
from surefoot.records.options import option
from tests.refusals import raised, refused
from tests.shell import done_in_shell, in_shell
from tests.unit.small_models import batch, relu_net

DATA = Path(sf.__file__).parent / "data"
SHAPE = (1, 6, 6)
FILES = ("model.onnx", "test.npz")
COMMANDS = typer.main.get_command(app).commands
SHARED = sorted(name for name in COMMANDS if hasattr(functions, name))
ARGUMENTS = {"model", "models", "data", "perturb", "paths", "files"}
"""They come first in Python, and by position or as --perturb in a shell."""
SHELL_ONLY, PYTHON_ONLY = {"json", "explain", "help"}, {"progress"}
"""How a result is printed, and whether progress is shown: they decide nothing."""


@pytest.fixture
def folder(cwd):
    relu_net(cwd / "model.onnx", SHAPE)
    relu_net(cwd / "old.onnx", SHAPE, 4)
    x = (255 * batch(6, SHAPE)).astype(np.uint8)
    np.savez(cwd / "test.npz", x=x, y=[0, 0, 1, 1, 2, 2])
    return cwd


def options_of_shell(name):
    flags = {p.opts[0].removeprefix("--").replace("-", "_"): p for p in COMMANDS[name].params}
    return {flag: p.default for flag, p in flags.items() if flag not in SHELL_ONLY | ARGUMENTS}


def options_of_python(name):
    parameters = inspect.signature(getattr(sf, name)).parameters
    return {n: p.default for n, p in parameters.items() if n not in PYTHON_ONLY | ARGUMENTS}


def test_all_commands_that_measure_are_functions():
    names = "certify compare critical curve doctor estimate init plan smooth suite tail tally"
    assert names.split() == SHARED
    assert all(getattr(sf, name).__doc__ for name in SHARED)


@pytest.mark.parametrize("name", SHARED)
def test_a_function_has_the_options_and_the_defaults_of_its_command(name):
    shell, python = options_of_shell(name), options_of_python(name)
    assert set(shell) == set(python)
    assert {n: str(default) for n, default in shell.items()} == {
        n: str(default) for n, default in python.items()
    }
    own = 0.999 if name == "smooth" else 0.95  # as certificates are published
    assert python.get("confidence") in {None, own}


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

    def measure(model: str, *, measurement: _Some) -> str:
        return f"{model} {measurement.precision}"

    function = python_function(measure)
    assert str(inspect.signature(function)).startswith("(model: str, *, precision: ")
    assert function("m", precision=3) == "m 3"
    with pytest.raises(InvalidArgument, match="do you mean precision") as refusal:
        function("m", precison=3)
    assert (refusal.value.option, refusal.value.value) == ("precison", 3)
    (some,) = parsing.Groups.of(measure).options()
    parameter = parsing._typer_parameter(some, some.option)
    assert (parameter.name, parameter.default) == ("precision", None)


SAME = {
    "estimate": (("--each", "0.3", "--confidence", "0.9", "--first", "4", "--bounds", "0,1"),
                 {"each": 0.3, "confidence": 0.9, "first": 4, "bounds": (0, 1)}),
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


@pytest.mark.parametrize(
    ("name", "first"),
    [("estimate", "shell"), ("certify", "python"), ("tail", "shell"), ("curve", "python")],
)
def test_the_run_of_a_function_is_that_of_the_command(folder, name, first):
    words, options = SAME[name]
    text = "linf:0..0.2" if name == "curve" else "linf:0.2"

    def digest_in_shell():
        done = in_shell(name, *FILES, "--perturb", text, *words, "--json")
        return json.loads(done.stdout)["digest"]

    if first == "shell":
        digest = digest_in_shell()
        result = getattr(sf, name)(*FILES, text, **options)
        assert result.from_store
        assert result.record.digest == digest
    else:
        result = getattr(sf, name)(*FILES, text, **options)
        assert not result.from_store
        assert digest_in_shell() == result.record.digest
        assert [run.digest for run in sf.runs("surefoot.db")] == [result.record.digest]


def test_radii_are_the_same_run_too(folder):
    done = in_shell("critical", *FILES, "--first", "2", "--samples", "0", "--json")
    result = sf.critical(*FILES, first=2, samples=0)
    assert result.from_store
    assert result.record.digest == json.loads(done.stdout)["digest"]


def test_objects_are_the_same_run_as_files(folder):
    """A loaded model, arrays and an object for the perturbation; and nothing need be stored."""
    by_name = sf.estimate(*FILES, "linf:0.2", each=0.3)
    with np.load("test.npz") as data:
        arrays = data["x"], data["y"]
    noise, true = sf.perturb.LinfNoise(0.2), sf.properties.TrueLabel()
    model = sf.load_model("model.onnx", bounds=(0, 1))
    for data in (arrays, sf.load_inputs("test.npz"), folder / "test.npz"):
        result = sf.estimate(model, data, noise, each=0.3, property=true, store=None)
        assert result.record.digest == by_name.record.digest
        assert not result.from_store
        assert result.command == ""
    assert by_name.command == "sf.estimate('model.onnx', 'test.npz', 'linf:0.2', each=0.3)"


def test_levels_and_models_stand_side_by_side(folder):
    swept = sf.estimate(*FILES, "linf", levels=(0.1, 0.2), each=0.3, store=None)
    assert list(swept.parts) == ["0.1", "0.2"]
    objects = sf.estimate(*FILES, sf.perturb.LinfNoise(), levels=(0.1, 0.2), each=0.3, store=None)
    assert objects.record.digest == swept.record.digest
    two = sf.compare(["model.onnx", "old.onnx"], "test.npz", "linf:0.2", each=0.3, not_worse=1.0,
                     reference=(0.9, 0.8))  # fmt: skip
    assert list(two.parts) == ["model.onnx", "old.onnx"]
    assert two.exit_code == 0
    models = {n: sf.load_model(f"{n}.onnx", bounds=(0, 1)) for n in ("model", "old")}
    by_name = sf.compare(models, "test.npz", "linf:0.2", each=0.3, reference={"model": 1, "old": 2})
    assert {p.record.digest for p in by_name.parts.values()} == (
        {p.record.digest for p in two.parts.values()}
    )
    curves = sf.curve(models, "test.npz", ["linf:0..0.2", "blur:0..1"], resolution=0.1)
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
    refused("linf needs a range of levels", sf.curve, *FILES, sf.perturb.LinfNoise())


REFUSED = [
    ("estimate", {"widht": 0.1}, "widht"),
    ("estimate", {"first": 2.5}, "first"),
    ("estimate", {"workers": 0}, "workers"),
    ("estimate", {"seed": True}, "seed"),
    ("estimate", {"seed": -1}, "seed"),
    ("estimate", {"half": 1}, "half"),
    ("estimate", {"correct_only": "yes"}, "correct_only"),
    ("estimate", {"precision": 0.02, "each": 0.1}, "each"),
    ("estimate", {"each": 0.1, "about": "population"}, "about"),
    ("estimate", {"precision": 0.02, "about": "all"}, "about"),
    ("estimate", {"each": float("inf")}, "each"),
    ("estimate", {"each": "wide"}, "each"),
    ("estimate", {"pilot_error": 0.01}, "pilot_error"),
    ("estimate", {"confidence": 95}, "confidence"),
    ("estimate", {"method": "magic"}, "method"),
    ("estimate", {"property": 3}, "3 is no property: write it as 'true'"),
    ("estimate", {"require": 80}, "require"),
    ("estimate", {"require": 0.5, "levels": (0.1, 0.2)}, "a requirement is about one level"),
    ("estimate", {"figure": "a.svg"}, "figure"),
    ("estimate", {"ray_address": "auto"}, "ray_address"),
    ("estimate", {"report": "no/folder/r.html"}, "there is no folder"),
    ("estimate", {"time_limit": 0}, "time_limit"),
    ("estimate", {"first": 2, "random": 2}, "choose either first or random"),
    ("estimate", {"random": 60}, r"random \(--random\) 60: test.npz has 6 inputs"),
    ("estimate", {"shape": (1, -6)}, r"shape \(--shape\) must be the shape of one input"),
    ("certify", {}, r"give either kappa \(--kappa 1e-3\) or sil"),
    ("certify", {"kappa": 0.1, "attack": "pgd"}, "write attack_method='pgd'"),
    ("certify", {"kappa": 0.1, "attack_starts": 2}, "attack_starts"),
    ("certify", {"sil": 5}, "sil"),
    ("certify", {"kappa": 2}, "kappa must lie between 0 and 1, got 2"),
    ("certify", {"kappa": 0.1, "method": "peek"}, "no method 'peek'"),
    ("certify", {"kappa": 0.1, "require": "every"}, "require"),
    ("certify", {"kappa": 0.1, "require": "all", "require_these": 0.5}, "all of these inputs"),
    ("curve", {"grid": 64}, "grid"),
    ("curve", {"threshold": "most"}, "threshold"),
    ("plan", {"each": 0.1, "kappa": 0.1}, r"either each \(--each\) or precision"),
]
"""What is refused: an option with its value; else the words."""


@pytest.mark.parametrize(("name", "options", "what"), REFUSED)
def test_what_means_nothing_is_refused_with_the_option_and_its_value(folder, name, options, what):
    with pytest.raises(InvalidArgument, match=None if what in options else what) as refusal:
        getattr(sf, name)(*FILES, "linf:0..0.2" if name == "curve" else "linf:0.2", **options)
    if what in options:
        assert (refusal.value.option, refusal.value.value) == (what, options[what])
    assert not (folder / "surefoot.db").exists()


def test_what_is_loaded_already_takes_no_options_of_loading(folder):
    model, inputs = sf.load_model("model.onnx", bounds=(0, 1)), sf.load_inputs("test.npz")
    with pytest.raises(InvalidArgument, match="bounds is for a model that is read here"):
        sf.estimate(model, inputs, "linf:0.2", bounds=(0, 1))
    with pytest.raises(InvalidArgument, match="scale is for a data that is read here"):
        sf.estimate("model.onnx", inputs, "linf:0.2", scale=1.0)
    with pytest.raises(InvalidArgument, match="leave out labels="):
        sf.estimate(model, (inputs.x, inputs.labels), "linf:0.2", labels=inputs.labels)
    refused("3 is no perturbation: write it as 'linf:8/255'", sf.estimate, model, inputs, 3)


def test_a_level_that_is_not_used_is_remarked_on(folder):
    with pytest.warns(UserWarning, match=r"0.1 in perturb .* is not used with levels \(--levels\)"):
        sf.estimate(*FILES, "linf:0.1", levels=(0.2, 0.3), each=0.4, store=None)


def test_where_nobody_watches_nothing_is_shown_unless_it_is_wanted():
    assert choose_display(False) is choose_display(None) is show_nothing
    assert choose_display(True) is not show_nothing
    with Caller().display("inputs") as watch:
        watch(Progress(0, 1, 0, 1))


ESTIMATE = ("estimate", *FILES, "--perturb", "linf:8/255", "--each", "0.3", "--confidence", "0.9",
            "--bounds", "0,1")  # fmt: skip


def read():
    return sf.load_model("model.onnx", bounds=(0, 1)), sf.load_inputs("test.npz")


def test_doctor_finds_the_same_in_python(folder):
    checkup = sf.doctor(*read())
    printed = json.loads(done_in_shell("doctor", *FILES, "--bounds", "0,1", "--json").stdout)
    assert printed == [asdict(finding) for finding in checkup.findings]
    assert not checkup.bad
    lines = str(checkup).splitlines()
    assert len(lines) == len(checkup.findings)
    assert lines[0].startswith("ok    model: takes (1, 6, 6), gives ")


def test_model_and_data_are_loaded_as_a_command_loads_them(folder):
    """Pixels are read as such: the range of the model follows from the data."""
    model, inputs = sf.load(*FILES, random=3, seed=5)
    own = sf.estimate(model, inputs, "linf:8/255", each=0.3, seed=5, store=None)
    result = sf.estimate(*FILES, "linf:8/255", each=0.3, random=3, seed=5, store=None)
    assert own.record.digest == result.record.digest
    assert own.claims == result.claims
    several, _ = sf.load([FILES[0], FILES[0]], FILES[1])
    named, _ = sf.load({"new": FILES[0]}, FILES[1], first=2)
    assert len(several) == 2
    assert named["new"].signature == model.signature
    refused("load has no option 'frist'", sf.load, *FILES, frist=2)


def test_doctor_takes_inputs_in_another_layout_and_says_what_is_bad(folder):
    model, inputs = read()
    flat = sf.load_inputs(inputs.x.reshape(6, -1), inputs.labels)
    assert "data: 6 inputs of shape (1, 6, 6)" in str(sf.doctor(model, flat))
    broken = sf.load_model(lambda x: np.full((len(x), 2), np.nan), shape=SHAPE, bounds=(0, 1))
    checkup = sf.doctor(broken, inputs)
    assert checkup.bad
    assert "BAD " in str(checkup)


def test_a_run_of_the_command_line_is_read_and_replayed_in_python(folder):
    record = json.loads(done_in_shell(*ESTIMATE, "--json").stdout)
    (run,) = sf.runs("surefoot.db")
    assert (run.digest, run.finished) == (record["digest"], True)
    result = sf.read_result("surefoot.db")
    assert json.loads(result.to_json())["claims"] == record["claims"]
    assert str(sf.read_result("surefoot.db", run.digest[:8])) == str(result)
    study = sf.read_study("surefoot.db", run.digest[:8])
    assert study.digest == run.digest
    name = result.inputs[2].id
    again = json.loads(done_in_shell("replay", run.digest[:12], name, "5", "--json").stdout)
    trial = study.replay(name, 5)
    assert (again["severity"], again["kept"]) == (trial.severity, trial.kept)


def test_what_a_store_cannot_give_back_is_refused(folder):
    raised(StoreFailed, r"there is no store at none\.db", sf.runs, "none.db")
    raised(StoreFailed, r"there is no store at none\.db", sf.read_result, "none.db")
    noise, method = sf.perturb.LinfNoise(0.1), sf.methods.FixedSize(0.4, 0.4)
    sf.Study(*read(), noise, method).run("memory.db")
    refused("from a model in memory", sf.read_study, "memory.db")
    done_in_shell(*ESTIMATE)
    np.savez("test.npz", x=np.zeros((6, *SHAPE), np.uint8), y=[0, 0, 1, 1, 2, 2])
    raised(StoreFailed, "the digests differ", sf.read_study, "surefoot.db")


@pytest.mark.parametrize(
    ("words", "more", "arguments"),
    [
        ("blur:1", (), {}),
        ("fog", (), {}),
        ("rotation", ("--levels", "0,20,40"), {"levels": (0, 20, 40)}),
        ("linf:0.3", ("--samples", "2", "--seed", "7"), {"samples": 2, "seed": 7}),
    ],
)
def test_a_contact_sheet_is_the_same_in_python(folder, words, more, arguments):
    image = (255 * np.random.default_rng(1).random((8, 9, 3))).astype(np.uint8)
    Image.fromarray(image).save("cat.png")
    done_in_shell("perturb", words, "cat.png", *more)
    sheet = sf.contact_sheet("cat.png", words, **arguments)
    with Image.open("sheet.png") as written:
        assert np.array_equal(np.asarray(written), np.asarray(sheet))


def test_brackets_are_summarised_the_same_in_python(folder):
    rows = "".join(f"net,test,{i},0.0{i},0.0{i}5,1\n" for i in range(1, 9))
    (folder / "radii.csv").write_text("network,split,image,lower,upper,runtime_s\n" + rows)
    printed = json.loads(
        done_in_shell("brackets", "radii.csv", "--quantile", "0.5", "--json").stdout
    )
    result = sf.brackets("radii.csv", quantile=0.5)
    assert json.loads(result.to_json())["claims"] == printed["claims"]


def default(name, option):
    return next(p.default for p in COMMANDS[name].params if p.name == option)


@pytest.mark.parametrize(
    ("name", "method", "words"),
    [
        ("curve", "sequential-curve", "threshold resolution scope measure"),
        ("critical", "critical-level", "tolerance quantile seconds_per_input samples verifier"),
        ("critical", "critical-quantile", "tolerance quantile seconds_per_input samples within"),
        ("tail", "normal-tail", "draws normality"),
    ],
)
def test_a_method_has_the_defaults_of_its_command(name, method, words):
    of_method = {f.name: f.default for f in fields(METHODS[method])}
    for word in words.split():
        value, typed = of_method.get(word, of_method.get(f"{word}s")), default(name, word)
        (value,) = value if isinstance(value, tuple) else (value,)
        if typed is not None:  # None: the command leaves it to the method
            assert (float(typed) if isinstance(value, float) else typed) == value, word
    confidence = default(name, "confidence")
    assert confidence is None or 1 - float(confidence) == pytest.approx(of_method["error"])


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_running_text_and_ends_with_an_example(name):
    *paragraphs, example = COMMANDS[name].help.split("\n\n")
    assert paragraphs
    assert all("\n" not in part for part in paragraphs)
    assert example.startswith(f"Example: surefoot {name}")
    assert "\n" not in example  # what is pasted from two lines runs as two commands


@pytest.mark.parametrize(
    "twice",
    [
        ("--require-each", "Dress=0.2", "--require-each", "Bag=0.1"),
        ("--perturb", "blur:1", "--each=0.1", "--each", "0.2"),
    ],
)
def test_one_of_two_values_is_not_lost_in_silence(twice):
    done = in_shell("estimate", "model.onnx", "test.npz", "--perturb", "linf:8/255", *twice)
    assert done.exception.exit_code == 2
    assert "is given twice" in done.exception.format_message()


def test_options_that_take_several_values_are_given_several_times():
    done = in_shell("curve", "no.onnx", "no.npz", "--perturb", "blur:0..2", "--threshold", "0.6",
                  "--threshold", "0.9")  # fmt: skip
    assert "twice" not in str(done.exception)


def test_classes_in_another_order_are_said_before_the_number(cwd):
    data = np.load(DATA / "fashion_test.npz")
    x, y = data["x"][:100], (data["y"][:100] + 3) % 10
    net = str(DATA / "fashion_cnn.onnx")
    view = sf.estimate(net, (x, y), "gaussian:0.05", precision=0.2, require=0.6).view
    (caution,) = view.cautions_before
    assert "y = np.array([7, 8, 9, 0, 1, 2, 3, 4, 5, 6])[y]" in caution
    assert caution not in view.cautions_after and view.brief().startswith(caution)


def test_a_threshold_above_the_clean_accuracy_is_said_before_the_curve(folder):
    above = sf.curve(*FILES, "blur:0..1", threshold=(0.01, 0.99), resolution=0.2)
    clean = above.record.clean
    assert clean.right < clean.inputs and len(above.view.cautions_before) == 1
    assert not sf.curve(*FILES, "blur:0..1", threshold=0.01, resolution=0.2).view.cautions_before


def test_where_inputs_are_too_few_for_the_quantile_their_mean_radius_comes_first(folder):
    few = sf.critical(*FILES, first=3, seconds_per_input=1)
    assert few.view.headline[0].kind == "mean_radius"
    assert few.require(0.01).view.headline[0].kind == "radius_quantile"
