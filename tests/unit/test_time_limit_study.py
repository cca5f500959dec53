"""Studies under a time limit, and the option of the command line."""

import json
from dataclasses import replace

import pytest

import surefoot as sf
from surefoot.cli.terminal import present
from surefoot.errors import InvalidArgument
from surefoot.records.options import duration
from surefoot.report.provenance import provenance
from tests.early_curve import STOPPED, Stubborn, slow_study
from tests.refusals import refused
from tests.shell import in_shell
from tests.worlds import study

SHORT = 0.05


def test_a_study_refuses_before_it_makes_a_store(tmp_path):
    refused("conclude early", study().run, str(tmp_path / "s.db"), time_limit=5)
    with pytest.raises(InvalidArgument, match="conclude early"):
        sf.compare(
            {"a": slow_study(), "b": slow_study(Stubborn())},
            store=str(tmp_path / "s.db"),
            time_limit=5,
        )
    refused("conclude early", sf.sweep, study(), (0.1, 0.2), time_limit=5)
    assert list(tmp_path.iterdir()) == []


def curve_of(result):
    return result.details.curve


@pytest.mark.parametrize("on_disk", [True, False])
def test_a_stopped_study_is_finished_and_goes_on_when_it_is_run_again(tmp_path, on_disk):
    store = str(tmp_path / "s.db") if on_disk else None
    plain = slow_study().run(batch=40)
    first = slow_study().run(store, workers=1, batch=8, time_limit=SHORT)
    assert (first.record.stopped_early, curve_of(first).notes) == (True, (STOPPED,))
    assert first.record.digest == plain.record.digest
    if store is None:
        return
    assert sf.read_result(store).record == first.record
    second = slow_study().run(store, workers=1, batch=8, time_limit=SHORT)
    assert not second.from_store
    assert curve_of(second).trials >= curve_of(first).trials
    last = slow_study().run(store, batch=40)
    assert not last.record.stopped_early
    assert (last.claims, last.details, last.record.trials) == (
        plain.claims, plain.details, plain.record.trials,
    )  # fmt: skip
    again = slow_study().run(store, time_limit=SHORT)
    assert again.from_store
    assert again.record == last.record


def test_each_curve_of_a_comparison_has_the_limit_for_itself():
    other = replace(slow_study(), seed=2)
    both = sf.compare({"a": slow_study(), "b": other}, workers=1, batch=8, time_limit=SHORT)
    assert both.record.stopped_early
    assert all(part.record.stopped_early for part in both.parts.values())
    assert json.loads(both.to_json())["stopped_early"] is True


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 30), ("30s", 30), ("5m", 300), ("1h", 3600), ("1.5 m", 90), (".5", 0.5), (" 2 ", 2)],
)
def test_a_time_is_read_as_a_person_writes_it(text, seconds):
    assert duration("time_limit", text) == seconds


@pytest.mark.parametrize("text", ["0", "0s", "-5", "soon", "", "5d", "1e9999", "m", "1h30m", "nan"])
def test_what_is_no_time_is_refused_in_one_sentence(text):
    with pytest.raises(InvalidArgument) as refusal:
        duration("time_limit", text)
    assert (refusal.value.option, refusal.value.value) == ("time_limit", text)


@pytest.mark.parametrize("command", ["estimate", "certify", "tail", "curve", "compare"])
def test_every_measuring_command_reads_the_limit_before_the_files(command):
    files = ("none.onnx", "other.onnx", "none.npz")[command not in ("compare", "curve") :]
    words = [command, *files, "--perturb", "linf:0..1" if command == "curve" else "linf:0.1"]
    words += ["--kappa", "0.1"] * (command == "certify")
    outcome = in_shell(*words, "--time-limit", "0")
    assert outcome.exception.option == "time_limit"


def test_a_stopped_run_says_so_and_how_it_goes_on(capsys):
    result = slow_study().run(workers=1, batch=8, time_limit=SHORT)
    assert ", stopped by the time limit" in dict(provenance(result.record))["Trials"]
    present(result, as_json=True, store="s.db")
    last = capsys.readouterr().err.splitlines()[-1]
    assert last == "stopped by --time-limit: the same command continues the run"
    whole = replace(result, record=replace(result.record, stopped_early=False))
    present(whole, as_json=True, store="s.db")
    assert "time-limit" not in capsys.readouterr().err
