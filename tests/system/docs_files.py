"""The files that the commands and Python blocks of the documentation name."""

import json
import re
import runpy
import wave
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]


def write_files() -> None:
    """All of them, into this folder."""
    runpy.run_path(str(ROOT / "examples" / "files_to_try.py"))
    write_data()
    write_models()
    write_table()
    write_texts()
    write_outcomes()


def write_data() -> None:
    """The other kinds of data: a table, .npy files, an image folder, a CSV list of images."""
    with np.load("test.npz") as data:
        x, y = data["x"][:20], data["y"][:20]
    np.savez("nchw.npz", x=x, y=y)
    np.savez("table.npz", x=x.reshape(len(x), -1) / 255, y=y)
    np.save("x.npy", x)
    np.save("y.npy", y)
    lines = ["file,label"]
    for i, (image, label) in enumerate(zip(x, y, strict=True)):
        file = Path("images") / str(label) / f"{i}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image[0]).save(file)
        lines.append(f"{file},{label}")
    Path("list.csv").write_text("\n".join(lines))
    Path("photos").mkdir()
    for i, (image, label) in enumerate(zip(x[:6], y[:6], strict=True)):
        Image.fromarray(image[0]).resize((28 + i, 30)).save(f"photos/{label}_{i}.png")
    Path("names.txt").write_text("\n".join(f"kind {i}" for i in range(10)))
    Path("sounds").mkdir()
    for i, pitch in enumerate((50, 350)):
        tone = 0.4 * np.sin(2 * np.pi * pitch * np.arange(600 + 100 * i) / 1000)
        with wave.open(f"sounds/{i}.wav", "wb") as file:
            file.setparams((1, 2, 1000, 0, "NONE", ""))
            file.writeframes((tone * 32767).astype("<i2").tobytes())
    rows = [f"{line},patient{i // 4}" for i, line in enumerate(lines[1:])]
    Path("scans.csv").write_text("\n".join(["file,label,patient", *rows]))
    Image.fromarray(np.repeat(x[0].transpose(1, 2, 0), 3, axis=2)).save("cat.png")


def write_models() -> None:
    """A fitted classifier, a regressor, and the module that the page about models prints."""
    joblib = pytest.importorskip("joblib")
    from sklearn.linear_model import LinearRegression, LogisticRegression

    x = np.random.default_rng(1).normal(0, 1, (40, 3))
    y = 100 + x @ [30.0, -20.0, 10.0]
    joblib.dump(LinearRegression().fit(x, y), "regressor.joblib")
    np.savez("values.npz", x=x[:20], y=y[:20])

    with np.load("test.npz") as data:
        flat = data["x"].reshape(len(data["x"]), -1) / 255
        joblib.dump(LogisticRegression(max_iter=50, tol=0.1).fit(flat, data["y"]), "clf.joblib")
    pages = ("your-own-model.md", "audio.md", "text.md", "your-own-perturbation.md")
    for page in pages:
        text = (ROOT / "docs" / "how-to" / page).read_text()
        for code in re.findall(r"```python\n(# \w+\.py\n.*?)```", text, re.DOTALL):
            Path(code.split()[1]).write_text(code)


def write_texts() -> None:
    """Texts in every kind of file, and a folder of bytes with its model."""
    texts = {"a good film": 1, "bad": 0, "good, really": 1, "a bad film": 0}
    lines = [json.dumps({"text": text, "label": label}) for text, label in texts.items()]
    Path("reviews.jsonl").write_text("\n".join(lines))
    Path("reviews.csv").write_text(
        "text,label\n" + "".join(f'"{text}",{label}\n' for text, label in texts.items())
    )
    Path("reviews.txt").write_text("\n".join(texts))
    Path("labels.txt").write_text("\n".join(map(str, texts.values())))
    for name, content in {"a/1": b"\0\1", "b/2": b"\xff\xfe"}.items():
        file = Path("packets") / name
        file.parent.mkdir(parents=True)
        file.write_bytes(content)
    Path("packets.py").write_text(
        "def classify(files):\n    return [[200 - sum(f), sum(f) - 200] for f in files]\n"
    )


def write_outcomes() -> None:
    """The files that the page about outcomes prints, and a log of Inspect as an archive."""
    page = (ROOT / "docs" / "how-to" / "outcomes-counted-elsewhere.md").read_text()
    for name, content in re.findall(r"`([\w.]+)`:\n\n```\w+\n(.*?)```", page, re.DOTALL):
        Path(name).write_text(content)
    log = json.loads(Path("log.json").read_text())
    with zipfile.ZipFile("log.eval", "w") as archive:
        archive.writestr("summaries.json", json.dumps(log.pop("samples")))
        archive.writestr("header.json", json.dumps(log))


def write_table() -> None:
    """The table, the pipeline and the file of columns of `examples/tabular.py`."""
    pytest.importorskip("pandas")
    runpy.run_path(str(ROOT / "examples" / "tabular.py"), run_name="__main__")
