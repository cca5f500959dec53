"""Engine rate over bare forward-pass rate on a GPU: ResNet-18 on 32×32 and a small MLP.

The bound is the model alone on pre-made batches of the engine's own batch size, on the device. The
engine's time is the whole of `measure` into an SQLite journal: draw and apply on the device,
predict, judge, tally, journal. `onnx_resnet18_linf` is the exported network with a fixed batch of 1
beside the bare PyTorch module. Needs PyTorch and a GPU (`--device cpu:0` tries the script).

    python benchmarks/gpu.py [--quick] [--device cuda]
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import tempfile
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from first_result import TARGET as FIRST_RESULT
from first_result import first_result, print_parts
from overhead import bench_of, engine_rate
from prerequisites import need_package, stop
from processor import print_processor
from tables import print_table

import surefoot as sf
from surefoot.core.tasks import Subject, Task
from surefoot.engine.batching import ON_GPU, fastest_batch_size
from surefoot.engine.sampling_bench import SamplingBench
from surefoot.engine.streams import generator_for
from surefoot.executors.pool import kept_threads
from surefoot.models.torch import TorchModel, replicas
from surefoot.models.torch_modules import copies_for
from surefoot.subject.inputs import Inputs
from surefoot.subject.protocols import Model, Perturbation

torch = need_package("torch")
nn = torch.nn

SHAPE = (3, 32, 32)
METHOD = sf.methods.FixedSize(width=0.02, error=0.05)
WORKERS = 2
TARGET = {"resnet18": 0.95, "mlp": 0.4, "onnx": 0.9}


class Block(nn.Module):
    """The basic block of He et al. 2016."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.one = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.two = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(after), nn.BatchNorm2d(after)])
        self.side: nn.Module = nn.Identity()
        if stride > 1 or before != after:
            self.side = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Two convolutions and the way around them."""
        y = torch.relu(self.norms[0](self.one(x)))
        return torch.relu(self.norms[1](self.two(y)) + self.side(x))


def resnet18(classes: int = 10) -> nn.Module:
    """ResNet-18 with the stem for large images, as it is commonly loaded."""
    widths = [64, 64, 128, 256, 512]
    blocks = [
        Block(before if i == 0 else after, after, stride if i == 0 else 1)
        for before, after, stride in zip(widths, widths[1:], (1, 2, 2, 2), strict=False)
        for i in range(2)
    ]
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    return nn.Sequential(
        *stem,
        nn.MaxPool2d(3, 2, 1),
        *blocks,
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(512, classes),
    )


def mlp(classes: int = 10) -> nn.Module:
    """A small network: the engine's own work shows most beside it."""
    return nn.Sequential(nn.Flatten(), nn.Linear(3072, 64), nn.ReLU(), nn.Linear(64, classes))


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    model: Model
    perturbation: Perturbation
    subjects: int
    target: float
    whole: bool = False
    bare: Model | None = None
    """Whose rate counts in place of the model's own."""


def rows_of(device: str) -> list[Row]:
    """ResNet-18 in full and half precision under four perturbations, and the MLP."""
    torch.manual_seed(0)
    net, small = resnet18().eval(), mlp().eval()
    noises: dict[str, Perturbation] = {
        "linf": sf.perturb.LinfNoise(8 / 255),
        "gaussian": sf.perturb.GaussianNoise(0.1),
        "blur": sf.perturb.GaussianBlur(1.0),
        "rotation": sf.perturb.RandomLevel(10.0, sf.perturb.Rotation(10.0), lowest=-1.0),
    }
    rows = []
    for half in (False, True):
        model = sf.load_model(net, bounds=(0, 1), shape=SHAPE, device=device, half=half)
        for name, noise in noises.items():
            tail = "_half" if half else ""
            # what draws nothing is run once an input, so it is timed as in a curve: all as one set
            whole = name == "blur"
            target = TARGET["resnet18"]
            rows.append(Row(f"resnet18_{name}{tail}", model, noise, 200, target, whole))
    one = sf.load_model(net, bounds=(0, 1), shape=SHAPE, device=device)
    rows.append(Row("resnet18_linf_one", one, noises["linf"], 1, TARGET["resnet18"]))
    with tempfile.TemporaryDirectory() as folder:
        path = exported(net, Path(folder) / "resnet18.onnx")
        graph = sf.load_model(path, bounds=(0, 1), device=device)
    rows.append(Row("onnx_resnet18_linf", graph, noises["linf"], 200, TARGET["onnx"], bare=one))
    tiny = sf.load_model(small, bounds=(0, 1), shape=SHAPE, device=device)
    rows.append(Row("mlp_linf", tiny, noises["linf"], 200, TARGET["mlp"]))
    return rows


def exported(net: nn.Module, path: Path) -> Path:
    """The network as an ONNX file with a fixed batch of 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            copy.deepcopy(net).cpu(), (torch.zeros(1, *SHAPE),), str(path), dynamo=False
        )
    return path


def device_name(device: str) -> str:
    """What PyTorch calls the device; exits where it is no device that can be used."""
    if not device.startswith("cuda"):
        return device
    if not torch.cuda.is_available():
        stop("a GPU that PyTorch can use; --device cpu tries the script without one")
    return str(torch.cuda.get_device_name())


def bare_rate(model: Model, x: torch.Tensor, seconds: float) -> float:
    """Rows a second of the model alone, on one batch again and again."""
    _wait(x)
    done, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        for _ in range(4):
            model.predict(x)
        _wait(x)
        done += 4 * len(x)
    return done / (time.perf_counter() - begun)


def _wait(x: torch.Tensor) -> None:
    if x.is_cuda:
        torch.cuda.synchronize()


def measured(row: Row, inputs: Inputs, seconds: float, turns: int) -> dict[str, float]:
    """Rates in turns, and the median of their ratios."""
    bench: SamplingBench[sf.methods.Counts] = bench_of(row.model, inputs, row.perturbation)
    chosen = list(bench.inputs.subjects()[: row.subjects])
    if row.whole:
        chosen = [Subject("all", tuple(range(row.subjects)))]
    subject, level = chosen[0], row.perturbation.level
    threads = kept_threads(WORKERS)
    batch_size = fastest_batch_size(
        lambda n: threads.submit(bench.answer, [Task(subject, level, 0, n)]).result(), ON_GPU
    )
    x = bench.perturbed(Task(subject, level, 0, batch_size))
    alone = row.bare or row.model
    bare_rate(alone, x, 0.3)
    ours, bare, ratios = [], [], []
    for _ in range(turns):
        bare.append(bare_rate(alone, x, seconds))
        each = max(1, int(bare[-1] * seconds / len(chosen)))
        ours.append(engine_rate(bench, chosen, each, batch_size, WORKERS))
        ratios.append(ours[-1] / bare[-1])
    return {
        "ours": statistics.median(ours),
        "bare": statistics.median(bare),
        "ratio": statistics.median(ratios),
        "batch_size": batch_size,
    }


def seconds_by_copies(inputs: Inputs, device: str) -> dict[int, float]:
    """Seconds of a study with one copy of the model and with two on the same device.

    The results must be the same, as on several GPUs.
    """
    net = resnet18().eval()
    name = "cuda:0" if device == "cuda" else device
    other = copies_for(net, [name])
    one = sf.load_model(net, bounds=(0, 1), shape=SHAPE, device=name)
    assert isinstance(one, TorchModel)
    seconds, results = {}, []
    for model in (one, replace(one, replicas=replicas(one, other))):
        study = sf.Study(model, inputs, sf.perturb.LinfNoise(8 / 255), METHOD)
        begun = time.perf_counter()
        record = study.run(on_workers=lambda _: None).record
        seconds[1 + len(model.replicas)] = round(time.perf_counter() - begun, 2)
        results.append([row.result for row in record.inputs])
    if results[0] != results[1]:
        raise SystemExit("two copies of the model gave another result than one")
    return seconds


def main() -> None:
    """Print the table, then one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under a minute")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    print_processor()
    where = device_name(options.device)
    x = np.random.default_rng(0).random((200, *SHAPE), dtype=np.float32)
    inputs = sf.load_inputs(x, np.arange(200) % 10)
    # long enough for the ends of a run not to count
    seconds, turns = (0.5, 1) if options.quick else (6.0, 3)
    rates = {}
    rows = rows_of(options.device)
    for row in rows:
        rates[row.name] = measured(row, inputs, seconds, turns)
    print(f"on {where}, random numbers by {generator_for(rows[0].model.place(x[:1]))}")
    print_table(
        [
            "run",
            "subjects",
            "ours (trials/s)",
            "bare model (rows/s)",
            "ratio",
            "target",
            "batch_size",
        ],
        [
            [
                row.name,
                str(row.subjects),
                f"{rates[row.name]['ours']:,.0f}",
                f"{rates[row.name]['bare']:,.0f}",
                f"{rates[row.name]['ratio']:.3f}",
                f">= {row.target}",
                f"{rates[row.name]['batch_size']:.0f}",
            ]
            for row in rows
        ],
    )
    copies = seconds_by_copies(inputs, options.device)
    print(
        f"\na study by one copy of the model: {copies[1]} s; by two, the same result: {copies[2]} s"
    )
    parts = first_result(options.device)
    print(f"\nthe first result of a fresh process, target <= {FIRST_RESULT:g} s")
    print_parts(parts)
    figures = {name: round(f["ratio"], 4) for name, f in rates.items()}
    print(json.dumps({**figures, "first_result_seconds": round(parts[-1].end, 2)}))


if __name__ == "__main__":
    main()
