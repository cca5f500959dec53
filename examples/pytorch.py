"""A PyTorch network four ways: in memory, as .pt2, as TorchScript and as ONNX: the same numbers.

A small network is trained here for a second on images that come with the package. Needs
pip install 'surefoot[torch,verify]'.
"""

import warnings
from importlib.resources import as_file, files

import numpy as np
import torch
from torch import nn

import surefoot as sf

torch.set_num_threads(1)
SHAPE = (1, 28, 28)  # of one input


def trained(images: torch.Tensor, labels: torch.Tensor) -> nn.Module:
    """A small convolutional network after 60 steps."""
    torch.manual_seed(1)
    network = nn.Sequential(
        nn.Conv2d(1, 6, 5, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 12 * 12, 10)
    )
    steps = torch.optim.Adam(network.parameters(), lr=5e-3)
    for _ in range(60):
        steps.zero_grad()
        nn.functional.cross_entropy(network(images), labels).backward()
        steps.step()
    return network.eval()  # dropout and batch norm would answer at random without


def export(network: nn.Module) -> None:
    """Write network.pt2, network.pt and network.onnx, all with a free batch axis."""
    example = torch.zeros(2, *SHAPE)
    free = ({0: torch.export.Dim("batch")},)
    torch.export.save(torch.export.export(network, (example,), dynamic_shapes=free), "network.pt2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch would rather see torch.export, as above
        torch.jit.trace(network, example).save("network.pt")
        torch.onnx.export(
            network,
            (example,),
            "network.onnx",
            input_names=["x"],
            dynamic_axes={"x": {0: "n"}},
            dynamo=False,  # dynamo=True works as well, and needs the package onnxscript
        )


with as_file(files("surefoot") / "data" / "fashion_test.npz") as path, np.load(path) as data:
    x, y, names = data["x"].reshape(-1, *SHAPE), data["y"], data["class_names"].tolist()
for_tests = np.arange(len(x)) % 15 == 0
network = trained(torch.from_numpy(x[~for_tests]).float() / 255, torch.from_numpy(y[~for_tests]))
export(network)

inputs = sf.load_inputs(x[for_tests], y[for_tests], class_names=names)
sources = {
    "the module in memory": sf.load_model(network, shape=SHAPE, bounds=(0, 1)),
    "network.pt2": sf.load_model("network.pt2", bounds=(0, 1)),  # says its shape itself
    "network.pt": sf.load_model("network.pt", shape=SHAPE, bounds=(0, 1)),
    "network.onnx": sf.load_model("network.onnx", bounds=(0, 1)),
}
sentences = set()
for name, model in sources.items():
    method = sf.methods.ExactSequential(width=0.1, error=0.05)
    noise = sf.perturb.LinfNoise(32 / 255)
    result = sf.Study(model, inputs, noise, method, seed=1).run()
    sentences.add(str(result).splitlines()[0])
    print(f"{name}: {str(result).splitlines()[0]}")
if len(sentences) > 1:
    raise SystemExit("the four ways give different numbers")

# A DataLoader or a dataset is read as it is, in its order:
rows = [torch.from_numpy(part[for_tests]) for part in (x, y)]
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*rows), batch_size=16)
same = sf.load_inputs(loader).digest() == inputs.digest()
print(f"from a DataLoader: {'the same' if same else 'other'} inputs")
