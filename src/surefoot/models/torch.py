"""PyTorch: a module in memory, a `torch.export` file, a TorchScript file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, ModelFailed, SurefootError, refusing
from surefoot.graph.gradient import as_rows
from surefoot.models import scores as answers
from surefoot.models import torch_modules as modules
from surefoot.models.archive import export_input_shape, is_archive, is_script, read_parts
from surefoot.models.load_options import LoadOptions, Normalise, Source
from surefoot.models.script_process import confined_module
from surefoot.subject.protocols import Array, Graph, Item, Outputs, Scores, Signature, Weigh
from surefoot.system.confinement import can_confine

if TYPE_CHECKING:
    import torch
    from torch.nn import Module


class ModuleFile(Protocol):
    """Where a module can be read again, in another process."""

    def read(self) -> Module:
        """The module; refused where the file has changed."""


@dataclass(frozen=True)
class _File:
    """Where a module was read, and whether code in the file is trusted."""

    path: Path
    trust: bool
    digest: str
    confined: bool = False

    def read(self) -> Module:
        """The module of the file, which must be the same as when it was first read."""
        if hashlib.sha256(self.path.read_bytes()).hexdigest() != self.digest:
            raise InvalidArgument(
                f"{self.path} has changed since the run began: run the command again"
            )
        return self.open()

    def open(self) -> Module:
        """The same unchecked; of a script that nobody vouches for, the process that runs it."""
        if self.confined:
            return confined_module(self.path)
        return modules.read_module(self.path, self.trust)


@dataclass(frozen=True, eq=False)
class TorchModel(answers.OfRows):
    """A module on its device; perturbations are drawn there too.

    `full` is the same model in its own precision where this one runs in half of it. `private`: the
    module writes to its batch, and gets a copy of its own each time. `as_list`: it takes a list of
    inputs, as the detectors of torchvision do. `file` is where it was read. `onnx` is the ONNX file
    whose graph it is, `difference` its share of the largest output from onnxruntime.
    `replicas` are copies on further devices, which answer as this one does.
    """

    run: Module
    device: torch.device
    dtype: torch.dtype
    normalise: Normalise
    signature: Signature = field(repr=False)
    full: TorchModel | None = None
    private: bool = False
    as_list: bool = False
    file: ModuleFile | None = None
    onnx: Graph | None = None
    difference: float | None = None
    script_note: tuple[bool, str] = (True, "")
    replicas: tuple[TorchModel, ...] = field(default=(), repr=False)

    def __reduce__(self) -> tuple[Item, ...]:
        """In another process a module of a file is read again, from the same file, once."""
        kept = {f.name: getattr(self, f.name) for f in fields(self)} | {"replicas": ()}
        return _reopened, (kept | {"run": None} if self.file else kept,)

    def place(self, x: NDArray[np.float32]) -> Array:
        """A tensor on the model's device, in memory of its own."""
        own = np.array(x, order="C") if self.device.type == "cpu" else np.ascontiguousarray(x)
        return modules.require_torch().from_numpy(own).to(self.device)

    def rows(self, x: Array) -> Array:
        """What the module returns."""
        torch = modules.require_torch()
        with answers.model_errors(), torch.inference_mode(), modules.current_device(self.device):
            ready, before = self._ready(x), _writes_to(x)
            rows = self._read(self.run(list(ready) if self.as_list else ready), len(x))
            if _writes_to(x) != before:
                raise ChangesInput(
                    "the model changed this batch in place, though not the ones it was first "
                    "tried on: let it begin with x = x.clone()"
                )
            return rows

    def _read(self, output: Item, expected: int) -> Outputs:
        """Rows of floats where the module gives any, else what it gives."""
        scores = self.signature.scores
        if scores is Scores.OBJECTS:
            return answers.read_output(output, expected, scores)
        rows = answers.read_output(modules.scores_tensor(output), expected, scores)
        return rows.float() if scores.of_classes or rows.is_floating_point() else rows

    def _ready(self, x: Array) -> Array:
        """What the module is given: normalised, in its precision, and its own if it writes."""
        ready = self.normalise(x).to(self.dtype)
        return ready.clone() if self.private and ready is x else ready

    @property
    def graph(self) -> Graph:
        """The ONNX file, for proofs, where the module is the graph of one."""
        if self.onnx is None:
            raise AttributeError("graph")
        return self.onnx

    @property
    def run_note(self) -> tuple[bool, str]:
        """How an ONNX file is run here."""
        if self.difference is None:
            return self.script_note
        return True, (
            f"PyTorch runs the graph of the ONNX file on {self.device}: outputs differ by at most "
            f"{self.difference:.1g} of the largest from those of onnxruntime"
        )

    def logits_and_gradient(self, x: Array, weigh: Weigh) -> tuple[Array, Array]:
        """By autograd, in the model's own precision where it runs in half of it."""
        torch = modules.require_torch()
        with answers.model_errors(), torch.enable_grad(), modules.current_device(self.device):
            at = x.detach().clone().requires_grad_()
            logits = self.logits(at)
            if not logits.requires_grad:
                raise ModelFailed(
                    "no gradient flows from its scores back to its input"
                    ": leave out detach, argmax and the like in it, or use a method that samples"
                )
            weights = weigh(logits.detach(), torch.arange(len(x), device=x.device))
            (slope,) = torch.autograd.grad((weights * logits).sum(), at)
            return logits.detach(), slope.float()

    def logits(self, x: Array) -> Array:
        """Through which gradients flow; of probabilities their logarithms."""
        torch, model = modules.require_torch(), self.full or self
        before = getattr(model.run, "onnx_logits", None)  # without the Softmax at its end
        kind = self.signature.scores if before is None else Scores.LOGITS
        raw = (before or model.run)(model._ready(x))
        rows = as_rows(modules.scores_tensor(raw), len(x)).float()
        scores = answers.both_classes(rows, kind)
        if kind is Scores.PROBABILITIES:
            scores = torch.log(scores.clamp_min(torch.finfo(torch.float32).tiny))
        return scores

    def torch_module(self) -> Module:
        """A module from inputs to logits, normalisation inside, for attacks that need one.

        It is a copy, weights and buffers too: what is done to it does not reach this model.
        """
        own = self.full or self
        what = "an attack gets a copy of the model, and this module cannot be copied"
        with refusing(what, "let copy.deepcopy(module) work", Exception, words=modules.first_line):
            copied = replace(own, run=modules.copy_module(own.run))
        return modules.logits_module(copied.logits, copied.run)

    def state_digest(self) -> str:
        """A name for the weights and buffers as they are now."""
        torch = modules.require_torch()
        models = [self] if self.full is None else [self, self.full]
        buffers = hashlib.sha256()  # also those that the module does not save
        for value in (value for model in models for value in model.run.buffers()):
            buffers.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        return " ".join(
            [buffers.hexdigest(), *(modules.module_digest(model.run) for model in models)]
        )


_CONFINED = "in a process that can write no file, start no program and use no network (seccomp)"
_UNCONFINED = (
    "in this process, where a list of words is all that keeps code in the file from writing files: "
    "a kernel with seccomp (Linux on x86-64 or ARM) confines it on the processor, not on a GPU; "
    "convert the model to ONNX if you do not know who made it"
)
_WAYS = "pass cpu, cuda (every GPU), or GPUs by number, such as cuda:0,2"


class ChangesInput(ModelFailed):
    """The module wrote to its batch."""


def _writes_to(x: Array) -> int:
    """How often operations have written to this tensor in place; PyTorch counts it anyway."""
    return 0 if x.is_inference() else int(x._version)


def wrap_module(
    module: Module,
    options: LoadOptions,
    digest: str = "",
    own_shape: tuple[int | None, ...] | None = None,
) -> TorchModel:
    """A module as a model; `digest` is that of its file, without one it is in memory."""
    options.refuse_output()
    if not digest and any(part.training for part in module.modules()):
        raise InvalidArgument(
            "the module is in training mode, where dropout and batch norm make its answers "
            "random: call module.eval() first"
        )
    shape = options.input_shape(own_shape, _what(own_shape))
    options.normalise.check(shape)
    names = modules.device_names(options.device)
    copies = modules.copies_for(module, names[1:])
    module, where, dtype = modules.on_device(module, names[0] if names else None)
    covers = "the bytes of the file" if digest else "the structure and the weights of the module"
    draft = options.draft(shape, digest or modules.module_digest(module), covers)
    draft = replace(draft, thread_safe=where.type == "cuda")
    model = TorchModel(module, where, dtype, options.normalise, draft)
    try:
        model = _first_run(model, options.scores, digest_answers=not digest)
    except ModelFailed as error:
        elsewhere = "; if it was exported on a processor, export it on a GPU or use --device cpu"
        raise ModelFailed(
            f"{error} (inputs of shape {shape} were tried: if the model takes another, pass "
            f"shape=, --shape{elsewhere if digest and where.type != 'cpu' else ''})"
        ) from error
    several = replicas(model, copies)
    if options.half:
        model, several = _halved(model), tuple(map(_halved, several))
    return replace(model, replicas=several)


def _what(own_shape: tuple[int | None, ...] | None) -> str:
    return "a PyTorch module" if own_shape is None else "the exported module"


def is_module(source: Source) -> bool:
    """Whether it is a PyTorch module, without importing PyTorch."""
    return hasattr(source, "state_dict") and hasattr(source, "forward")


def open_torch(path: Path, options: LoadOptions) -> TorchModel:
    """The model in an exported, scripted or (trusted only) pickled file."""
    options.refuse_output()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    own = export_input_shape(path)
    if not options.trust:
        modules.try_file(path, options.input_shape(own, _what(own)))
    script = not options.trust and is_archive(path) and is_script(read_parts(path))
    confined = script and options.device in (None, "cpu") and can_confine()
    file = _File(path, options.trust, digest, confined)
    model = wrap_module(file.open(), options, digest, own)
    note = (confined, _CONFINED if confined else _UNCONFINED) if script else (True, "")
    model = replace(model, file=file, script_note=note)
    return replace(model, full=model.full and replace(model.full, file=file))


def _reopened(kept: dict[str, Item]) -> TorchModel:
    model = TorchModel(**kept)
    if model.file is None:
        return model
    module, _, _ = modules.on_device(model.file.read(), str(model.device))
    return replace(model, run=module.half() if model.full else module)


def _first_run(draft: TorchModel, scores: Scores | None, digest_answers: bool) -> TorchModel:
    """The model with what one run tells; one that gives objects is tried with a list first.

    One that writes to its batch is run again, with batches of its own.
    """
    if scores is Scores.OBJECTS and not draft.as_list:
        with suppress(ModelFailed):
            return _first_run(replace(draft, as_list=True), scores, digest_answers)

    def rows(x: NDArray[np.float32]) -> Array:
        placed = draft.place(x)
        answer = draft.rows(placed)
        if not draft.private and not np.array_equal(placed.cpu().numpy(), x):
            raise ChangesInput(
                "the model changes its batch unseen: let it begin with x = x.clone()"
            )
        return answer

    how = {"digest_answers": digest_answers}
    try:
        signature = answers.complete_signature(draft.signature, rows, scores, **how)
    except ChangesInput:
        draft = replace(draft, private=True)
        signature = answers.complete_signature(draft.signature, rows, scores, **how)
    return replace(draft, signature=signature)


def replicas(model: TorchModel, copies: Mapping[str, Module]) -> tuple[TorchModel, ...]:
    """The model with each of these modules, on the device that it is named by.

    Devices are prepared side by side, as each takes a moment to begin.
    """
    if not copies:
        return ()

    def on(name: str) -> TorchModel:
        module, where, _ = modules.on_device(copies[name], name)
        own = replace(model, run=module, device=where)
        what = f"the model runs on {model.device}, but not on {name}"
        with refusing(what, _WAYS, SurefootError):
            own.rows(own.place(answers.probe(own.signature.shape, own.signature.bounds)))
        return own

    with ThreadPoolExecutor(len(copies)) as pool:
        return tuple(pool.map(on, copies))


def _halved(model: TorchModel) -> TorchModel:
    """The model in half precision; the original stays at hand, to be compared with."""
    torch = modules.require_torch()
    preparation = "; ".join(filter(None, [model.signature.preparation, "run in half precision"]))
    signature = replace(model.signature, preparation=preparation)
    what = "this model cannot run in half precision"
    with refusing(what, "leave it out", Exception, words=modules.first_line):
        module = modules.copy_module(model.run).half()
    return replace(model, run=module, dtype=torch.float16, signature=signature, full=model)
