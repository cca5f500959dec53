"""Photos in a flat folder, without labels: how often does noise change what the model says?

Two photographs, cut into overlapping views of different sizes, stand for a folder of photos; a
tiny ONNX model of three colour classes, written here, stands for a network. With a real one leave
out `write_model`: an ONNX file of a network trained on ImageNet takes (n, 3, 224, 224), surefoot
reads that from the file and resizes the photos, and imagenet_classes.txt (one name a line, or a
JSON list or table) gives its 1000 class names. Such a network needs its normalisation too:
mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]. Needs pip install 'surefoot[sklearn,verify]'.
"""

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save
from PIL import Image
from sklearn.datasets import load_sample_images

import surefoot as sf

NAMES = ["mostly red, or yellow", "mostly green", "mostly blue"]


def write_photos(folder: Path) -> None:
    """Views of two photographs; no two have the same size."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(1)
    for number, photo in enumerate(load_sample_images().images):
        for view in range(6):
            height, width = rng.integers(150, 400, 2)
            top = rng.integers(photo.shape[0] - height)
            left = rng.integers(photo.shape[1] - width)
            part = photo[top : top + height, left : left + width]
            Image.fromarray(part).save(folder / f"photo-{number}-{view}.png")


def write_model(path: str) -> None:
    """A network of two layers: the mean of each channel, and a score for each colour."""
    weights = np.array([[2, -1, -1], [-1, 2, -1], [-1, -1, 2]], np.float32)
    nodes = [
        helper.make_node("GlobalAveragePool", ["x"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], ["scores"]),
    ]
    ends = [("x", ["n", 3, 64, 64]), ("scores", ["n", 3])]
    x, scores = (helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in ends)
    constants = [numpy_helper.from_array(weights, "weights")]
    graph = helper.make_graph(nodes, "colours", [x], [scores], constants)
    opset = [helper.make_opsetid("", 17)]
    save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)


write_photos(Path("photos"))
write_model("colours.onnx")
Path("names.txt").write_text("\n".join(NAMES) + "\n")

model = sf.load_model("colours.onnx", bounds=(0, 1))
photos = sf.load_inputs("photos", class_names="names.txt", shape=model.signature.shape)
print(f"{len(photos)} photos of shape {photos.x.shape[1:]}: {photos.reading}")

study = sf.Study(
    model,
    photos,
    sf.perturb.GaussianNoise(0.3),
    sf.methods.ExactSequential(width=0.1, error=0.05),
    seed=1,
)
print(study.run())

# The same on the command line; the size of the photos comes from the model there too:
# surefoot estimate colours.onnx photos --class-names names.txt --perturb gaussian:0.3 --each 0.1
