"""The models and data that are studied: small, and the same on every machine."""

import json
from pathlib import Path

import numpy as np

_FUNCTIONS = '''
import numpy as np

CENTRES = (np.arange(4) + 0.5) / 4
LETTERS = "abcdefghijklmnopqrstuvwxyz"

def scores(x):
    return (-np.abs(x.reshape(len(x), -1).mean(1)[:, None] - CENTRES)).astype(np.float32)

def others(x):
    return (-np.abs(x.reshape(len(x), -1)[:, ::2].mean(1)[:, None] - CENTRES)).astype(np.float32)

def sharp(x):
    z = 20 * others(x)
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)

def value(x):
    return x.reshape(len(x), -1).sum(1)

def mask(x):
    return np.concatenate([1 - x, x], axis=1)

def boxes(x):
    size = 1 + x.reshape(len(x), -1).mean(1)
    return [{"boxes": [[0, 0, s, s]], "labels": [1], "scores": [0.9]} for s in size]

def risk(x):
    z = (x[:, 0] - 50) / 10 + x[:, 1] / 4
    return np.stack([-z, z], axis=1)

def review(texts):
    good = np.array([t.count("good") - t.count("bad") for t in texts], dtype=float)
    return np.stack([0.25 - good, good - 0.25], axis=1)

def typos(text, rng, level):
    """Each letter becomes a random one with probability `level`."""
    return "".join(LETTERS[rng.integers(26)] if rng.random() < level else c for c in text)
'''
_STUDY_FILE = """
error = 0.05

[defaults]
model = "m.py:scores"
data = "d.npz"
bounds = "0,1"
batch = 64
workers = 1
store = "gate.db"

[[study]]
name = "noise"
command = "estimate"
perturb = "linf:0.3"
each = 0.2
require = 0.3
require-each = { 2 = 0.99 }

[[study]]
name = "rare"
command = "certify"
perturb = "linf:0.1"
kappa = 0.2
first = 5
require = "all"

[[study]]
name = "dark"
command = "curve"
perturb = "brightness:0..0.3"
threshold = 0.5
require = 0.9
"""

_SUITE = """
name = "mine"

[[row]]
perturb = "gaussian"
levels = [0.2, 0.4]

[[row]]
name = "darker"
perturb = "brightness"
levels = [0.1, 0.3]
"""


def write_files(folder: Path) -> None:
    """Write all of them into a folder."""
    (folder / "m.py").write_text(_FUNCTIONS)
    (folder / "study.toml").write_text(_STUDY_FILE)
    (folder / "mine.toml").write_text(_SUITE)
    _write_arrays(folder)
    _write_networks(folder)
    _write_tables(folder)
    _write_outcomes(folder)


def _write_arrays(folder: Path) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 20)
    noise = rng.normal(0, 0.2, (20, 1, 4, 4))
    x = np.clip((y[:, None, None, None] + 0.5) / 4 + noise, 0, 1).astype(np.float32)
    names = np.array(["dark", "dim", "light", "white"])
    shop, wrong = np.arange(20) // 3, np.where(np.arange(20) % 7 == 3, (y + 1) % 4, y)
    np.savez(folder / "d.npz", x=x, y=y, shop=shop)
    np.savez(folder / "named.npz", x=x, y=wrong, class_names=names)
    np.savez(folder / "values.npz", x=x, y=x.reshape(20, -1).sum(1))
    np.save(folder / "plain.npy", x)


def _write_networks(folder: Path) -> None:
    # Not above: every command is a process that imports the main module again, and these are heavy.
    import onnxruntime

    from tests.unit.small_models import relu_net

    x = np.random.default_rng(7).uniform(0, 1, (14, 1, 6, 6)).astype(np.float32)
    for name, seed in (("model", 3), ("old", 9)):
        relu_net(folder / f"{name}.onnx", seed=seed)
    (scores,) = onnxruntime.InferenceSession(folder / "model.onnx").run(None, {"x": x})
    y = np.where(np.arange(14) % 7 == 3, 0, scores.argmax(1))
    np.savez(folder / "net.npz", x=x, y=y, shop=np.arange(14) // 2)


def _write_tables(folder: Path) -> None:
    rng = np.random.default_rng(3)
    rows = [(int(rng.integers(20, 80)), float(rng.integers(0, 80)) / 10) for _ in range(16)]
    lines = [f"{a},{d},{'ab'[a % 2]},{int((a - 50) / 10 + d / 4 > 0)}" for a, d in rows]
    (folder / "t.csv").write_text("\n".join(["age [years],dose,ward,risk", *lines]) + "\n")
    texts = ["a good film", "good, so good", "bad", "a bad, bad plot", "good music", "a bad cast"]
    objects = [{"text": t, "label": "bad" if "bad" in t else "good"} for t in texts]
    (folder / "r.jsonl").write_text("\n".join(map(json.dumps, objects)) + "\n")
    (folder / "blank.jsonl").write_text('{"text": "good"}\n{"text": " "}\n')
    brackets = ["network,split,image,lower,upper,runtime_s"]
    for net, add in (("small", 0.0), ("large", 0.004)):
        for i, split in enumerate(["test"] * 24 + ["train"] * 3):
            low, high = (share * (i % 5 + 1) + add for share in (0.01, 0.012))
            brackets.append(f"{net},{split},{i},{low},{'' if i == 7 else high},1")
    (folder / "b.csv").write_text("\n".join(brackets) + "\n")


def _write_outcomes(folder: Path) -> None:
    topics = ("maths", "law", "code")
    for name, every in (("new", 17), ("last", 9)):
        rows = [f"q{i},{topics[i % 3]},{'fail' if i % every == 5 else 'pass'}" for i in range(90)]
        (folder / f"{name}.csv").write_text("\n".join(["case,topic,outcome", *rows]) + "\n")
    rows = [f"q{i // 3},{i % 3},{int(i % 5 > 0)}" for i in range(36)]
    (folder / "rounds.csv").write_text("\n".join(["question,round,correct", *rows]) + "\n")
    same = {"filter": "none", "metrics": ["acc"]}
    harness = [
        {"doc_id": i, **same, "acc": float(i % 6 > 0), "doc_hash": f"h{i}"} for i in range(30)
    ]
    (folder / "samples_quiz.jsonl").write_text("\n".join(map(json.dumps, harness)) + "\n")
    samples = [
        {"id": f"s{i // 2}", "epoch": i % 2 + 1, "metadata": {"topic": topics[i // 2 % 3]},
         "scores": {"match": {"value": "CI"[i % 7 == 2]}}}
        for i in range(40)
    ]  # fmt: skip
    log = {"version": 2, "status": "success", "eval": {"task": "quiz"}, "samples": samples}
    (folder / "log.json").write_text(json.dumps(log))
    cases = [
        f'<testcase classname="{"ab"[i % 2]}" name="t{i}">{"<failure/>" * (i % 8 == 1)}</testcase>'
        for i in range(24)
    ]
    (folder / "junit.xml").write_text(f'<testsuite name="shop">{"".join(cases)}</testsuite>')
