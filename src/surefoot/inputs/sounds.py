"""Sounds from .wav files: PCM of 8 to 32 bits or float, one rate, one number of channels."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, refusing
from surefoot.inputs.images import MOST_BYTES, Stacked
from surefoot.system.memory_limits import refuse_too_large

_PCM, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_MOST_CHANNELS = 64
_WAY_OUT = "give a part of it, or a shorter --length (length=)"
_NOT_KNOWN = 0xFFFFFFFF
"""The size of samples that a program wrote without knowing it: they go on to the end."""
_MOST_CHUNKS = 1000
"""Parts of a file before its samples: a crafted file cannot keep us reading."""
READING = "samples read as -1 to 1"
"""How the reading of sounds begins."""


@dataclass(frozen=True)
class SoundFormat:
    """How the samples of a file are stored."""

    kind: int
    channels: int
    rate: int
    bits: int


def stack_sounds(files: Sequence[Path], source: str, length: float | None) -> Stacked:
    """All sounds as one array (n, channels, samples).

    `length` in seconds cuts at the end or adds silence there.
    """
    if length is not None and not 0 < length < math.inf:
        raise InvalidArgument(f"length must be a number of seconds above 0, got {length}")
    sounds: list[NDArray[np.float32]] = []
    whole, cut, first = 0, 0, None
    for file in files:
        form, values = read_sound(file)
        first = first or form
        for what, mine, other, wanted in (
            ("samples a second", form.rate, first.rate, "rate, which must be the model's"),
            ("channels", form.channels, first.channels, "number of channels"),
        ):
            if mine != other:
                raise InvalidArgument(
                    f"{file} has {mine} {what} and {files[0]} {other}: convert them to one {wanted}"
                )
        samples = None if length is None else max(1, round(length * form.rate))
        whole += form.channels * (samples or values.shape[1]) * 4
        if whole > MOST_BYTES:
            raise InvalidArgument(
                f"{source} unpacks to more than {MOST_BYTES // 2**30} GiB: {_WAY_OUT}"
            )
        if not sounds:  # all have one length
            refuse_too_large(source, whole * len(files), _WAY_OUT)
        cut += samples is not None and samples < values.shape[1]
        sounds.append(values if samples is None else values[:, :samples].copy())
    if first is None:
        raise InvalidArgument(f"{source} holds no sounds: give .wav files")
    lengths = [sound.shape[1] for sound in sounds]
    if length is None and len(set(lengths)) > 1:
        odd = next(i for i, n in enumerate(lengths) if n != lengths[0])
        raise InvalidArgument(
            f"{files[odd]} is {lengths[odd] / first.rate:.4g} s long and {files[0]} "
            f"{lengths[0] / first.rate:.4g} s: all sounds need one length: pass --length SECONDS "
            "(length=) to cut them at the end or to add silence there"
        )
    samples = lengths[0] if length is None else max(1, round(length * first.rate))
    rows = np.zeros((len(files), first.channels, samples), dtype=np.float32)
    for row, sound in zip(rows, sounds, strict=True):
        row[:, : sound.shape[1]] = sound
    words = [READING, f"{first.rate} Hz", f"{samples / first.rate:.6g} s"]
    if length is not None:
        padded = sum(n < samples for n in lengths)
        words.append(f"{cut} of {len(files)} cut at the end, {padded} filled up with silence")
    return Stacked(rows, ", ".join(words))


def read_sound(file: Path) -> tuple[SoundFormat, NDArray[np.float32]]:
    """The format of a .wav file and its samples (channels, samples).

    Whole numbers are divided so that they fill -1 to 1; floats stay as they are.
    """
    what, way_out = f"{file} cannot be read as a .wav file", "save it as PCM or float WAV"
    with refusing(what, way_out, OSError, ValueError, struct.error):
        if file.stat().st_size > MOST_BYTES:
            raise ValueError(f"it is larger than {MOST_BYTES // 2**30} GiB")
        with file.open("rb") as opened:
            form, content = _parts(opened)
    return form, np.ascontiguousarray(_samples(form, content).reshape(-1, form.channels).T)


def _parts(opened: BinaryIO) -> tuple[SoundFormat, bytes]:
    head = opened.read(12)
    if head[:4] != b"RIFF" or head[8:12] != b"WAVE":
        raise ValueError("it does not begin as a RIFF WAVE file")
    form: SoundFormat | None = None
    for _ in range(_MOST_CHUNKS):
        head = opened.read(8)
        if len(head) < 8:
            break
        name, size = struct.unpack("<4sI", head)
        if name == b"fmt ":
            form = _format(opened.read(min(size, 64)))
            opened.seek(size - min(size, 64) + size % 2, 1)
        elif name == b"data":
            if form is None:
                raise ValueError("its samples come before their format")
            rest = os.fstat(opened.fileno()).st_size - opened.tell()
            if size == _NOT_KNOWN:
                size = rest
            content = opened.read(min(size, rest))
            frame = form.channels * form.bits // 8
            if len(content) < size or not content or len(content) % frame:
                raise ValueError(f"it holds {len(content)} bytes of samples where it says {size}")
            return form, content
        else:
            opened.seek(size + size % 2, 1)
    raise ValueError("it holds no samples")


def _format(content: bytes) -> SoundFormat:
    kind, channels, rate, _, frame, bits = struct.unpack("<HHIIHH", content[:16])
    if kind == _EXTENSIBLE:
        kind = struct.unpack("<H", content[24:26])[0]
    known = (kind == _PCM and bits in (8, 16, 24, 32)) or (kind == _FLOAT and bits in (32, 64))
    if not known:
        raise ValueError(f"it is of format {kind} with {bits} bits a sample")
    if not 1 <= channels <= _MOST_CHANNELS or rate < 1 or frame != channels * bits // 8:
        raise ValueError(f"it says {channels} channels, {rate} Hz and {frame} bytes a frame")
    return SoundFormat(kind, channels, rate, bits)


def _samples(form: SoundFormat, content: bytes) -> NDArray[np.float32]:
    if form.kind == _FLOAT:
        return np.frombuffer(content, dtype=f"<f{form.bits // 8}").astype(np.float32)
    if form.bits == 8:  # the only one without a sign
        return (np.frombuffer(content, dtype=np.uint8).astype(np.float32) - 128) / np.float32(128)
    bits = form.bits
    if bits == 24:
        bytes_ = np.frombuffer(content, dtype=np.uint8).reshape(-1, 3)
        wide = np.zeros((len(bytes_), 4), dtype=np.uint8)
        wide[:, 1:] = bytes_
        content, bits = wide.tobytes(), 32
    whole = np.frombuffer(content, dtype=f"<i{bits // 8}").astype(np.float64)
    scaled: NDArray[np.float32] = (whole / 2.0 ** (bits - 1)).astype(np.float32)
    return scaled
