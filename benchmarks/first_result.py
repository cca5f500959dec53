"""Seconds from the start of a fresh process to the first batch that is answered, and its parts.

The process does what `surefoot estimate model.pt2 test.npz --perturb linf:8/255 --device cuda`
does, through `sf.estimate`: ResNet-18 on 32×32 (`--file pt`: as TorchScript). Some parts pass at
the same time, in other threads; each is printed with its begin and end. The driver of the GPU keeps
what it made of the kernels for the next run; `--cold` lets it make them anew each time.

    python benchmarks/first_result.py [--device cuda] [--file pt2] [--runs 3] [--cold]
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TARGET = 6.0
"""Seconds on a data-centre GPU."""
_BEGAN = "FIRST_RESULT_BEGAN"
"""The variable with the time at which the process was started, in seconds since 1970."""


@dataclass(frozen=True)
class Part:
    """What a thread did, from when until when, in seconds since the process was started."""

    name: str
    thread: str
    begin: float
    end: float


@dataclass(frozen=True)
class Timeline:
    """The parts of one process, in the order in which they ended."""

    began: float
    parts: list[Part]

    def add(self, name: str, begin: float) -> None:
        """A part that ends now."""
        thread = threading.current_thread().name.removesuffix("Thread").lower()
        self.parts.append(Part(name, thread, begin - self.began, time.time() - self.began))

    def watch(self, module: Any, function: str, name: str) -> None:  # noqa: ANN401
        """Time the first call of a function, under every module's name for it."""
        original, called = getattr(module, function), threading.Event()

        @functools.wraps(original)
        def timed(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            first, begin = not called.is_set(), time.time()
            called.set()
            try:
                return original(*arguments, **named)
            finally:
                if first:
                    self.add(name, begin)

        for other in [m for name, m in list(sys.modules.items()) if name.startswith("surefoot")]:
            if getattr(other, function, None) is original:
                setattr(other, function, timed)


def run_until_first_result(model: str, data: str, device: str) -> None:
    """In the process: the run, up to its first batch; prints the parts as JSON."""
    timeline = Timeline(float(os.environ[_BEGAN]), [])
    timeline.add("start of Python", timeline.began)
    begin = time.time()
    from surefoot.engine import devices

    for function, name in {
        "import_torch": "import torch",
        "open_gpu": "open the GPU",
        "load_libraries": "load cuDNN and cuBLAS",
        "usable": "load the kernels",
    }.items():
        timeline.watch(devices, function, name)
    devices.prepare_gpu(device)  # as a command does when it has read its options
    import surefoot as sf
    from surefoot.models import torch as torch_models
    from surefoot.models import torch_modules
    from surefoot.store.sql import SqlJournal
    from surefoot.study import measure, run

    timeline.add("import surefoot", begin)
    timeline.watch(torch_modules, "read_module", "read the model")
    timeline.watch(torch_modules, "on_device", "put it on the device")
    timeline.watch(torch_models, "_first_run", "its first run")
    timeline.watch(run, "preflight", "preflight")
    timeline.watch(run, "open_store", "open the store")
    timeline.watch(measure, "batch_size", "batch size")
    _stop_at_first_batch(timeline, SqlJournal)
    sf.estimate(model, data, "linf:8/255", bounds="0,1", device=device, store="run.db")


def _stop_at_first_batch(timeline: Timeline, journal: Any) -> None:  # noqa: ANN401  its class
    """Print the parts and end the process when evidence is first written."""

    def append(*_: object) -> None:
        timeline.add("first batch", timeline.parts[-1].end + timeline.began)
        print(json.dumps([vars(part) for part in timeline.parts]), flush=True)
        os._exit(0)

    journal.append = append


def first_result(device: str, file: str = "pt2", *, cold: bool = False) -> list[Part]:
    """The parts of one fresh process; the end of the last is the first result."""
    with tempfile.TemporaryDirectory() as folder:
        _write_files(Path(folder), file)
        environment = {**os.environ, _BEGAN: repr(time.time())}
        if cold:
            environment["CUDA_CACHE_PATH"] = str(Path(folder) / "kernels")
        words = [sys.executable, str(Path(__file__).resolve()), "--child", f"model.{file}"]
        done = subprocess.run(
            [*words, "--device", device], cwd=folder, env=environment, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
    if done.returncode:
        sys.exit(f"the run failed:\n{done.stderr}")
    return [Part(**part) for part in json.loads(done.stdout.splitlines()[-1])]


def _write_files(folder: Path, file: str) -> None:
    import numpy as np
    from gpu import SHAPE, resnet18, torch

    torch.manual_seed(0)
    network, example = resnet18().eval(), torch.zeros(2, *SHAPE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if file == "pt":
            torch.jit.trace(network, example).save(str(folder / "model.pt"))
        else:
            free = ({0: torch.export.Dim.AUTO},)
            program = torch.export.export(network, (example,), dynamic_shapes=free)
            torch.export.save(program, folder / "model.pt2")
    x = np.random.default_rng(0).random((200, *SHAPE), dtype=np.float32)
    np.savez(folder / "test.npz", x=x, y=np.arange(200) % 10)


def print_parts(parts: list[Part]) -> None:
    """A table in the order of the beginnings."""
    from tables import print_table

    rows: Callable[[Part], list[str]] = lambda p: [  # noqa: E731
        p.name, p.thread, f"{p.begin:.2f}", f"{p.end:.2f}", f"{p.end - p.begin:.2f}"
    ]  # fmt: skip
    print_table(
        ["part", "thread", "begins (s)", "ends (s)", "seconds"],
        [rows(part) for part in sorted(parts, key=lambda p: (p.begin, p.end))],
    )


def main() -> None:
    """Print a table for the last run, then one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--file", choices=["pt2", "pt"], default="pt2")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cold", action="store_true", help="with an empty cache of the driver")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_until_first_result(options.child, "test.npz", options.device)
        return
    from gpu import device_name
    from processor import print_processor, processor_name

    print_processor()
    where = device_name(options.device)
    print(f"device: {where}")
    runs = [
        first_result(options.device, options.file, cold=options.cold) for _ in range(options.runs)
    ]
    print_parts(runs[-1])
    seconds = [round(parts[-1].end, 3) for parts in runs]
    print(f"each run: {seconds}; target on a data-centre GPU: {TARGET:g}")
    figures = {"first_result_seconds": statistics.median(seconds), "runs": seconds}
    print(json.dumps({**figures, "device": where, "processor": processor_name()}))


if __name__ == "__main__":
    main()
