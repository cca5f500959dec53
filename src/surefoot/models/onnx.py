"""An ONNX file: onnxruntime on the processor or a GPU, else its graph on PyTorch."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import (
    InvalidArgument,
    MissingPackage,
    ModelFailed,
    OutOfMemory,
    refusing,
    system_words,
)
from surefoot.graph import evaluate, onnx_file
from surefoot.graph.free_batch import BatchStays, free_batch, rewritten
from surefoot.graph.gradient import GradientGraph, ending_of, read_gradient_graph
from surefoot.graph.graph import Graph, read_graph
from surefoot.graph.plain_operators import load_plain
from surefoot.models import scores as answers
from surefoot.models import torch as torch_models
from surefoot.models import torch_modules as modules
from surefoot.models.call_limit import USUAL_SECONDS, late_words, within
from surefoot.models.load_options import LoadOptions, Normalise
from surefoot.subject.protocols import Array, HostArray, Item, Scores, Signature, Weigh, to_host

if TYPE_CHECKING:
    import torch
    from onnxruntime import InferenceSession, NodeArg
    from torch.nn import Module

_MOST_BATCH_BYTES = 2**29
"""Of a batch whose size a file fixes: every call fills one, also for a single input."""
_DTYPES: dict[str, type[np.generic]] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(uint8)": np.uint8,
    "tensor(int8)": np.int8,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
}
_CUDA = "CUDAExecutionProvider"
_BY_BATCH = b"DynamicQuantize"
"""In the names of operators that scale all rows of a batch together, by the largest among them."""
_ALONE = (
    "it quantises by the range of a whole batch, so that an answer would depend on the other inputs"
)


@dataclass(frozen=True, eq=False)
class OnnxGraph:
    """The file behind a model, for proofs: what it holds, and what it is given."""

    path: Path
    digest: str
    normalise: Normalise
    output: str

    @cached_property
    def content(self) -> bytes:
        """The bytes of the model, its weights inside; refused where a file has changed."""
        what, way_out = f"{self.path} cannot be read", "load the model again"
        with refusing(what, way_out, OSError, words=system_words):
            return onnx_file.whole_content(onnx_file.read_weight_files(self.path), self.digest)

    @property
    def plain(self) -> bool:
        """Whether the graph is given the inputs as they are."""
        return self.normalise.is_identity

    def prepared(self, x: Array) -> Array:
        """What the graph is given for a batch of inputs."""
        return self.normalise(x)

    def __reduce__(self) -> tuple[Item, ...]:
        """Without the content, which another process reads for itself."""
        return OnnxGraph, (self.path, self.digest, self.normalise, self.output)


@dataclass(frozen=True, eq=False)
class _GraphFile:
    """Where a module of an ONNX file comes from: the file, with its batch made free."""

    source: OnnxGraph
    output: str
    freed: bool

    @cached_property
    def content(self) -> bytes:
        """The bytes of the model as it is run."""
        content = self.source.content
        if not self.freed:
            return content
        model = load_plain(content)
        return rewritten(model, read_graph(model), self.output)

    @cached_property
    def graph(self) -> Graph:
        """The graph of the model as it is run."""
        return read_graph(load_plain(self.content))

    def __reduce__(self) -> tuple[Item, ...]:
        """Without what another process reads for itself."""
        return _GraphFile, (self.source, self.output, self.freed)

    def read(self) -> Module:
        """The module, with the tensor before a last Softmax at hand."""
        ending = ending_of(self.graph, self.output)
        logits = ending.scores if ending.gives_logits else None
        return evaluate.torch_graph(self.graph, ending.output, logits)


@dataclass(frozen=True, eq=False)
class OnnxModel(answers.OfRows):
    """A session with what is needed to feed it and to read its answer.

    `batch` is what a file fixes and could not be made free, for the reason `batch_stays`, or 1
    where rows are not independent; `freed` is how far a free batch is from the file's own, as a
    share of the largest output. `device` is the GPU whose memory is bound where onnxruntime runs
    there.
    """

    session: InferenceSession
    input_name: str
    output_name: str
    dtype: type[np.generic]
    batch: int | None
    normalise: Normalise
    signature: Signature = field(repr=False)
    path: Path | None = None
    freed: float | None = None
    batch_stays: str = ""
    device: torch.device | None = None
    call_limit: float = USUAL_SECONDS
    replicas: tuple[OnnxModel, ...] = field(default=(), repr=False)

    def place(self, x: NDArray[np.float32]) -> Array:
        """NumPy it is, but for a GPU."""
        if self.device is None:
            return x
        return modules.require_torch().from_numpy(np.ascontiguousarray(x)).to(self.device)

    def rows(self, x: Array) -> Array:
        """The output for a batch of any size, also where the file fixes one."""
        with answers.model_errors():
            ready = answers.cast_to(self.normalise(x), self.dtype)
            if isinstance(ready, np.ndarray):
                raw = answers.in_pieces(ready, self.batch or len(x), self._run)
            else:
                raw = bound_run(self.session, self.input_name, self.output_name, ready)
            return answers.read_output(raw, len(x), self.signature.scores)

    def __reduce__(self) -> tuple[Item, ...]:
        """In another process the session is opened again, from the same file."""
        kept = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "session"}
        return _reopened, (self.graph.path, kept | {"replicas": ()})

    @property
    def run_note(self) -> tuple[bool, str]:
        """Whether the file is run as it should be, and how."""
        if self.batch_stays == _ALONE:
            return False, f"{_ALONE}: it is run one input at a time; static quantisation is faster"
        if self.batch_stays:
            return False, (
                f"it takes batches of exactly {self.batch}, and no others ({self.batch_stays}), so "
                "it is run in pieces: export it with a free batch axis, which is faster"
            )
        if self.freed is not None:
            return True, (
                "the batch that the file fixes was made free: outputs differ by at most "
                f"{self.freed:.1g} of the largest from those of the file's own batches"
            )
        return True, ""

    @cached_property
    def graph(self) -> OnnxGraph:
        """The file, for proofs."""
        if self.path is None:
            raise InvalidArgument(
                "the ONNX file of this model is not known: load the model from its file"
            )
        return OnnxGraph(self.path, self.signature.digest, self.normalise, self.output_name)

    @cached_property
    def file(self) -> _GraphFile:
        """The file as its graph is read."""
        return _GraphFile(self.graph, self.output_name, self.freed is not None)

    @cached_property
    def _gradient_graph(self) -> GradientGraph:
        return read_gradient_graph(self.file.content, self.output_name)

    @cached_property
    def _by_torch(self) -> torch_models.TorchModel:
        """The graph on PyTorch, for gradients; compared with the session first."""
        module = self.file.read()
        if self.dtype is np.float16:  # gradients lose less in single precision
            module = module.float()
        module, where, dtype = modules.on_device(module, str(self.device or "cpu"))
        model = torch_models.TorchModel(
            module, where, dtype, self.normalise, self.signature, file=self.file
        )
        reduced = where.type != "cpu"
        compare(model, self, evaluate.tolerance(self.file.graph, reduced=reduced))
        return model

    def logits_and_gradient(self, x: Array, weigh: Weigh) -> tuple[Array, Array]:
        """By PyTorch where it is installed, else by walking the graph back.

        A Softmax at the end is left out of it. In batches of the size that the file may fix.
        """
        if not isinstance(x, np.ndarray):
            return self._by_torch.logits_and_gradient(x, weigh)
        n, size = len(x), self.batch or len(x)
        by_torch = importlib.util.find_spec("torch") is not None
        run = self._gradient_by_torch if by_torch else self._gradient_by_hand
        with answers.model_errors():
            every = np.minimum(np.arange(n + -n % size), n - 1)
            pieces = [run(x, every[i : i + size], weigh) for i in range(0, len(every), size)]
            firsts, gradients = (np.concatenate(part)[:n] for part in zip(*pieces, strict=True))
            return firsts, gradients

    def _gradient_by_torch(
        self, x: HostArray, rows: HostArray, weigh: Weigh
    ) -> tuple[HostArray, HostArray]:
        torch = modules.require_torch()

        def weights(scores: Array, _: Array) -> Array:
            own = np.asarray(weigh(to_host(scores), rows), np.float32)
            return torch.from_numpy(own).to(scores.device)

        placed = torch.from_numpy(np.ascontiguousarray(x[rows])).to(self._by_torch.device)
        with modules.one_thread():
            logits, gradient = self._by_torch.logits_and_gradient(placed, weights)
        return to_host(logits), to_host(gradient)

    def _gradient_by_hand(
        self, x: HostArray, rows: HostArray, weigh: Weigh
    ) -> tuple[HostArray, HostArray]:
        graph = self._gradient_graph
        ready = answers.cast_to(self.normalise(x[rows]), self.dtype)
        known = graph.gives_logits or self.signature.scores is Scores.LOGITS
        logits, gradient = graph.logits_and_gradient(ready, lambda s: weigh(s, rows), known)
        return logits, np.asarray(self.normalise.gradient_before(gradient), np.float32)

    def torch_module(self) -> Module:
        """The file as a PyTorch module from inputs to logits, for attacks that need one."""
        return self._by_torch.torch_module()

    def _in_time(self, feed: dict[str, HostArray]) -> list[Item]:
        """The outputs; a graph may hold a loop that never ends."""
        import onnxruntime

        options, late = onnxruntime.RunOptions(), []
        options.log_severity_level = onnx_file.FATAL_ONLY

        def stop() -> None:
            late.append(True)
            options.terminate = True

        with within(self.call_limit, stop):
            try:
                outputs: list[Item] = self.session.run([self.output_name], feed, options)
            except Exception as error:
                if late:
                    raise ModelFailed(late_words(self.call_limit)) from error
                raise
        return outputs

    def _run(self, x: HostArray) -> HostArray:
        """The output; of a list of maps from classes to scores a table of these."""
        output: Item = self._in_time({self.input_name: x})[0]
        if isinstance(output, list):
            columns = sorted(output[0])
            return np.array([[row[c] for c in columns] for row in output], dtype=np.float32)
        table: HostArray = output
        return table


def bound_run(session: InferenceSession, feed: str, output: str, x: Array) -> Array:
    """The output for a tensor, both where the tensor is: nothing passes through main memory."""
    torch = modules.require_torch()
    x = x.contiguous()
    kind, number = x.device.type, x.device.index or 0
    binding = session.io_binding()
    element = np.dtype(str(x.dtype).removeprefix("torch."))
    binding.bind_input(feed, kind, number, element, tuple(x.shape), x.data_ptr())
    binding.bind_output(output, kind, number)
    if x.is_cuda:  # onnxruntime has a stream of its own
        torch.cuda.current_stream(x.device).synchronize()
    session.run_with_iobinding(binding)
    binding.synchronize_outputs()
    (value,) = binding.get_outputs()
    return torch.utils.dlpack.from_dlpack(value._ortvalue.to_dlpack())


def compare(
    model: OnnxModel | torch_models.TorchModel, runtime: OnnxModel, allowed: float
) -> float:
    """How far a model is from onnxruntime on the processor, as a share of the largest output.

    On fixed inputs, as the model is run; refused where it is more than allowed.
    """
    x = answers.probe(model.signature.shape, model.signature.bounds)
    x = x[np.resize(np.arange(len(x)), runtime.batch or len(x))]
    own = to_host(model.rows(model.place(x)))
    difference = evaluate.largest_share(own, runtime.rows(x))
    evaluate.check_difference(difference, allowed, f"{runtime.path} on {model.device}")
    return difference


def open_onnx(path: Path, options: LoadOptions) -> OnnxModel | torch_models.TorchModel:
    """Load the file and run it once to learn what it returns."""
    normalise, scores = options.normalise, options.scores
    on_processor = options.device in (None, "cpu")
    if options.half and on_processor:
        raise InvalidArgument(
            "half precision is for PyTorch models, and for ONNX files on a GPU (--device cuda): "
            "leave it out"
        )
    files = onnx_file.read_weight_files(path)
    session = _session(path)
    feed = _only_input(path, session)
    if feed.type not in _DTYPES:
        raise InvalidArgument(f"{path} must take numbers, got {feed.type}: export it with float32")
    dtype = _DTYPES[feed.type]
    batch, *lengths = _declared(path, feed)
    row = options.input_shape(lengths, str(path))
    normalise.check(row)
    row_bytes = math.prod(row) * np.dtype(dtype).itemsize
    if batch is not None and batch * row_bytes > _MOST_BATCH_BYTES:
        raise InvalidArgument(
            f"{path} takes batches of exactly {batch} inputs, {batch * row_bytes / 2**30:.3g} GiB "
            "each: export it with a free batch axis"
        )
    outputs = {one.name: one.type for one in session.get_outputs()}
    kinds, whole = ("tensor(float", "tensor(double", "seq(map("), ("tensor(int", "tensor(uint")
    output_name = options.chosen_output(str(path), outputs, kinds, whole)
    covers = "the bytes of the ONNX file" + " and of its weights" * bool(files.beside)
    draft = options.draft(row, files.digest, covers, dtype)
    model = OnnxModel(
        session, feed.name, output_name, dtype, batch, normalise, draft,
        call_limit=options.call_limit,
    )  # fmt: skip
    signature = answers.complete_signature(draft, model.rows, scores)
    model = _with_free_batch(replace(model, signature=signature, path=path))
    if _BY_BATCH in files.content:
        if model.batch not in (None, 1):
            raise InvalidArgument(
                f"{path} takes batches of exactly {model.batch}, and {_ALONE}: export it with a "
                "free batch axis, or quantise it statically"
            )
        model = replace(model, batch=1, batch_stays=_ALONE)
    return model if on_processor else _on_device(model, options)


def _with_free_batch(model: OnnxModel) -> OnnxModel:
    """The model with a free batch where the file fixes one; else with the reason."""
    if model.batch is None:
        return model
    x = answers.probe(model.signature.shape, model.signature.bounds)
    rows = np.resize(np.arange(len(x)), max(len(x), model.batch + 1))
    ready = answers.cast_to(model.normalise(x[rows]), model.dtype)
    size = model.batch
    try:
        proto = load_plain(model.graph.content)
        free = free_batch(
            proto, model.output_name, ready, lambda x: answers.in_pieces(x, size, model._run)
        )
    except (BatchStays, InvalidArgument, MissingPackage) as error:
        return replace(model, batch_stays=str(error))
    session = onnx_file.quiet_session(free.content)
    return replace(model, session=session, batch=None, freed=free.difference)


def _on_device(model: OnnxModel, options: LoadOptions) -> OnnxModel | torch_models.TorchModel:
    """The model on a GPU: by onnxruntime's own provider where it is installed, else by PyTorch."""
    import onnxruntime

    device = str(options.device)
    if model.batch_stays == _ALONE:
        raise InvalidArgument(
            f"{model.path} is run one input at a time, for which a GPU is too slow: {_ALONE}; "
            "quantise it statically, or leave out --device"
        )
    if model.batch is not None:
        raise InvalidArgument(
            f"{model.path} takes batches of exactly {model.batch}, which cannot be made free "
            f"({model.batch_stays}): export it with a free batch axis, or leave out --device"
        )
    what = f"{model.path} does not fit into the memory of {device}"
    with refusing(what, "choose a GPU with more, or leave out --device", OutOfMemory):
        provided = _CUDA in onnxruntime.get_available_providers()
        if provided and device.startswith("cuda") and not options.half:
            return _by_provider(model, device)
        return _by_torch(model, options)


def _by_provider(model: OnnxModel, device: str) -> OnnxModel:
    """One session for each GPU; arrays are there too where PyTorch is at hand."""
    with_torch = importlib.util.find_spec("torch") is not None
    with_torch = with_torch and modules.require_torch().cuda.is_available()
    names = modules.device_names(device) if with_torch else (device,)
    content, sessions = model.file.content, []
    for name in names:
        number = int(name.partition(":")[2] or 0)
        session = onnx_file.quiet_session(content, (_CUDA, {"device_id": number}))
        if _CUDA not in session.get_providers():  # onnxruntime would go on without a word
            raise InvalidArgument(
                f"device {device!r} cannot be used: onnxruntime's CUDA provider does not start "
                "here; install the CUDA and cuDNN that it needs, or leave out --device"
            )
        sessions.append((session, modules.require_torch().device(name) if with_torch else None))
    first, *others = (replace(model, session=one, device=where) for one, where in sessions)
    compare(first, model, evaluate.tolerance(model.file.graph, reduced=True))
    return replace(first, replicas=tuple(others))


def _by_torch(model: OnnxModel, options: LoadOptions) -> torch_models.TorchModel:
    """The graph as a module on each device, compared with onnxruntime, first on the processor."""
    if importlib.util.find_spec("torch") is None:
        raise MissingPackage(
            f"device {options.device!r}: an ONNX file runs on a GPU by PyTorch (pip install torch) "
            "or by onnxruntime's CUDA provider (pip install onnxruntime-gpu): install one of them"
        )
    graph, module, own = model.file.graph, model.file.read(), model.signature
    given = replace(options, output=None)
    for where in (replace(given, device=None, half=False), given):
        placed = torch_models.wrap_module(module, where, own.digest, own.shape)
        reduced = placed.device.type != "cpu"
        allowed = evaluate.tolerance(graph, reduced=reduced)
        difference = compare(placed.full or placed, model, allowed)

    def signed(one: torch_models.TorchModel) -> torch_models.TorchModel:
        half = "run in half precision" if one.full else ""
        preparation = "; ".join(filter(None, [own.preparation, half]))
        thread_safe = one.signature.thread_safe
        return replace(
            one,
            signature=replace(own, preparation=preparation, thread_safe=thread_safe),
            full=one.full and signed(one.full),
            file=replace(model.file),
            onnx=replace(model.graph),
            difference=difference,
            replicas=tuple(map(signed, one.replicas)),
        )

    return signed(placed)


def _reopened(path: Path, kept: dict[str, Item]) -> OnnxModel:
    """The model of a file that is the same as when it was first read."""
    if onnx_file.read_weight_files(path).digest != kept["signature"].digest:
        raise InvalidArgument(f"{path} has changed since the run began: run the command again")
    model = OnnxModel(None, **kept)
    if model.freed is None and model.device is None:
        return replace(model, session=_session(path))
    number = getattr(model.device, "index", None)
    providers = () if model.device is None else ((_CUDA, {"device_id": number or 0}),)
    return replace(model, session=onnx_file.quiet_session(model.file.content, *providers))


def _session(path: Path) -> InferenceSession:
    with onnx_file.no_onnx_refused(path):
        return onnx_file.quiet_session(path)


def _only_input(path: Path, session: InferenceSession) -> NodeArg:
    feeds = session.get_inputs()
    if len(feeds) != 1:
        names = ", ".join(f.name for f in feeds)
        raise InvalidArgument(
            f"{path} must take one input, got {len(feeds)} ({names}): export it with one"
        )
    return feeds[0]


def _declared(path: Path, feed: NodeArg) -> list[int | None]:
    """The shape of a batch as the file states it; None for a length that it leaves open."""
    lengths = list(feed.shape)
    if len(lengths) < 2:
        raise InvalidArgument(
            f"{path} takes an input of shape {lengths}, without a batch axis: export it with one"
        )
    return [n if isinstance(n, int) and n > 0 else None for n in lengths]


def onnx_input_shape(path: Path) -> tuple[int | None, ...]:
    """The shape of one input as the file states it; None for a length that it leaves open."""
    onnx_file.read_weight_files(path)
    return tuple(_declared(path, _only_input(path, _session(path)))[1:])
