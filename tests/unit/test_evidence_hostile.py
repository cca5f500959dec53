"""A file of a stranger is refuted or refused in one sentence, soon and with little memory."""

import base64
import json
import random
import zlib
from dataclasses import replace

import pytest

import surefoot as sf
from surefoot.catalogue.registry import PERTURBATIONS, describe_perturbation, perturbation_of
from surefoot.errors import EvidenceFailed
from surefoot.evidence import within_limits
from surefoot.evidence.envelope import Envelope
from surefoot.evidence.statement import first_difference
from surefoot.evidence.within_limits import OutOfTime, memory_limit, within
from surefoot.study.read_store import read_run
from tests.refusals import raised
from tests.unit.test_evidence_file import GIVEN, exit_code, leaves, statement_of, with_leaf, write
from tests.worlds import example, points, study

HOSTILE = (
    10**9, 10**18, 10**400, -1, 1e-300, 1e300, True, None, "#7", "x" * 5000, [], {}, [[[]]],
)  # fmt: skip
SMALL = {"inputs": points(3), "method": sf.methods.FixedSize(0.3, 0.2)}
NO_MATTER = tuple(GIVEN)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    result = study(**SMALL).run().require(0.5)
    return result.evidence(tmp_path_factory.mktemp("hostile") / "run.json")


def answer(path):
    """The exit code of a check; a refusal is one sentence."""
    try:
        return sf.check_evidence(path).exit_code
    except EvidenceFailed as error:
        assert "\n" not in str(error)
        assert str(error).startswith(str(path))
        return 3


def test_a_hostile_value_anywhere_is_refuted_refused_or_without_effect(path, tmp_path):
    """Seeded: 60 of all leaves and values. The time of each is bounded by the test's own."""
    draw, statement = random.Random(5), statement_of(path)
    every = list(leaves(statement))
    passed = set()
    for _ in range(60):
        leaf, value = draw.choice(every), draw.choice(HOSTILE)
        bad = write(tmp_path / "bad.json", with_leaf(statement, leaf, value))
        if answer(bad) == 0 and first_difference(with_leaf(statement, leaf, value), statement):
            passed.add(".".join(map(str, leaf)))
    assert {name for name in passed if not name.startswith(NO_MATTER)} == set()


def test_a_value_that_cannot_be_is_named_whole_and_no_store_is_spoken_of(path, tmp_path):
    leaf = ("predicate", "claims", 0, "interval", "low")
    bad = write(tmp_path / "bad.json", with_leaf(statement_of(path), leaf, 1.5))
    words = raised(EvidenceFailed, r"claims\.0\..*interval: an interval", sf.check_evidence, bad)
    assert "store" not in words
    assert words.endswith("(surefoot evidence)")


def test_random_bytes_of_the_file_and_of_the_statement_never_crash_a_check(path, tmp_path):
    draw, bad = random.Random(6), tmp_path / "bad.json"
    text = path.read_bytes()
    payload = base64.b64decode(json.loads(text)["payload"])
    for number in range(80):
        content = bytearray(text if number % 2 else payload)
        for _ in range(draw.choice((1, 1, 3))):
            content[draw.randrange(len(content))] = draw.randrange(256)
        bad.write_bytes(content if number % 2 else Envelope(bytes(content)).text().encode())
        assert answer(bad) in (0, 1, 2, 3)


def test_a_table_that_unpacks_to_gigabytes_is_refused_before_it_is_unpacked(path, tmp_path):
    bomb = base64.b64encode(zlib.compress(b"[" * 10**7)).decode()
    statement = statement_of(path)
    for size in (10**7, 10**12):
        packed = {"encoding": "zlib+base64", "bytes": size, "data": bomb}
        bad = with_leaf(statement, ("predicate", "journal"), packed)
        with pytest.raises(EvidenceFailed, match=r"more values|all together"):
            sf.check_evidence(write(tmp_path / "bad.json", bad))
    arrays = {"encoding": "zlib+base64", "lengths": [10**9] * 9, "data": bomb}
    bad = with_leaf(statement, ("predicate", "counterexamples"), arrays)
    assert answer(write(tmp_path / "bad.json", bad)) == 3


def test_a_study_of_a_billion_inputs_is_not_counted_through(tmp_path):
    curve = sf.methods.SequentialCurve(0.0, 1.0, (0.8,), resolution=0.5)
    noise = sf.perturb.LinfNoise()
    result = study(inputs=points(4), method=curve, perturbation=noise).run()
    path = result.evidence(tmp_path / "run.json")
    leaf = ("predicate", "study", "inputs", "number")
    bad = write(path, with_leaf(statement_of(path), leaf, 10**9))
    raised(EvidenceFailed, "cannot be", sf.check_evidence, bad)


LARGE = {
    "exact-sequential": {"width": 6e-4, "error": 0.05},
    "bu-sun": {"width": 1e-9, "error": 0.05},
    "fixed-size": {"width": 6e-4, "error": 0.05},
    "okamoto": {"width": 1e-9, "error": 0.05},
    "kappa-test": {"kappa": 1e-9, "error": 1e-9, "max_trials": 10**15},
    "exact-binomial": {"kappa": 1e-9, "error": 1e-9, "max_trials": 10**15, "looks": 10**9},
    "normal-tail": {"draws": 10**15},
    "set-mean": {"precision": 1e-9, "error": 0.05, "size": 10**15},
    "population-mean": {"precision": 1e-9, "error": 0.05, "size": 10**15},
    "uniform-curve": {"low": 0.0, "high": 1.0, "thresholds": [0.8], "levels": 10**15},
    "asap-curve": {"low": 0.0, "high": 1.0, "thresholds": [0.8], "grid": 10**15},
    "sequential-curve": {"low": 0.0, "high": 1.0, "thresholds": [0.8], "resolution": 1e-9},
}
"""Options of methods that would need terabytes if all that they name were made."""


def memory_words(path):
    """What a check with 512 MiB of memory says."""
    with memory_limit(2**29):
        try:
            return str(sf.check_evidence(path, time_limit=0.2))
        except EvidenceFailed as error:
            return str(error)


@pytest.mark.slow
def test_no_sizes_that_a_file_states_have_a_check_take_much_memory(path, tmp_path):
    """Without a limit of the process: that of this test only notices. `MemoryError` has a word."""
    curve = sf.methods.UniformCurve(0.0, 1.0, (0.8,), levels=3)
    made = study(inputs=points(4), method=curve, perturbation=sf.perturb.LinfNoise()).run()
    samples, levels = statement_of(path), statement_of(made.evidence(tmp_path / "curve.json"))
    spec = ("predicate", "study")
    for base, of_curves in ((samples, False), (levels, True)):
        cases = [
            (("method",), {"kind": kind, "options": options})
            for kind, options in LARGE.items()
            if kind.endswith("curve") is of_curves
        ]
        cases += [(("inputs", "number"), n) for n in (10**6, 10**15)]
        cases += [(("model", "shape"), [n]) for n in (10**7, 10**15)]
        for leaf, value in cases:
            bad = write(tmp_path / "bad.json", with_leaf(base, (*spec, *leaf), value))
            words = memory_words(bad)
            assert "emory" not in words and "allocate" not in words, (leaf, value, words)
    study_of = samples["predicate"]["study"]
    study_of["perturbation"] = {"kind": "fog", "options": {"level": 3.0, "size": ""}}
    study_of["model"]["shape"] = study_of["inputs"]["frame"] = [1, 10, 10**5]
    words = memory_words(write(tmp_path / "bad.json", samples))
    assert "emory" not in words and "allocate" not in words


def test_a_check_that_takes_too_long_is_ended_and_undecided(path, tmp_path, monkeypatch):
    monkeypatch.setattr(within_limits, "_STOP_SECONDS", 60.0)  # on a busy machine
    statement = statement_of(path)
    options = ("predicate", "study", "method")
    slow = {"kind": "exact-sequential", "options": {"width": 1e-3, "error": 0.05}}
    bad = write(tmp_path / "slow.json", with_leaf(statement, options, slow))
    check = sf.check_evidence(bad, time_limit=0.2)
    assert check.exit_code == 2
    assert "--time-limit" in check.claims[0].reason
    with pytest.raises(OutOfTime):
        within(0.01, lambda: [None for _ in iter(int, 1)])


def test_another_version_is_refused_with_the_way_out(path, tmp_path):
    statement = statement_of(path)
    newer = {("predicateType",): "urn:surefoot:evidence:v2", ("predicate", "format"): 7}
    for leaf, value in newer.items():
        bad = write(tmp_path / "newer.json", with_leaf(statement, leaf, value))
        raised(EvidenceFailed, "pip install -U surefoot", sf.check_evidence, bad)


def test_verdicts_are_recomputed_and_a_forged_one_is_named(path, tmp_path):
    check = sf.check_evidence(path)
    assert [one.status for one in check.verdicts] == ["follows"]
    statement = statement_of(path)
    stated = statement["predicate"]["verdicts"][0]["requirement"]["verdict"]
    other = "FAIL" if stated == "PASS" else "PASS"
    forged = with_leaf(statement, ("predicate", "verdicts", 0, "requirement", "verdict"), other)
    check = sf.check_evidence(write(tmp_path / "bad.json", forged))
    assert check.conclusion.startswith("Altered or damaged (an unsigned file): a verdict")
    assert "what follows is" in check.verdicts[0].reason
    for leaf, value in (
        (("predicate", "required", "least"), 0.999),
        (("predicate", "required"), None),
        (("predicate", "verdicts"), []),
        (("predicate", "claims"), statement["predicate"]["claims"][:1]),
    ):
        assert exit_code(write(tmp_path / "bad.json", with_leaf(statement, leaf, value))) == 1
    nothing = study(**SMALL).run().evidence(tmp_path / "nothing.json")
    assert "Nothing was required of it." in sf.check_evidence(nothing).explain()


@pytest.mark.parametrize("word", ["perturbation", "property", "reference"])
def test_words_that_the_options_do_not_mean_are_refuted_and_not_exported(word, path, tmp_path):
    """Words are not in the digest of a study, but people read nothing else."""
    statement = statement_of(path)
    statement["predicate"]["study"]["words"][word] = "uniform noise of radius 0.9"
    forged = write(tmp_path / "forged.evidence.json", statement)
    check = sf.check_evidence(forged)
    assert check.exit_code == 1
    assert f"the {word} in words" in check.explain()
    raised(EvidenceFailed, "in words", read_run, str(forged), "")
    statement["predicate"]["origin"]["environment"]["surefoot"] = "0.0.1"
    assert sf.check_evidence(write(forged, statement)).exit_code == 2


def test_words_of_code_of_the_user_are_named_as_unchecked(tmp_path):
    own = sf.perturb.custom(lambda x, rng, level: x + level * rng.random(x.shape), level=0.1)
    made = study(**SMALL, perturbation=own).run().evidence(tmp_path / "own.evidence.json")
    check = sf.check_evidence(made)
    assert check.exit_code == 0
    assert "What the perturbation does: it is code of its user" in check.explain()
    card = read_run(str(made), "").export()
    assert "as the evidence file says it, not checked" in card
    assert "nobody compared them with the digests" in card


def test_the_words_of_every_perturbation_follow_from_what_a_file_has_of_it():
    """Else an honest file would be refuted."""
    one = [example(kind) for kind in PERTURBATIONS]
    two = sf.perturb.Chain((sf.perturb.LinfNoise(0.1), sf.perturb.Brightness(0.2)))
    for made in (*one, two, sf.perturb.RandomLevel(0.2, sf.perturb.LinfNoise(), 0.3)):
        again = json.loads(json.dumps(describe_perturbation(made)))
        assert perturbation_of(again.pop("kind"), again).phrase == made.phrase


def test_a_comparison_is_recomputed_from_both_journals(tmp_path):
    base = study(**SMALL)
    studies = {"new": base, "old": replace(base, seed=base.seed)}
    store = str(tmp_path / "runs.db")
    result = sf.compare(studies, store=store).require(not_worse=("new", 0.9))
    path = result.evidence(tmp_path / "both.json")
    check = sf.check_evidence(path)
    assert (check.exit_code, len(check.verdicts)) == (0, 1), str(check)
    shown = sf.read_result(store)
    assert (shown.claims, list(shown.parts)) == (result.claims, ["new", "old"])
    assert sf.check_evidence(sf.write_evidence("latest", tmp_path / "s.json", store=store)).checks
    statement = statement_of(path)
    journal = ("predicate", "parts", "old", "journal", "evidence", 0)
    for leaf, value in (
        (("predicate", "claims", 1, "value"), -0.4),
        (("predicate", "claims", 0, "said", "names"), ["new"]),
        (("predicate", "details", "members", 0, "accuracy"), 0.01),
        (("predicate", "parts", "old", "claims", 0, "value"), 0.01),
        (("predicate", "parts", "old", "run"), "0" * 64),
        (journal, "1"),
    ):
        assert exit_code(write(path, with_leaf(statement, leaf, value))) == 1, leaf
