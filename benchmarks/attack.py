"""How strong and how fast the attack is, beside AutoAttack and PGD of others.

A weak attack would flatter a model. Croce & Hein's AutoAttack (standard version, the authors' code)
attacks the same images in the same networks on the same device, in float32 and batches of the same
size; an image that it breaks and ours does not is a miss. What AutoAttack misses of its own with
another seed is the scale. Both stop at the first success.

    python benchmarks/attack.py --data DIR [--autoattack DIR] [--device cuda] [--norm linf]
    python benchmarks/attack.py --data DIR --quick       two networks, 12 images, under two minutes

--data: what `attack_networks.py` wrote, and nets/ with mnist-net_256x4.onnx and
convSmallRELU__PGDK.onnx. --autoattack: the folder that holds the package `autoattack`, unless it is
installed (repository fra31/auto-attack). --first: images from this place on (others to tune with).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import attack_networks
import numpy as np
from prerequisites import need_folder, need_package
from processor import print_processor
from tables import print_table

import surefoot as sf
from surefoot.core.results import Bracket
from surefoot.subject.protocols import Perturbation

onnx = need_package("onnx")
torch = need_package("torch")

NOISE: dict[str, Callable[[float], Perturbation]] = {
    "linf": sf.perturb.LinfNoise,
    "l2": sf.perturb.L2Noise,
    "l1": sf.perturb.L1Noise,
}
NAMES = {"linf": "Linf", "l2": "L2", "l1": "L1"}
ATTACK = sf.methods.Attack()
PUBLISHED = sf.methods.PGD(iterations=20)


@dataclass(frozen=True)
class Case:
    """A network, where its images are, and the radii: few, about half and most of them break."""

    name: str
    images: str
    radii: dict[str, tuple[float, float, float]]
    file: str = ""


CASES = (
    Case(
        "fashion_cnn", "fashion_mnist",
        {"linf": (0.01, 0.02, 0.03), "l2": (0.2, 0.4, 0.6), "l1": (1, 2, 4)},
    ),
    Case(
        "fashion_robust", "fashion_mnist",
        {"linf": (0.05, 0.1, 0.15), "l2": (0.5, 1.0, 1.5), "l1": (3, 6, 10)},
    ),
    Case(
        "cifar_residual", "cifar10",
        {"linf": (2 / 255, 4 / 255, 8 / 255), "l2": (0.15, 0.3, 0.6), "l1": (2, 4, 8)},
    ),
    Case(
        "mnist_256x4", "mnist",
        {"linf": (0.04, 0.06, 0.08), "l2": (0.5, 0.8, 1.1), "l1": (2, 4, 6)},
        "mnist-net_256x4.onnx",
    ),
    Case(
        "mnist_conv", "mnist",
        {"linf": (0.15, 0.2, 0.25), "l2": (1.5, 2.0, 2.5), "l1": (6, 9, 12)},
        "convSmallRELU__PGDK.onnx",
    ),
)  # fmt: skip


class Transposed(torch.nn.Module):
    """The order of axes of a graph's Transpose."""

    def __init__(self, order: list[int]) -> None:
        super().__init__()
        self.order = order

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The axes in this order."""
        return x.permute(*self.order)


def torch_copy(path: Path) -> torch.nn.Module:
    """A network of plain layers in PyTorch."""
    graph = onnx.load(str(path)).graph
    values = {i.name: torch.tensor(onnx.numpy_helper.to_array(i)) for i in graph.initializer}
    layers: list[torch.nn.Module] = []
    for node in graph.node:
        known = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        match node.op_type:
            case "Conv":
                w, b = (values[name] for name in node.input[1:3])
                layer = torch.nn.Conv2d(
                    w.shape[1], w.shape[0], w.shape[2],
                    known.get("strides", [1])[0], known.get("pads", [0])[0],
                )  # fmt: skip
                layer.load_state_dict({"weight": w, "bias": b})
                layers.append(layer)
            case "Gemm":
                w, b = (values[name] for name in node.input[1:3])
                w = w if known.get("transB", 0) else w.T
                dense = torch.nn.Linear(w.shape[1], w.shape[0])
                dense.load_state_dict({"weight": w, "bias": b})
                layers.append(dense)
            case "MaxPool":
                layers.append(torch.nn.MaxPool2d(known["kernel_shape"][0], known["strides"][0]))
            case "Transpose":
                layers.append(Transposed(known["perm"]))
            case "Constant":
                pass
            case kind:
                layers.append(torch.nn.ReLU() if kind == "Relu" else torch.nn.Flatten())
    return torch.nn.Sequential(*layers).eval()


@dataclass(frozen=True)
class Subject:
    """A network on its device, with images and labels."""

    net: torch.nn.Module
    x: torch.Tensor
    y: torch.Tensor
    file: Path | None

    @property
    def model(self) -> Any:  # noqa: ANN401  a model of surefoot
        """The same network for surefoot."""
        where = str(self.x.device)
        return sf.load_model(self.net, shape=tuple(self.x.shape[1:]), bounds=(0, 1), device=where)

    @property
    def inputs(self) -> Any:  # noqa: ANN401  inputs of surefoot
        """The same images for surefoot."""
        return sf.load_inputs(self.x.cpu().numpy(), self.y.cpu().numpy())


def subject_of(case: Case, folder: Path, device: str, first: int, count: int) -> Subject:
    """A case with its images."""
    arrays = np.load(folder / f"{case.images}_{attack_networks.IMAGES}.npz")
    x = attack_networks.images_of(arrays["x"][first : first + count])
    file = None
    if case.name in attack_networks.TRAINED:
        net = attack_networks.TRAINED[case.name]()
        net.load_state_dict(torch.load(folder / f"{case.name}.pt", weights_only=True))
    else:
        shipped = Path(sf.__file__).parent / "data" / "fashion_cnn.onnx"
        file = folder / "nets" / case.file if case.file else shipped
        net = torch_copy(file)
    y = torch.from_numpy(arrays["y"][first : first + count].astype(np.int64))
    net = net.eval().requires_grad_(False).to(device)
    return Subject(net, x.to(device), y.to(device), file)


def timed(device: str, work: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    """What it returns, and its processor time; on a GPU the time until that is done."""
    if device == "cpu":
        begun = time.process_time()
        return work(), time.process_time() - begun
    torch.cuda.synchronize()
    begun = time.perf_counter()
    answer = work()
    torch.cuda.synchronize()
    return answer, time.perf_counter() - begun


def ours(subject: Subject, norm: str, radius: float, method: Any, model: Any = None) -> np.ndarray:  # noqa: ANN401  an attack, a model
    """Which images our attack breaks."""
    study = sf.Study(
        model or subject.model, subject.inputs, NOISE[norm](radius), method,
        property=sf.properties.TrueLabel(), seed=1,
    )  # fmt: skip
    rows = study.run(workers=1).record.inputs
    return np.array([isinstance(r.result, Bracket) and r.result.high < np.inf for r in rows])


def autoattack(subject: Subject, norm: str, radius: float, seed: int) -> np.ndarray:
    """Which images AutoAttack breaks; the point is looked at again."""
    from autoattack import AutoAttack

    attack = AutoAttack(
        subject.net, norm=NAMES[norm], eps=radius, seed=seed, verbose=False,
        device=str(subject.x.device),
    )  # fmt: skip
    found = attack.run_standard_evaluation(subject.x, subject.y, bs=256)
    with torch.no_grad():
        return (subject.net(found).argmax(1) != subject.y).cpu().numpy()


def pgd_of_art(subject: Subject, norm: str, radius: float) -> np.ndarray:
    """Which images PGD of the Adversarial Robustness Toolbox breaks, as many steps as ours."""
    from art.attacks.evasion import ProjectedGradientDescentPyTorch
    from art.estimators.classification import PyTorchClassifier

    device = "gpu" if subject.x.is_cuda else "cpu"
    wrapped = PyTorchClassifier(
        subject.net, torch.nn.CrossEntropyLoss(), tuple(subject.x.shape[1:]), 10,
        clip_values=(0, 1), device_type=device,
    )  # fmt: skip
    attack = ProjectedGradientDescentPyTorch(
        wrapped, norm={"linf": np.inf, "l2": 2, "l1": 1}[norm], eps=radius,
        eps_step=PUBLISHED.step_at(radius), max_iter=PUBLISHED.iterations, num_random_init=1,
        batch_size=256, verbose=False,
    )  # fmt: skip
    points = attack.generate(subject.x.cpu().numpy(), subject.y.cpu().numpy())
    return wrapped.predict(points).argmax(1) != subject.y.cpu().numpy()


@dataclass(frozen=True)
class Row:
    """What was broken in one network at one radius, and how long it took."""

    name: str
    radius: float
    theirs: np.ndarray
    other_seed: np.ndarray
    mine: np.ndarray
    seconds: dict[str, float]

    def cells(self) -> list[str]:
        """The row of the table."""
        theirs, mine = self.theirs, self.mine
        counts = (
            theirs.sum(), mine.sum(), (theirs & ~mine).sum(), (theirs & ~self.other_seed).sum(),
            (mine & ~theirs).sum(),
        )  # fmt: skip
        times = [f"{self.seconds.get(key, math.nan):.1f}" for key in TIMES]
        return [self.name, f"{self.radius:.4g}", *map(str, counts), *times]


TIMES = ("autoattack", "ours", "onnx", "pgd", "art")
HEADER = (
    "network", "radius", "AutoAttack", "ours", "missed", "missed by another seed", "ours alone",
    *(f"{key} s" for key in TIMES),
)  # fmt: skip


def measured(case: Case, subject: Subject, norm: str, radius: float) -> Row:
    """All attacks on one network at one radius."""
    device, seconds = subject.x.device.type, {}

    def run(key: str, work: Callable[[], np.ndarray]) -> np.ndarray:
        answer, seconds[key] = timed(device, work)
        return answer

    theirs = run("autoattack", lambda: autoattack(subject, norm, radius, 0))
    other = run("other_seed", lambda: autoattack(subject, norm, radius, 1))
    mine = run("ours", lambda: ours(subject, norm, radius, ATTACK))
    run("pgd", lambda: ours(subject, norm, radius, PUBLISHED))
    if find_spec("art") is not None:
        run("art", lambda: pgd_of_art(subject, norm, radius))
    if subject.file is not None:
        file = sf.load_model(subject.file, bounds=(0, 1), device=device)
        run("onnx", lambda: ours(subject, norm, radius, ATTACK, file))
    return Row(case.name, radius, theirs, other, mine, seconds)


def ratio(rows: list[Row], one: str, other: str) -> float | None:
    """Time of one over that of the other, over the rows that have both."""
    both = [r.seconds for r in rows if one in r.seconds and other in r.seconds]
    if not both:
        return None
    return round(sum(r[one] for r in both) / sum(r[other] for r in both), 3)


def main() -> None:
    """Print the table, then one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--autoattack", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--norm", choices=NOISE, default="linf")
    parser.add_argument("--images", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--networks", help="comma-separated")
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    folder = need_folder(chosen.data, "--data", "nets", "cifar_residual.pt", "fashion_robust.pt")
    sys.path.insert(0, str(chosen.autoattack or folder))
    need_package("autoattack")
    print_processor()
    torch.set_num_threads(1)
    count = 12 if chosen.quick else chosen.images
    quick = "fashion_cnn,mnist_256x4" if chosen.quick else ",".join(case.name for case in CASES)
    names = (chosen.networks or quick).split(",")
    rows: list[Row] = []
    for case in (case for case in CASES if case.name in names):
        subject = subject_of(case, folder, chosen.device, chosen.first, count)
        first = case.radii[chosen.norm][0]
        ours(subject, chosen.norm, first, PUBLISHED)  # imports are no part of an attack's time
        if find_spec("art") is not None:
            pgd_of_art(subject, chosen.norm, first)
        for radius in case.radii[chosen.norm][1:2] if chosen.quick else case.radii[chosen.norm]:
            rows.append(measured(case, subject, chosen.norm, radius))
            print(*rows[-1].cells(), flush=True)
    print()
    print_table(HEADER, [row.cells() for row in rows])
    pairs = count * len(rows)
    missed = sum((row.theirs & ~row.mine).sum() for row in rows)
    unlucky = sum((row.theirs & ~row.other_seed).sum() for row in rows)
    figures = {
        "pairs": pairs,
        "missed_of_autoattack": round(100 * int(missed) / pairs, 3),
        "missed_by_another_seed": round(100 * int(unlucky) / pairs, 3),
        "time_over_autoattack": ratio(rows, "ours", "autoattack"),
        "onnx_over_torch": ratio([row for row in rows if "onnx" in row.seconds], "onnx", "ours"),
        "pgd_over_art": ratio(rows, "pgd", "art"),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
