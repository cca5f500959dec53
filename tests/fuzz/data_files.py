"""Arrays, images and tables: damaged, of odd kinds, or with names that somebody else reads."""

import io
import json
import os
import random
import struct
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

from tests.fuzz.case import FAST, SHAPE, Case, mutated, sound_data, sound_model

_KINDS = ("f2", "f8", "i8", "u1", "?", "c8", "O", "U9", "S3", "M8[s]", "f4,i4", ">f4", "V8")
_SHAPES = ((), (0,), (5,), (0, 1, 6, 6), (5, 6, 6), (5, 1, 6, 6), (5, 6, 6, 1), (1,) * 30, (5, 36))
_VALUES = (0.0, -1.0, 1.5, 255.0, 1e30, float("nan"), float("inf"), 1e-40)
_NAMES = ("a.png", "-x.png", "<img src=x>.png", "a\nb.png", "[red].png", "ü" * 60 + ".png", "a.jpg")
_CELLS = (
    "", "1", "1e400", "nan", "9" * 5000, "-0", "½", "0x1f", '"', '""', "a,b", "\x00", "=1+1",
    "<b>", "1,5", "2026-01-01", " 1 ", "True", "\u202eabc", "x" * 20_000,
)  # fmt: skip


def arrays(chance: random.Random, folder: Path) -> Case:
    """An .npz or .npy file."""
    model, data = sound_model(folder), sound_data(folder)
    way = chance.choice(("bytes", "bytes", "kinds", "kinds", "header", "members", "values"))
    note, more = way, ()
    if way == "bytes":
        content, note = mutated(data.read_bytes(), chance)
        data.write_bytes(content)
    elif way == "kinds":
        shape, kind = chance.choice(_SHAPES), chance.choice(_KINDS)
        note = f"{shape} of {kind}"
        np.savez(data, x=np.zeros(shape, np.dtype(kind)), y=_labels(chance))
    elif way == "header":
        data, more = folder / "x.npy", ("--labels", "none")
        data.write_bytes(_lying_header(chance))
    elif way == "members":
        note = _odd_archive(data, chance)
    else:
        x = np.full((5, *SHAPE), 0.5, np.float32)
        x[chance.randrange(5)] = chance.choice(_VALUES)
        np.savez_compressed(data, x=x, y=_labels(chance))
    if chance.random() < 0.3:
        more = (*more, chance.choice(("--correct-only", "--json")))
    return Case(("estimate", model.name, data.name, *FAST, *more), f"arrays, {note}")


def _labels(chance: random.Random) -> np.ndarray:
    return chance.choice(
        (
            np.arange(5) % 3,
            np.array([0, 1, 2, 3, -1]),
            np.array([0.5, 1, 2, 0, 1]),
            np.array(["a", "b", "<b>", "", "a"]),
            np.array([None, 1, "a", 2.5, {}], object),
            np.array([2**62] * 5),
            np.zeros((5, 3)),
        )
    )


def _lying_header(chance: random.Random) -> bytes:
    """A header that promises more than there is, or something else."""
    shape = chance.choice(("(5, 1, 6, 6)", "(10**12,)", "(1000000000000, 6)", "(-5, 6)", "5", "()"))
    kind = chance.choice(("<f4", "|O", "<f9", "float", "|S1000000000"))
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    text += chance.choice(("", " " * 60_000, "#", "("))
    return (
        b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text) + 1) + text.encode() + b"\n" + bytes(720)
    )


def _odd_archive(path: Path, chance: random.Random) -> str:
    buffer = io.BytesIO()
    np.save(buffer, np.zeros((5, *SHAPE), np.float32))
    name = chance.choice(("x.npy", "../x.npy", "x", "x.npy/", "y.npy", "<x>.npy", " "))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, buffer.getvalue())
        if chance.random() < 0.5:
            archive.writestr("y.npy", b"\x93NUMPY" if chance.random() < 0.5 else b"")
    content = bytearray(path.read_bytes())
    if chance.random() < 0.4:  # says that its members are encrypted
        for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            where = content.find(mark)
            while where >= 0:
                content[where + at] |= 1
                where = content.find(mark, where + 4)
        path.write_bytes(bytes(content))
        return f"encrypted member {name!r}"
    return f"member {name!r}"


def images(chance: random.Random, folder: Path) -> Case:
    """A folder of images, one of them odd."""
    model, data = sound_model(folder), folder / "images"
    for label in ("0", "1", "2"):
        (data / label).mkdir(parents=True)
        for i in range(2):
            Image.fromarray(np.full((6, 6), 40 * i, np.uint8)).save(data / label / f"{i}.png")
    odd = data / "1" / chance.choice(_NAMES)
    note = chance.choice(("mode", "bytes", "size", "folder", "loop", "fifo", "link", "empty"))
    _odd_image(odd, note, chance)
    more = chance.choice(((), ("--size", chance.choice(("6x6", "0x0", "100000x100000", "6")))))
    words = ("estimate", model.name, data.name, *FAST, *more, "--report", "page.html")
    return Case(words, f"images, {note} {odd.name[:20]!r} {more}")


def _odd_image(path: Path, note: str, chance: random.Random) -> None:
    if note == "folder":
        path.mkdir()
    elif note == "loop":
        path.symlink_to(path.parent if chance.random() < 0.5 else path)
    elif note == "fifo":
        os.mkfifo(path)
    elif note == "link":
        path.symlink_to(chance.choice(("/dev/zero", "/etc/passwd", "/nowhere")))
    elif note == "empty":
        path.write_bytes(b"")
    else:
        mode = chance.choice(("1", "L", "P", "RGB", "RGBA", "CMYK", "I;16", "F")) * (note == "mode")
        size = chance.choice(((1, 1), (20_000, 1), (6, 6))) if note == "size" else (6, 6)
        buffer = io.BytesIO()
        kind = {"CMYK": "TIFF", "F": "TIFF"}.get(mode, "PNG")
        Image.new(mode or "L", size).save(buffer, kind)
        content = buffer.getvalue()
        path.write_bytes(mutated(content, chance)[0] if note == "bytes" else content)


def tables(chance: random.Random, folder: Path) -> Case:
    """A table, texts, names of classes or a file of features."""
    (folder / "mine.py").write_text(
        "import numpy as np\n\ndef scores(x):\n    x = np.asarray(x, float)\n"
        "    return np.stack([x[:, 0], -x[:, 0]], 1)\n"
    )
    heading = chance.choice((["a", "b", "y"], ["a", "a", "y"], ["", "b", "y"], ["<b>", "b", "y"]))
    rows = [[str(i), str(0.1 * i), str(i % 2)] for i in range(6)]
    rows[chance.randrange(6)][chance.randrange(3)] = chance.choice(_CELLS)
    if chance.random() < 0.2:
        rows[2] = rows[2][: chance.randrange(3)]
    text = "\n".join(",".join(row) for row in [heading, *rows])
    content = text.encode(chance.choice(("utf-8", "utf-16", "utf-8-sig")), "surrogatepass")
    note = "cells"
    if chance.random() < 0.4:
        content, note = mutated(content, chance)
    (folder / "data.csv").write_bytes(content)
    words = ["estimate", "mine.py:scores", "data.csv", "--labels", "y", "--scores", "logits"]
    perturb = "table:0.1sd"
    if chance.random() < 0.4:
        (folder / "columns.toml").write_bytes(_features(chance))
        perturb, note = "table:0.1sd,features=columns.toml", f"{note}, features"
    if chance.random() < 0.3:
        (folder / "names.json").write_text(_class_names(chance))
        words += ["--class-names", "names.json"]
    rest = ("--each", "0.3", "--confidence", "0.8", "--executor", "threads")
    return Case((*words, "--perturb", perturb, *rest), f"tables, {note}")


def _features(chance: random.Random) -> bytes:
    text = '[[feature]]\nname = "a"\nnoise = 1.0\n\n[[feature]]\nname = "b"\nkind = "integer"\n'
    odd = (
        "a = " + "[" * 5000,
        "a." * 5000 + "b = 1",
        '[[feature]]\nname = "a"\nnoise = 1e999\n',
        '[[feature]]\nname = "a"\nlow = nan\nhigh = -inf\n',
        "[[feature]]\nname = 7\n",
        "[[feature]]\nnames = []\n",
        f"x = {'9' * 5000}",
    )
    if chance.random() < 0.5:
        return chance.choice(odd).encode()
    return mutated(text.encode(), chance)[0]


def _class_names(chance: random.Random) -> str:
    odd = ("[" * 5000, "{}", "7", '["a"]', '["a", "a"]', '{"0": ["x"]}', "a\nb\n", '["<b>", null]')
    return chance.choice((*odd, json.dumps(["x" * 10_000, ""])))
