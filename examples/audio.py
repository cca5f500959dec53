"""Sounds in .wav files: how often does noise change what a classifier hears?

Two folders of synthetic sounds are written, deep and high tones; the classifier compares the
energy of the low and the high half of the spectrum. A network of your own takes its place as an
ONNX or PyTorch file, or as any function of a batch (n, channels, samples).
"""

import wave
from pathlib import Path

import numpy as np

import surefoot as sf

RATE = 8000  # samples a second


def write_sounds(folder: Path) -> None:
    """Ten tones of half a second to one second in each class, 16 bits."""
    rng = np.random.default_rng(1)
    for name, (low, high) in {"deep": (150, 1900), "high": (2100, 3800)}.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(10):
            time = np.arange(int(RATE * rng.uniform(0.5, 1))) / RATE
            tone = 0.4 * np.sin(2 * np.pi * rng.uniform(low, high) * time)
            with wave.open(str(folder / name / f"{number}.wav"), "wb") as file:
                file.setparams((1, 2, RATE, len(tone), "NONE", ""))
                file.writeframes((tone * 32767).astype("<i2").tobytes())


def scores(batch: np.ndarray) -> np.ndarray:
    """The energy below and above 2 kHz, in dB."""
    power = np.abs(np.fft.rfft(batch[:, 0])) ** 2
    half = power.shape[1] // 2
    energy = np.stack([power[:, :half].sum(axis=1), power[:, half:].sum(axis=1)], axis=1)
    return 10 * np.log10(energy + 1e-12)


write_sounds(Path("sounds"))
sounds = sf.load_inputs("sounds", length=0.75)  # longer ones are cut, shorter ones filled up
print(f"{len(sounds)} sounds of shape {sounds.x.shape[1:]}: {sounds.reading}")

model = sf.load_model(scores, shape=sounds.x.shape[1:], bounds=(-1, 1))
for noise in (sf.perturb.NoiseAtSNR.at(decibels=10), sf.perturb.NoiseAtSNR.at(decibels=-20)):
    study = sf.Study(
        model,
        sounds,
        noise,
        sf.methods.ExactSequential(width=0.1, error=0.05),
        property=sf.properties.TrueLabel(),
        seed=1,
    )
    print(f"\n{study.run()}")

# On the command line, with a function `scores` in mymodel.py or a file such as model.onnx:
# surefoot estimate mymodel:scores sounds --length 0.75 --perturb snr:10dB --property true
