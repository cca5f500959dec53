"""A gate for CI: exit with 0 if the model is shown to be robust enough, 1 if not, 2 if undecided.

The model and the images come with the package; put your own in their place. The same gate in a
shell: docs/how-to/use-in-ci.md.
"""

import sys
from importlib.resources import as_file, files

import surefoot as sf

data = files("surefoot") / "data"

with as_file(data / "fashion_cnn.onnx") as model, as_file(data / "fashion_test.npz") as images:
    checkup = sf.doctor(model, images)
    if checkup.bad:
        print(checkup)
        sys.exit(3)
    result = sf.estimate(
        model,
        images,
        "linf:8/255",
        require=0.8,  # an accuracy of at least 80 % when perturbed
        report="report.html",
    )
print(result)
sys.exit(result.exit_code)
