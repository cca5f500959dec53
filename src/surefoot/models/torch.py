"""PyTorch: a module in memory, a `torch.export` file, a TorchScript file."""

from __future__ import annotations

import copy
import hashlib
import io
import warnings
import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, MissingPackage, ModelFailed
from surefoot.graph.score_rows import as_rows
from surefoot.models.archive import (
    is_export,
    is_script,
    packed,
    plain_export,
    plain_script,
    read_parts,
)
from surefoot.models.prepare import Normalise
from surefoot.models.scores import both_classes, model_at_work, sign
from surefoot.results import Interval
from surefoot.subject import Array, Scores, Signature


def require_torch() -> Any:  # noqa: ANN401  the module
    """PyTorch, or the line that installs it."""
    try:
        import torch
    except ImportError as error:
        raise MissingPackage(
            "this model needs PyTorch: pip install torch (surefoot's extra 'torch')"
        ) from error
    return torch


@dataclass(frozen=True, eq=False)
class TorchModel:
    """A module on its device; perturbations are drawn there too.

    `full` is the same model in its own precision where this one runs in half of it. `private`: the
    module writes to its batch, and gets a copy of its own each time.
    """

    run: Any
    device: Any
    dtype: Any
    normalise: Normalise
    signature: Signature = field(repr=False)
    full: TorchModel | None = None
    private: bool = False

    def place(self, x: NDArray[np.float32]) -> Array:
        """A tensor on the model's device, in memory of its own."""
        own = np.array(x, order="C") if self.device.type == "cpu" else np.ascontiguousarray(x)
        return require_torch().from_numpy(own).to(self.device)

    def predict(self, x: Array) -> Array:
        """Scores, on the device."""
        return both_classes(self.rows(x), self.signature.scores)

    def rows(self, x: Array) -> Array:
        """What the module returns."""
        with model_at_work(), require_torch().inference_mode():
            ready, before = self._ready(x), _writes_to(x)
            rows = as_rows(_tensor(self.run(ready)), len(x)).float()
            if _writes_to(x) != before:
                raise ChangesInput(
                    "the model changed this batch in place, though not the ones it was first "
                    "tried on: let it begin with x = x.clone()"
                )
            return rows

    def _ready(self, x: Array) -> Array:
        """What the module is given: normalised, in its precision, and its own if it writes."""
        ready = self.normalise(x).to(self.dtype)
        return ready.clone() if self.private and ready is x else ready

    def margin_and_gradient(self, x: Array, labels: Array, rivals: Array) -> tuple[Array, Array]:
        """By autograd, in the model's own precision where it runs in half of it."""
        torch, model = require_torch(), self.full or self
        with model_at_work(), torch.enable_grad():
            at = x.detach().clone().requires_grad_()
            rows = as_rows(_tensor(model.run(model._ready(at))), len(x)).float()
            scores = both_classes(rows, self.signature.scores)
            if self.signature.scores is Scores.PROBABILITIES:
                scores = torch.log(scores.clamp_min(torch.finfo(torch.float32).tiny))
            row = torch.arange(len(x), device=x.device)
            margin = scores[row, labels] - scores[row, rivals]
            if not margin.requires_grad:
                raise ModelFailed("no gradient flows from its scores back to its input")
            (slope,) = torch.autograd.grad(margin.sum(), at)
            return margin.detach(), slope.float()


class ChangesInput(ModelFailed):
    """The module wrote to its batch."""


def _writes_to(x: Array) -> int:
    """How often operations have written to this tensor in place; PyTorch counts it anyway."""
    return 0 if x.is_inference() else int(x._version)


def _tensor(output: Any) -> Any:  # noqa: ANN401
    """The scores among what a module may return: a tensor, `.logits`, or a tuple of them."""
    if hasattr(output, "logits"):
        return output.logits
    if isinstance(output, dict) and "logits" in output:
        return output["logits"]
    return output[0] if isinstance(output, tuple | list) else output


def wrap_module(
    module: Any,  # noqa: ANN401
    *,
    bounds: Interval | None,
    normalise: Normalise,
    scores: Scores | None,
    shape: tuple[int, ...] | None,
    device: str | None,
    half: bool = False,
    digest: str = "",
    covers: str = "the structure and the weights of the module",
) -> TorchModel:
    """A module as a model; it must be in evaluation mode already."""
    torch = require_torch()
    if not digest and any(part.training for part in module.modules()):
        raise InvalidArgument(
            "the module is in training mode, where dropout and batch norm make its answers "
            "random: call module.eval() first"
        )
    if shape is None:
        raise InvalidArgument(
            "a PyTorch module does not say its input: give shape=(…) of one input"
        )
    normalise.check(shape)
    weights = next(iter(module.parameters()), None) if hasattr(module, "parameters") else None
    where = getattr(weights, "device", torch.device("cpu"))
    if device:
        try:
            where = torch.device(device)
            module = module.to(where)
        except Exception as error:
            raise InvalidArgument(
                f"device {device!r} cannot be used ({_first_line(error)}): say cpu, or cuda on a "
                "machine that has it"
            ) from error
    blank = Signature(
        shape=shape,
        classes=0,
        scores=scores or Scores.LOGITS,
        digest=digest or _module_digest(module),
        covers=covers,
        bounds=bounds,
        thread_safe=where.type == "cuda",
        preparation=normalise.words(),
    )
    dtype = weights.dtype if weights is not None and weights.is_floating_point() else torch.float32
    draft = TorchModel(module, where, dtype, normalise, blank)
    try:
        signature, private = _signed(draft, scores, by_answers=not digest)
    except ModelFailed as error:
        raise ModelFailed(
            f"{error} (inputs of shape {shape} were tried: if the model takes another, say --shape)"
        ) from error
    made = replace(draft, signature=signature, private=private)
    return _halved(made) if half else made


def _signed(draft: TorchModel, scores: Scores | None, by_answers: bool) -> tuple[Signature, bool]:
    """The signature, and whether the module writes to its batch."""

    def rows(x: NDArray[np.float32]) -> Array:
        placed = draft.place(x)
        answer = draft.rows(placed)
        if not np.array_equal(placed.cpu().numpy(), x):
            raise ChangesInput("the model changed its batch behind the back of PyTorch")
        return answer

    try:
        return sign(draft.signature, rows, scores, by_answers=by_answers), False
    except ChangesInput:
        own = replace(draft, private=True)
        run = lambda x: own.rows(own.place(x))  # noqa: E731
        return sign(draft.signature, run, scores, by_answers=by_answers), True


def _halved(model: TorchModel) -> TorchModel:
    """The model in half precision; the original stays at hand, to be compared with."""
    torch = require_torch()
    told = "; ".join(filter(None, [model.signature.preparation, "run in half precision"]))
    signature = replace(model.signature, preparation=told)
    try:
        module = copy.deepcopy(model.run).half()
    except Exception as error:
        raise InvalidArgument(
            f"this model cannot run in half precision ({_first_line(error)}): leave it out"
        ) from error
    return replace(model, run=module, dtype=torch.float16, signature=signature, full=model)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:120]


def _module_digest(module: Any) -> str:  # noqa: ANN401
    torch = require_torch()
    whole = hashlib.sha256(repr(module).encode())
    for name, value in sorted(module.state_dict().items()):
        if not isinstance(value, torch.Tensor):
            whole.update(f"{name}\0{value!r}\0".encode())
            continue
        whole.update(f"{name}\0{tuple(value.shape)}\0{value.dtype}\0".encode())
        whole.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return whole.hexdigest()


def read_module(path: Path, trust: bool) -> Any:  # noqa: ANN401
    """The module in a file: exported, scripted, or (trusted only) pickled."""
    torch = require_torch()
    if not zipfile.is_zipfile(path):
        return _unpickle(path, trust, "is not an exported or scripted PyTorch model")
    parts = read_parts(path)
    exported, scripted = is_export(parts), is_script(parts)
    if not (exported or scripted):
        return _unpickle(path, trust, "is a pickle")
    file: str | io.BytesIO = str(path)
    if not trust:
        try:
            file = packed(plain_export(parts, _tensors_only) if exported else plain_script(parts))
        except ValueError as error:
            raise InvalidArgument(
                f"{path} {error}, which could run code when the model is read or used: convert it "
                "to ONNX, or say --trust (trust=True) if you made the file yourself"
            ) from error
    if exported:
        return _loaded(path, lambda: torch.export.load(file).module())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return _loaded(path, lambda: torch.jit.load(file, map_location="cpu").eval())


def _loaded(path: Path, load: Any) -> Any:  # noqa: ANN401
    try:
        return load()
    except Exception as error:
        text = " ".join(str(error).split())[:200]
        raise InvalidArgument(f"{path} cannot be read as a PyTorch model ({text})") from error


def _tensors_only(content: bytes) -> bool:
    """Whether the safe unpickler reads it; where it does not, torch takes the full one."""
    try:
        require_torch().load(io.BytesIO(content), weights_only=True)
    except Exception:  # noqa: BLE001  whatever it is, it is not plain tensors
        return not content
    return True


def _unpickle(path: Path, trust: bool, what: str) -> Any:  # noqa: ANN401
    if not trust:
        raise InvalidArgument(
            f"{path} {what}; reading one can run any code: export it with torch.export.save, or "
            "say --trust (trust=True) if you made the file yourself"
        )
    torch = require_torch()
    module = _loaded(path, lambda: torch.load(str(path), map_location="cpu", weights_only=False))
    if not hasattr(module, "forward"):
        raise InvalidArgument(
            f"{path} holds {type(module).__name__}, not a network: export the module, "
            "not its weights alone"
        )
    return module.eval()
