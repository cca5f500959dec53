"""What a user reads beside results: progress, names of models, warnings."""

import warnings

import pytest

from surefoot.cli.main import app
from surefoot.cli.parsing import refused_word
from surefoot.cli.terminal import print_own_warnings
from surefoot.commands.caller import SecondsLeft, TimeLeft, progress_words
from surefoot.commands.request import named_models
from surefoot.engine.progress import Progress
from surefoot.errors import SurefootWarning


def test_progress_says_how_much_time_is_left(monkeypatch):
    clock = iter([10.0, 12.0, 20.0])
    monkeypatch.setattr("surefoot.commands.caller.time.monotonic", lambda: next(clock))
    left = TimeLeft()
    assert left.update(Progress(0, 100, 0, 5)) is None
    assert left.update(Progress(20, 100, 1, 5, most=300)) == SecondsLeft(8.0, 28.0)
    assert left.update(Progress(5, 100, 0, 5)) is None  # the next of several studies
    left = SecondsLeft(8.0)
    words = progress_words(Progress(20, 100, 1, 5), "inputs", left)
    assert words == "measuring: 20 of about 100 trials, 1/5 inputs done, about 8 s left"
    words = progress_words(Progress(20, 100, 1, 5, most=300), "inputs", SecondsLeft(8.0, 28.0))
    assert "of about 100 trials (at most 300)" in words
    assert words.endswith("about 8 s left (at most 28 s)")
    words = progress_words(Progress(20, 100, 1, 5, most=5000), "inputs", left)
    assert "of about 100 trials or more" in words
    assert words.endswith("about 8 s left or more")
    words = progress_words(Progress(20, 100, 0, 5, most=100), "inputs", left)
    assert words.startswith("measuring: 20 of at most 100 trials")
    assert words.endswith("at most 8 s left")


ADDRESSES = {
    ("https://a.org/v2/models/net", "http://b.org/v2/models/old/"): ["net", "old"],
    ("https://a.org/v2/models/net/versions/1", "https://a.org/v2/models/net/versions/2"): [
        "net version 1",
        "net version 2",
    ],
    ("https://a.org/v2/models/net", "https://b.org:8443/x/v2/models/net/versions/3", "n.onnx"): [
        "net",
        "net version 3",
        "n.onnx",
    ],
    ("https://a.org/v2/models/net", "http://a.org:80/v2/models/net", "d/n.onnx"): [
        "net on a.org",
        "net on a.org:80",
        "d/n.onnx",
    ],
    ("d/n.onnx", "e/n.onnx"): ["d/n.onnx", "e/n.onnx"],
}


@pytest.mark.parametrize("models", ADDRESSES)
def test_a_model_behind_an_address_has_its_own_name_and_the_host_where_two_share_it(models):
    assert list(named_models(list(models))) == ADDRESSES[models]


def test_our_warnings_are_sentences_on_a_terminal_and_others_stay_as_they_are(monkeypatch, capsys):
    others = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: others.append(str(message)))
    print_own_warnings()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("the server did not answer at once", SurefootWarning, stacklevel=1)
        warnings.warn("theirs", stacklevel=1)
    assert capsys.readouterr().err == "the server did not answer at once\n"
    assert others == ["theirs"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["key", "mykey"], "action must be new, got mykey"),
        (["estimate", "m", "d", "--seed=x"], "--seed must be an integer ≥ 0, got x"),
        (["export", "--to", "pdf"], "--to must be one of model-card,"),
    ],
)
def test_words_that_cannot_be_read_are_refused_in_our_words(words, said):
    with pytest.raises(Exception, match=r".") as raised:
        app(words, standalone_mode=False)
    assert refused_word(raised.value, raised.value.ctx).startswith(said)
