"""Keys, envelopes and packed tables: what is signed, and what a hostile file cannot do."""

import base64
import stat
from dataclasses import replace

import pytest

import surefoot as sf
from surefoot.errors import EvidenceFailed
from surefoot.evidence.envelope import (
    Envelope,
    pre_authentication_encoding,
    read_private_key,
    read_public_key,
)
from surefoot.evidence.packed import Unpacking, journal_entries, pack
from tests.refusals import raised, refused


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
