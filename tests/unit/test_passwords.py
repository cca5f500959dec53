"""A password in the address of a store is never shown, however odd it is."""

import re
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from surefoot.cli import main
from surefoot.errors import InvalidArgument
from surefoot.store.locations import check_location, public_location, without_passwords

FORMS = (
    "postgresql://u:{}@127.0.0.1:1/x", "postgres://u:{}@h/d?sslmode=require", "postgresql://:{}@/d",
    "PostgreSQL://u:{}@h/d", "postgresql+psycopg://u:{}@h/d", "postgresql://u@h/d?password={}",
    "postgresql://u@h/d?sslpassword={}&sslmode=require", "postgresql://u@h?sslmode=a&password={}",
    "postgresql://u@h/d?PASSWORD={}", "postgresql://u@h/d?pass%77ord={}",
    "postgresql:/u:{}@h/d", "postgresql:u:{}@h/d", "host=h user=u password={}",
)  # fmt: skip
ODD = st.text("QXZ019 \t\n@/:?#&=%'\"\\\x00\xa0.,;[]()*é", max_size=12)


@settings(max_examples=120, deadline=None)
@given(ODD, ODD, st.sampled_from(FORMS))
@example("QQQ ", "", FORMS[0])
@example("12 ", "", FORMS[0])
@example("ab'", "", FORMS[5])
@example("a/", "", FORMS[3])
def test_no_part_of_an_odd_password_is_shown(before, after, form):
    password = f"{before}WVWV{after}"
    typed = form.format(password)
    shown = [public_location(typed), public_location(f"--store={typed}")]
    try:
        check_location(typed)
    except InvalidArgument as refused:
        shown.append(str(refused))
    else:
        sentences = (f"no store {typed}: name one", f"got {typed!r}", f"{typed} and {typed}")
        shown += [without_passwords(sentence, typed) for sentence in sentences]
    for text in shown:
        for letters in re.findall("[A-Z]{3,}", password):
            assert letters not in text, text


@pytest.mark.parametrize("password", ["SECRET PW", "a/SECRET", "a@SECRET", "a?SECRET"])
def test_neither_a_command_nor_a_study_file_shows_a_password(
    tmp_path, monkeypatch, capsys, password
):
    where = f"postgresql://u:{password}@127.0.0.1:1/x"
    file, junit = tmp_path / "a.toml", tmp_path / "a.xml"
    (tmp_path / "there").write_text("")
    file.write_text(
        f'[[study]]\nname = "a"\ncommand = "estimate"\nstore = "{where}"\nperturb = "linf:0.1"\n'
        'model = "there"\ndata = "there"\n'
    )
    commands = (
        ["show", "--list", "--store", where], ["show", where], ["tally", f"--{where}"],
        ["run", str(file), "--junit", str(junit)],
    )  # fmt: skip
    for words in commands:
        monkeypatch.setattr(sys, "argv", ["surefoot", *words])
        assert main._run() == 3
    printed = capsys.readouterr()
    written = junit.read_text() if junit.exists() else ""
    assert "SECRET" not in printed.out + printed.err + written
    assert printed.err.count("%20") == len(commands)


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ("mysql://u:a SECRET@h/d", "URL of mysql"),
        ("sqlite://u:a SECRET@h/d", "sqlite:///file"),
        ("u:SECRET://x", "URL of another form"),
    ],
)
def test_other_addresses_are_refused_without_being_quoted(where, sentence):
    from surefoot.store import open_existing

    with pytest.raises(InvalidArgument, match=sentence) as refused:
        open_existing(where)
    assert "SECRET" not in str(refused.value)
