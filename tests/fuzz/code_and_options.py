"""Functions that misbehave, PyTorch files, and values of options that make no sense."""

import random
import threading
from pathlib import Path
from typing import Any

from tests.fuzz.case import FAST, Case, mutated, sound_data, sound_model
from tests.unit.small_models import exported, scripted

_ONE_AT_A_TIME = threading.Lock()
"""Cases are written by several threads, and PyTorch exports in one."""
_BODIES = (
    "raise KeyError('a')",
    "raise KeyboardInterrupt",
    "raise SystemExit(0)",
    "raise SystemExit('text')",
    "raise asyncio.CancelledError",
    "raise BaseException('odd')",
    "raise GeneratorExit",
    "raise StopIteration",
    "raise Odd()",
    "raise RecursionError",
    "raise MemoryError",
    "raise BrokenPipeError",
    "raise OSError(28, 'No space left on device')",
    "return None",
    "return x",
    "return x.sum()",
    "return [[1, 2], [3]]",
    "return 'text'",
    "return np.full((len(x), 3), np.nan)",
    "return np.zeros((len(x), 0))",
    "return np.zeros((len(x), 3), object)",
    "return np.zeros((len(x) + 1, 3))",
    "return (row for row in x)",
    "x[:] = 0; return np.zeros((len(x), 3)) + [0, 1, 2]",
    "print('{}' * 50); os.write(1, b'noise'); return good(x)",
    "sys.stdout.close(); return good(x)",
    "os.close(1); return good(x)",
    "os.chdir('/'); return good(x)",
    "warnings.warn('careful'); return good(x)",
    "np.seterr(all='raise'); return good(x)",
    "np.random.seed(1); random.seed(1); return good(x)",
    "return good(x) + np.random.normal(size=3)",
    "return good(x) * (1 if len(x) > 7 else -1)",
    "signal.raise_signal(signal.SIGTERM); return good(x)",
    "return np.array([[10 ** 400] * 3] * len(x), object)",
)
_TOP = (
    "",
    "",
    "",
    "raise RuntimeError('at import')",
    "def (",
    "sys.exit(0)",
    "import nowhere_at_all",
    "print('at import')",
)
_VALUES = (
    "", " ", "0", "-1", "1", "2.5", "1e308", "-1e308", "1e-320", "nan", "inf", "-inf", "9" * 5000,
    "0x10", "½", "１", "a" * 10_000, "None", "true", "../..", "/dev/null/x", "1,2,3", "0,1", "-1,1",
    "-1e308,1e308", "1,0", "0..1", "1..0", "..", ":::", "+", "linf", "linf:", "linf:8/0",
    "blur:1e30", "rotation:-1e9..1e9", "linf:1+linf:1", "🦶", "%s%n", "[red]x[/red]",
    "<script>alert(1)</script>", "a=b=c", "0.9", "99%", "latest", "test.npz", "model.onnx",
    ".", "none", "all", "cuda", "cuda:9", "postgresql://",
    "postgresql://nobody@127.0.0.1:1/none", "sqlite://",
    "http://127.0.0.1:1/v2/models/a",
    "pattern:(a+)+$", "6x6", "1,6,6", "1,-6,6", "threads", "processes",
)  # fmt: skip
_COMMANDS = (
    "estimate", "certify", "tail", "curve", "critical", "compare", "plan", "doctor", "perturb",
    "show", "report", "replay", "tally", "brackets", "design",
)  # fmt: skip
_SLOW = {"workers", "executor", "time_limit", "precision", "trust"}
"""Options that may rightly take long, or run what they name."""


def functions(chance: random.Random, folder: Path) -> Case:
    """A Python function that does what no model should."""
    body, top = chance.choice(_BODIES), chance.choice(_TOP)
    (folder / "mine.py").write_text(
        "import asyncio, os, random, signal, sys, warnings\nimport numpy as np\n\n"
        "class Odd(Exception):\n    def __str__(self):\n        raise ValueError('no words')\n\n"
        "def good(x):\n    x = np.asarray(x).reshape(len(x), -1)\n"
        "    return np.stack([x.sum(1), x[:, 0], x[:, 1]], 1)\n\n"
        f"def scores(x):\n    {body}\n\n{top}\n"
    )
    data = sound_data(folder)
    kind = chance.choice(("model", "model", "perturbation"))
    if kind == "model":
        shape = ("--shape", "1,6,6", "--scores", "logits", "--executor", "threads")
        words = ("estimate", "mine.py:scores", data.name, *FAST, *shape)
    else:
        (folder / "own.py").write_text(
            "import asyncio, os, random, signal, sys, warnings\nimport numpy as np\n\n"
            "from mine import Odd, good\n\n"
            f"def change(x, rng, level):\n    {body.replace('good(x)', 'x')}\n"
        )
        model = sound_model(folder)
        words = ("estimate", model.name, data.name, "--perturb", "own.py:change:0.5", *FAST[2:])
    return Case(words, f"functions, {kind}: {body} {top}")


def torch_files(chance: random.Random, folder: Path) -> Case:
    """A PyTorch file with changed bytes, without --trust."""
    data = sound_data(folder)
    with _ONE_AT_A_TIME:
        if chance.random() < 0.5:
            model, content = folder / "model.pt2", exported()
        else:
            model = scripted(folder / "model.pt")
            content = model.read_bytes()
    content, note = mutated(content, chance)
    model.write_bytes(content)
    if chance.random() < 0.1:
        note, name = "a pickle", chance.choice(("model.pkl", "model.pt", "model.joblib"))
        model = folder / name
        model.write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")
    return Case(("estimate", model.name, data.name, *FAST), f"torch, {model.name} {note}")


def options(chance: random.Random, folder: Path) -> Case:
    """A command with values that make no sense."""
    model, data = sound_model(folder), sound_data(folder)
    command = chance.choice(_COMMANDS)
    words: list[str] = [command]
    if command in ("estimate", "certify", "tail", "curve", "critical", "plan", "doctor"):
        words += [model.name, data.name]
    elif command == "compare":
        words += [model.name, model.name, "--data", data.name]
    elif chance.random() < 0.7:
        words += [chance.choice(_VALUES) for _ in range(chance.randrange(1, 4))]
    if command in ("estimate", "plan"):
        words += list(FAST)
    elif command in ("certify", "tail", "compare"):
        words += ["--perturb", "linf:0.05"]
    elif command == "curve":
        words += ["--perturb", "linf:0..0.2", "--threshold", "0.5"]
    elif command == "critical":
        words += ["--norm", "linf", "--seconds-per-input", "1", "--first", "1"]
    for name, flag in chance.sample(
        _known(command), min(chance.randrange(1, 4), len(_known(command)))
    ):
        words += [name] if flag else [name, chance.choice(_VALUES)]
    return Case(tuple(words), "options")


def _known(command: str) -> list[tuple[str, bool]]:
    """The options of a command, and which are flags."""
    import typer

    from surefoot.cli.main import app

    commands: Any = typer.main.get_command(app)
    return [
        (max(p.opts, key=len), bool(p.is_flag))
        for p in commands.commands[command].params
        if p.param_type_name == "option" and p.name not in _SLOW
    ]
