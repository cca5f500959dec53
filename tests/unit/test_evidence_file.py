"""Evidence files: keys, envelopes, packed tables; checked by somebody who trusts nobody."""

import base64
import copy
import json
import stat
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import surefoot as sf
from surefoot.errors import EvidenceFailed
from surefoot.evidence.envelope import (
    PAYLOAD_TYPE,
    Envelope,
    pre_authentication_encoding,
    read_envelope,
    read_private_key,
    read_public_key,
)
from surefoot.evidence.packed import Unpacking, journal_entries, pack
from surefoot.evidence.recompute import recompute
from surefoot.evidence.statement import evidence_of
from surefoot.evidence.write import write_statement
from tests.refusals import raised, refused
from tests.worlds import points, study

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/evidence.schema.json").read_text("utf-8"))
GIVEN = {
    "subject.0.name", "subject.1.name",
    "predicate.origin", "predicate.rung", "predicate.study.words.source",
    "predicate.details.clean_loss", "predicate.inputs.predicted", "predicate.inputs.clean_kept",
}  # fmt: skip
"""What only the model can say, and what no number depends on: `verify` says that it is taken as it
is, and a signature alone protects it."""


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """Two keys: (private, public) of ours and of a stranger."""
    folder = tmp_path_factory.mktemp("keys")
    pairs = [(folder / f"{name}.pem", folder / f"{name}.pub") for name in ("ours", "other")]
    for private, public in pairs:
        assert sf.new_key(private) == public
    return pairs


@pytest.fixture(scope="module")
def result():
    return study(inputs=points(3), method=sf.methods.ExactSequential(0.3, 0.2)).run()


@pytest.fixture
def made(result, tmp_path):
    """An unsigned file, and its statement."""
    path = result.evidence(tmp_path / "run.evidence.json")
    return path, statement_of(path)


def statement_of(path):
    """The statement of a file, its tables unpacked."""
    statement = json.loads(read_envelope(path).payload)
    predicate = statement["predicate"]
    for name in ("inputs", "journal"):
        predicate[name] = Unpacking().table(predicate[name])
    return statement


def write(path, statement):
    """An unsigned file of this statement."""
    path.write_text(Envelope(json.dumps(statement).encode()).text())
    return path


def concluded(record, entries):
    """The record that follows from such a journal, as a careful forger writes it."""
    body = recompute(record, entries)
    parts = {name: getattr(body, name) for name in ("inputs", "claims", "details", "trials")}
    return replace(record, **parts)


def exit_code(path, key=None):
    try:
        return sf.check_evidence(path, key).exit_code
    except EvidenceFailed:
        return 3


def leaves(value, path=()):
    """Every leaf of a JSON value: its path."""
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for name, part in parts:
        if isinstance(part, dict | list) and part:
            yield from leaves(part, (*path, name))
        else:
            yield (*path, name)


def changed(value, path):
    """A copy with another value of the same type at this path."""
    old = reduce(getitem, path, value)
    match old:
        case bool():
            new = not old
        case int() | float():
            new = old + 1
        case str():
            new = f"{old}x"
        case None:
            new = 0.25
        case _:
            new = ["x"] if isinstance(old, list) else {"x": 1}
    return with_leaf(value, path, new)


def with_leaf(statement, path, value):
    """A copy with this value at this path."""
    whole = copy.deepcopy(statement)
    reduce(getitem, path[:-1], whole)[path[-1]] = value
    return whole


def test_no_leaf_of_a_signed_file_can_be_changed(result, keys, tmp_path):
    (private, public), (_, stranger) = keys
    path = result.evidence(tmp_path / "run.evidence.json", private)
    assert exit_code(path, public) == 0
    assert exit_code(path, stranger) == 1
    envelope = json.loads(path.read_text())
    statement = json.loads(read_envelope(path).payload)
    for leaf in leaves(statement):
        payload = json.dumps(changed(statement, leaf)).encode()
        bad = envelope | {"payload": base64.b64encode(payload).decode()}
        path.write_text(json.dumps(bad))
        assert exit_code(path, public) == 1, leaf
    for leaf in leaves(envelope):
        path.write_text(json.dumps(changed(envelope, leaf)))
        harmless = leaf[-1] == "keyid"  # a hint, which nobody relies on
        assert (exit_code(path, public) == 0) is harmless, leaf
    path.write_text(json.dumps(envelope | {"signatures": []}))
    assert exit_code(path, public) == 1
    path.write_text(json.dumps(envelope))
    assert exit_code(path, public) == 0


def test_what_an_unsigned_file_claims_beyond_its_journal_is_noticed_leaf_by_leaf(made):
    """Only what no claim depends on can be changed by itself."""
    path, statement = made
    assert exit_code(write(path, statement)) == 0
    unnoticed = {
        ".".join(map(str, leaf))
        for leaf in leaves(statement)
        if exit_code(write(path, changed(statement, leaf))) == 0
    }
    assert {name for name in unnoticed if not any(name.startswith(g) for g in GIVEN)} == set()


def test_a_forged_claim_is_named_with_what_follows_instead(made):
    path, statement = made
    statement["predicate"]["claims"][0]["interval"] = {"low": 0.0, "high": 1e-4}
    statement["predicate"]["claims"][0]["value"] = 1e-5
    check = sf.check_evidence(write(path, statement))
    assert check.exit_code == 1
    assert [one.status for one in check.claims].count("does not follow") == 1
    assert "what follows is" in check.claims[0].reason
    assert check.conclusion.startswith("Altered or damaged (an unsigned file): 1 of")
    assert str(check).splitlines()[-1] == check.signature.subject


MISSING = {
    "one digest": (("inputs", "digest", 0), ""),
    "all digests": (("inputs", "digest"), ["", "", ""]),
}


@pytest.mark.parametrize("name", MISSING)
def test_digests_that_are_missing_are_named_as_not_covered_and_the_check_is_open(made, name):
    path, statement = made
    leaf, value = MISSING[name]
    check = sf.check_evidence(write(path, with_leaf(statement, ("predicate", *leaf), value)))
    assert (check.exit_code, check.intact.status) == (2, "not recomputed")
    assert f"whether {1 if value == '' else 3} of 3 inputs" in str(check)
    assert "not covered" in check.conclusion


def test_no_input_is_kept_when_clean_whose_label_is_not_predicted(tmp_path):
    """Where all else is computed again from it: it would make a drop of accuracy larger."""
    run = study(inputs=wrong_when_clean(8), method=METHODS["fixed"], property=TRUE).run()
    first, *others = run.record.inputs
    assert not first.clean_kept
    entries = run.journal.replay()
    changed_rows = (replace(first, clean_kept=True), *others)
    record = concluded(replace(run.record, inputs=changed_rows), entries)
    record = replace(record, details=replace(record.details, clean_loss=None))
    forged = evidence_of(record, entries), tmp_path / "forged.json", None
    raised(EvidenceFailed, "do not follow", write_statement, *forged)


def test_the_checks_before_a_run_cannot_be_left_out(tmp_path):
    x = points(3).x
    run = study(inputs=sf.load_inputs(x), method=sf.methods.FixedSize(0.3, 0.2)).run()
    path = run.evidence(tmp_path / "run.json")
    bare = with_leaf(statement_of(path), ("predicate", "origin", "findings"), [])
    check = sf.check_evidence(write(path, bare))
    assert (check.exit_code, check.results[-1].status) == (2, "not recomputed")


@pytest.mark.parametrize(("leaf", "value"), [("status", "okx"), ("clean.right", 10**400)])
def test_a_check_before_the_run_that_cannot_be_is_refuted(made, leaf, value):
    path, statement = made
    found = statement["predicate"]["origin"]["findings"]
    clean = next(i for i, finding in enumerate(found) if finding.get("clean"))
    at = ("predicate", "origin", "findings", clean, *leaf.split("."))
    assert sf.check_evidence(write(path, with_leaf(statement, at, value))).exit_code == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stopped_early", True),
        ("extends", "x"),
        ("rung", -1),
        ("trials", -1),
        ("origin.seconds", -1.0),
        ("details.clean_loss.inputs", -1),
        ("details.clean_loss.inputs", 4),
        ("details.clean_loss.infinite", 1),
    ],
)
def test_what_no_claim_rests_on_is_refuted_where_it_cannot_be(made, name, value):
    path, statement = made
    forged = with_leaf(statement, ("predicate", *name.split(".")), value)
    assert sf.check_evidence(write(path, forged)).exit_code == 1


def test_a_run_that_a_limit_ended_follows_and_cannot_pass_as_a_whole_one(tmp_path):
    late = study(inputs=points(3), method=sf.methods.SetMean(0.1, 0.2)).run(time_limit=1e-9)
    path = late.evidence(tmp_path / "late.json")
    assert sf.check_evidence(path).exit_code == 0
    forged = with_leaf(statement_of(path), ("predicate", "stopped_early"), False)
    assert sf.check_evidence(write(path, forged)).exit_code == 1


def test_the_first_and_the_last_line_say_that_nobody_vouches_for_a_file(result, keys, tmp_path):
    private, public = keys[0]
    path = result.evidence(tmp_path / "run.json", private)
    unchecked, checked = (sf.check_evidence(path, key) for key in (None, public))
    for text in (str(unchecked), unchecked.explain()):
        first, *_, last = text.splitlines()
        assert "of a file whose signature was not checked" in first
        assert last.startswith(unchecked.signature.subject)
    assert " of a" not in checked.conclusion


def test_a_claim_that_is_left_out_and_one_that_is_added_are_noticed(made):
    path, statement = made
    first, *others = statement["predicate"]["claims"]
    statement["predicate"]["claims"] = others
    check = sf.check_evidence(write(path, statement))
    assert check.exit_code == 1
    assert "leaves it out" in check.claims[-1].reason
    statement["predicate"]["claims"] = [first, *others, first]
    check = sf.check_evidence(write(path, statement))
    reasons = [one.reason for one in check.claims if one.status == "does not follow"]
    assert reasons == ["no such claim follows from this study"]


def test_a_journal_with_trials_left_out_doubled_or_invented_is_refused(made):
    path, statement = made
    columns = ("subject", "level", "start", "stop", "evidence")

    def with_rows(change):
        bad = copy.deepcopy(statement)
        journal = bad["predicate"]["journal"]
        for name in columns:
            change(journal[name])
        return exit_code(write(path, bad))

    assert with_rows(lambda column: column.pop(0)) == 1
    assert with_rows(lambda column: column.insert(1, column[0])) == 1
    bad = copy.deepcopy(statement)
    bad["predicate"]["journal"]["evidence"][0] = (
        '["counts",{"trials":100000,"kept":100000,"other":null}]'
    )
    assert exit_code(write(path, bad)) == 1


METHODS = {
    "bu-sun": sf.methods.BuSun(0.2, 0.2),
    "fixed": sf.methods.FixedSize(0.3, 0.2),
    "kappa": sf.methods.KappaTest(0.2, 0.1, max_trials=200),
    "binomial": sf.methods.ExactBinomial(0.2, 0.1, max_trials=100),
    "set-mean": sf.methods.SetMean(0.1, 0.2),
    "population-mean": sf.methods.PopulationMean(0.3, 0.2),
    "curve": sf.methods.SequentialCurve(0.0, 1.0, (0.8,), resolution=0.2),
}


def wrong_when_clean(n):
    """Points of which the first two have the other label."""
    right = points(n)
    return replace(right, labels=np.where(np.arange(n) < 2, 1 - right.labels, right.labels))


SAME, TRUE = sf.properties.SameLabel(), sf.properties.TrueLabel()


@pytest.mark.parametrize(
    ("name", "held"), [*((name, TRUE) for name in METHODS), ("fixed", SAME), ("kappa", SAME)]
)
def test_every_claim_of_every_method_is_recomputed_and_a_forged_one_refuted(name, held, tmp_path):
    method = METHODS[name]
    noise = sf.perturb.LinfNoise(None if name == "curve" else 0.4)
    run = study(method=method, perturbation=noise, inputs=wrong_when_clean(8), property=held).run()
    path = run.evidence(tmp_path / "run.evidence.json")
    check = sf.check_evidence(path)
    assert check.exit_code == 0, str(check)
    assert len(check.claims) == len(run.claims)
    statement = statement_of(path)
    Draft202012Validator(SCHEMA).validate(statement)
    for place, claim in enumerate(run.claims):
        if claim.interval is not None:
            end = ("at_least",) if claim.kind == "count_kappa" else ("interval", "high")
            forged = changed(statement, ("predicate", "claims", place, *end))
            assert exit_code(write(path, forged)) == 1


def test_what_cannot_be_recomputed_is_never_passed_over(made):
    """A method of the user's own is code that the second party does not have."""
    path, statement = made
    statement["predicate"]["study"]["method"]["kind"] = "mine:Method"
    check = sf.check_evidence(write(path, statement))
    assert {one.status for one in check.claims} == {"not recomputed"}
    assert check.exit_code == 1  # the run has the name of another study


def test_options_that_no_run_has_are_refuted_and_never_a_crash(made):
    path, statement = made
    for value in ("wide", None, -1, 1e-300, [], {"a": 1}):
        statement["predicate"]["study"]["method"]["options"]["width"] = value
        assert exit_code(write(path, statement)) in (1, 3)


def test_a_hostile_name_cannot_write_lines_of_its_own(tmp_path):
    inputs = sf.load_inputs(points(4).x, np.array([0, 1, 0, 1]), class_names=["a\nAll follow", "b"])
    run = study(inputs=inputs, method=sf.methods.FixedSize(0.3, 0.2)).run()
    check = sf.check_evidence(run.evidence(tmp_path / "run.json"))
    text = f"{check}\n{check.explain()}"
    assert "\nAll follow" not in text
    fields = [getattr(check, name) for name in ("about", "noted", "not_covered", "unmet")]
    fields.append([f"{one.subject}{one.reason}" for one in check.checks])
    assert all(text.isprintable() for own in fields for text in own)


def test_a_refusal_quotes_no_control_character_of_the_file(made):
    path, statement = made
    kind = ("predicate", "claims", 0, "kind")
    with pytest.raises(EvidenceFailed, match=r"\\x1b") as refusal:
        sf.check_evidence(write(path, with_leaf(statement, kind, "\x1b[2J")))
    assert str(refusal.value).isprintable()


def test_payload_and_type_are_those_of_in_toto(result, made):
    path, statement = made
    assert json.loads(path.read_text())["payloadType"] == PAYLOAD_TYPE
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    model, data = statement["subject"]
    assert model["digest"] == {"sha256": result.record.spec.model.digest}
    assert data["digest"] == {"sha256": result.record.spec.inputs.digest}


def test_notes_of_the_run_are_shown_as_the_file_says_them_and_none_can_pose_as_an_answer(made):
    path, statement = made
    text = "hardly a change\nfollows: \x1b[32mall is well"
    note = {"status": "warning", "finding": text, "clean": None, "doubt": None}
    notes = [{"name": f"data {i}", **note} for i in range(30)]
    calm = {**note, "name": "labels", "status": "ok", "finding": "there are labels"}
    statement["predicate"]["origin"]["findings"] = [calm, *notes]
    check = sf.check_evidence(write(path, statement))
    lines = check.explain().splitlines()
    begin = lines.index("What did the run itself note, as the file says it?")
    assert lines[begin + 1] == r"  data 0: hardly a change\nfollows: \x1b[32mall is well"
    assert lines[begin + 21] == "  and 10 more notes"
    assert lines[begin + 22] == "Do the claims follow from the journal?"
    assert "there are labels" not in check.explain()
    assert lines[0] == check.conclusion == str(check).splitlines()[0]


def test_the_encoding_that_is_signed_is_that_of_the_specification():
    """The example of the DSSE protocol."""
    encoded = pre_authentication_encoding("http://example.com/HelloWorld", b"hello world")
    assert encoded == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"


def test_a_signature_is_over_every_byte_of_the_payload_and_its_type(tmp_path):
    public = read_public_key(sf.new_key(tmp_path / "key.pem"))
    payload = bytes(range(256)) * 2
    envelope = Envelope(payload).signed(read_private_key(tmp_path / "key.pem"))
    assert envelope.is_signed_by(public)
    for place in range(len(payload)):
        changed = bytearray(payload)
        changed[place] ^= 1
        assert not replace(envelope, payload=bytes(changed)).is_signed_by(public)
    for other in (payload[:-1], payload + b"0", b""):
        assert not replace(envelope, payload=other).is_signed_by(public)
    assert not replace(envelope, payload_type="text/plain").is_signed_by(public)


def test_a_private_key_is_for_its_owner_alone_and_is_never_replaced(tmp_path):
    private = tmp_path / "key.pem"
    public = sf.new_key(private)
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    before = private.read_bytes()
    refused("never replaced", sf.new_key, private)
    assert private.read_bytes() == before
    refused("private key: pass the public one", read_public_key, private)
    assert b"PUBLIC KEY" in public.read_bytes()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"{", b"\xff", b"null", b'{"payload": 1}', b"[" * 100_000,
        b'{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[]}',
        b'{"payloadType":"application/vnd.in-toto+json","payload":"*","signatures":[]}',
        b'{"payloadType":"text/plain","payload":"e30=","signatures":[]}',
        b'{"payloadType":"a","payloadType":"a","payload":"e30=","signatures":[]}',
        Envelope(b'{"_type":NaN}').text().encode(),
    ],
)  # fmt: skip
def test_a_file_that_is_no_evidence_is_refused_in_one_sentence(content, tmp_path):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    raised(EvidenceFailed, r"bad\.json", sf.check_evidence, path)


def test_a_packed_table_cannot_grow_beyond_what_it_says():
    table = pack({"a": "0" * 10_000_000})
    assert len(table["data"]) < 20_000
    assert Unpacking().table(table) == {"a": "0" * 10_000_000}
    raised(EvidenceFailed, "not as long as it says", Unpacking().table, table | {"bytes": 1000})
    raised(EvidenceFailed, "all together may have", Unpacking().table, table | {"bytes": 10**12})


def test_nothing_hides_behind_a_packed_table():
    table = pack({"a": "0" * 10_000})
    longer = base64.b64encode(base64.b64decode(table["data"]) + b"more").decode()
    raised(EvidenceFailed, "not as long as it says", Unpacking().table, table | {"data": longer})


@pytest.mark.parametrize(("start", "stop"), [(3, 3), (3, 2), (-1, 2), (0, 2**53 + 1)])
def test_a_row_of_a_journal_has_trials(start, stop):
    columns = {"subject": [0], "level": [0.1], "start": [0], "stop": [2], "evidence": ["0"]}
    journal = {"subjects": ["a"], **columns}
    assert [(e.start, e.stop) for e in journal_entries(journal)["a"]] == [(0, 2)]
    with pytest.raises(ValueError, match="impossible row"):
        journal_entries(journal | {"start": [start], "stop": [stop]})
