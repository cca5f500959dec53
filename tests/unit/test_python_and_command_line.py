"""What the command line does, Python does with the same words and the same defaults."""

import json
from dataclasses import asdict, fields

import numpy as np
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

import surefoot as sf
from surefoot.cli.main import app
from surefoot.commands.perturb import SAMPLES
from surefoot.commands.tail import LIMIT
from surefoot.errors import InvalidArgument, StoreFailed
from tests.unit.small_models import batch, relu_net

SHAPE = (1, 6, 6)
FILES = ("model.onnx", "test.npz")
ESTIMATE = ("estimate", *FILES, "--perturb", "linf:8/255", "--width", "0.3", "--confidence", "0.9",
            "--bounds", "0,1")  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    relu_net(tmp_path / "model.onnx", SHAPE)
    x = (255 * batch(6, SHAPE)).astype(np.uint8)
    np.savez(tmp_path / "test.npz", x=x, y=[0, 0, 1, 1, 2, 2])
    return tmp_path


def command(*words: str) -> str:
    outcome = CliRunner().invoke(app, list(words))
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit), outcome.exception
    return outcome.stdout


def read():
    return sf.load_model("model.onnx", bounds=(0, 1)), sf.load_inputs("test.npz")


def test_doctor_finds_the_same_in_python(folder):
    checkup = sf.doctor(*read())
    printed = json.loads(command("doctor", *FILES, "--bounds", "0,1", "--json"))
    assert printed == [asdict(finding) for finding in checkup.findings]
    assert not checkup.bad
    lines = str(checkup).splitlines()
    assert len(lines) == len(checkup.findings)
    assert lines[0].startswith("ok    model: takes (1, 6, 6), gives ")


def test_model_and_data_are_loaded_as_a_command_loads_them(folder):
    """Pixels are read as such: the range of the model follows from the data."""
    model, inputs = sf.load(*FILES, random=3, seed=5)
    own = sf.estimate(model, inputs, "linf:8/255", width=0.3, seed=5, store=None)
    result = sf.estimate(*FILES, "linf:8/255", width=0.3, random=3, seed=5, store=None)
    assert own.record.digest == result.record.digest
    assert own.claims == result.claims
    several, _ = sf.load([FILES[0], FILES[0]], FILES[1])
    named, _ = sf.load({"new": FILES[0]}, FILES[1], first=2)
    assert len(several) == 2
    assert named["new"].signature == model.signature
    with pytest.raises(InvalidArgument, match="load has no option 'frist'"):
        sf.load(*FILES, frist=2)


def test_claims_are_sentences_and_texts_are_properties(folder):
    result = sf.estimate(*FILES, "linf:8/255", width=0.3, first=2, store=None)
    lines = sf.sentences(result.claims)
    assert len(lines) == len(result.claims)
    assert lines[0] == json.loads(result.to_json())["claims"][0]["sentence"]
    assert sf.parse_property("topk:2") == sf.properties.TopK(2)


def test_doctor_takes_inputs_in_another_layout_and_says_what_is_bad(folder):
    model, inputs = read()
    flat = sf.load_inputs(inputs.x.reshape(6, -1), inputs.labels)
    assert "data: 6 inputs of shape (1, 6, 6)" in str(sf.doctor(model, flat))
    broken = sf.load_model(lambda x: np.full((len(x), 2), np.nan), shape=SHAPE, bounds=(0, 1))
    checkup = sf.doctor(broken, inputs)
    assert checkup.bad
    assert "BAD " in str(checkup)


def test_a_run_of_the_command_line_is_read_and_replayed_in_python(folder):
    record = json.loads(command(*ESTIMATE, "--json"))
    (run,) = sf.runs("surefoot.db")
    assert (run.digest, run.finished) == (record["digest"], True)
    result = sf.read_result("surefoot.db")
    assert json.loads(result.to_json())["claims"] == record["claims"]
    assert str(sf.read_result("surefoot.db", run.digest[:8])) == str(result)
    study = sf.read_study("surefoot.db", run.digest[:8])
    assert study.digest == run.digest
    name = result.inputs[2].id
    again = json.loads(command("replay", run.digest[:12], name, "5", "--json"))
    trial = study.replay(name, 5)
    assert (again["severity"], again["kept"]) == (trial.severity, trial.kept)


def test_what_a_store_cannot_give_back_is_refused(folder):
    with pytest.raises(StoreFailed, match=r"there is no store at none\.db"):
        sf.runs("none.db")
    with pytest.raises(StoreFailed, match=r"there is no store at none\.db"):
        sf.read_result("none.db")
    noise, method = sf.perturb.LinfNoise(0.1), sf.methods.FixedSize(0.4, 0.4)
    sf.Study(*read(), noise, method).run("memory.db")
    with pytest.raises(InvalidArgument, match="from a model in memory"):
        sf.read_study("memory.db")
    command(*ESTIMATE)
    np.savez("test.npz", x=np.zeros((6, *SHAPE), np.uint8), y=[0, 0, 1, 1, 2, 2])
    with pytest.raises(StoreFailed, match="the digests differ"):
        sf.read_study("surefoot.db")


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
    command("perturb", words, "cat.png", *more)
    sheet = sf.contact_sheet("cat.png", words, **arguments)
    with Image.open("sheet.png") as written:
        assert np.array_equal(np.asarray(written), np.asarray(sheet))


def test_a_contact_sheet_takes_an_array_and_a_perturbation():
    image = np.zeros((3, 8, 8), np.float32)
    text, value = "blur:1", sf.perturb.GaussianBlur(1.0)
    assert sf.parse_perturbation(text) == value
    sheets = [np.asarray(sf.contact_sheet(image, made)) for made in (text, value)]
    assert np.array_equal(*sheets)


def test_brackets_are_summarised_the_same_in_python(folder):
    rows = "".join(f"net,test,{i},0.0{i},0.0{i}5,1\n" for i in range(1, 9))
    (folder / "radii.csv").write_text("network,split,image,lower,upper,runtime_s\n" + rows)
    printed = json.loads(command("brackets", "radii.csv", "--quantile", "0.5", "--json"))
    result = sf.brackets("radii.csv", quantile=0.5)
    assert json.loads(result.to_json())["claims"] == printed["claims"]


def default(name: str, option: str):
    parameters = typer.main.get_command(app).commands[name].params
    return next(p.default for p in parameters if p.name == option)


DEFAULTS = [
    ("curve", "sequential-curve", {"threshold": "thresholds", "resolution": "resolution",
                                   "scope": "scope", "measure": "measure"}),
    ("critical", "critical-level", {"tolerance": "tolerance", "quantile": "quantile",
                                    "seconds_per_input": "seconds_per_input",
                                    "samples": "samples", "verifier": "verifier"}),
    ("critical", "critical-quantile", {"tolerance": "tolerance", "quantile": "quantile",
                                       "seconds_per_input": "seconds_per_input",
                                       "samples": "samples", "within": "within"}),
    ("tail", "normal-tail", {"draws": "draws", "normality": "normality"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "method", "options"), DEFAULTS)
def test_a_method_has_the_defaults_of_its_command(name, method, options):
    of_method = {f.name: f.default for f in fields(sf.methods.METHODS[method])}
    for option, field in options.items():
        value, typed = of_method[field], default(name, option)
        if typed is None:  # the method's own default
            continue
        if isinstance(value, tuple):
            (value,) = value
        if typed is not None:  # None: the command leaves it to the method
            assert (float(typed) if isinstance(value, float) else typed) == value, option
    confidence = default(name, "confidence")
    assert confidence is None or 1 - float(confidence) == pytest.approx(of_method["error"])


def test_seeds_and_other_defaults_are_the_same_everywhere():
    seeds = {default(name, "seed") for name in ("estimate", "certify", "tail", "curve", "critical",
                                                "compare", "plan", "perturb")}  # fmt: skip
    assert seeds == {1} == {sf.Selection().seed, sf.Study.seed}
    assert sf.properties.NoConfidentMistake().limit == LIMIT
    assert (default("brackets", "quantile"), default("brackets", "confidence")) == ("0.05", "0.95")
    assert sf.brackets.__kwdefaults__ | {"quantile": 0.05, "error": 0.05} == (
        sf.brackets.__kwdefaults__
    )
    assert sf.contact_sheet.__defaults__[1:] == (SAMPLES, default("perturb", "seed"))
