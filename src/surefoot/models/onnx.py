"""An ONNX file through onnxruntime: one inference thread a worker."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidArgument, ModelFailed, refusing, system_words
from surefoot.graph import onnx_file
from surefoot.graph.gradient import GradientGraph, read_gradient_graph
from surefoot.models import scores as answers
from surefoot.models.load_options import LoadOptions, Normalise
from surefoot.models.torch_modules import differentiable
from surefoot.subject.protocols import Array, HostArray, Item, Scores, Signature, Weigh

if TYPE_CHECKING:
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


@dataclass(frozen=True, eq=False)
class OnnxGraph:
    """The file behind a model, for proofs: what it holds, and what it is given."""

    path: Path
    digest: str
    normalise: Normalise

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


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """A session with what is needed to feed it and to read its answer."""

    session: InferenceSession
    input_name: str
    output_name: str
    dtype: type[np.generic]
    batch: int | None
    normalise: Normalise
    signature: Signature = field(repr=False)
    path: Path | None = None

    def place(self, x: NDArray[np.float32]) -> Array:
        """NumPy it is."""
        return x

    def predict(self, x: Array) -> Array:
        """Scores of a batch."""
        return answers.both_classes(self.rows(x), self.signature.scores)

    def rows(self, x: Array) -> Array:
        """The output for a batch of any size, also where the file fixes one."""
        with answers.model_errors():
            ready = answers.cast_to(self.normalise(x), self.dtype)
            raw = answers.in_pieces(ready, self.batch or len(x), self._run)
            return answers.read_output(raw, len(x), self.signature.scores)

    def __reduce__(self) -> tuple[Item, ...]:
        """In another process the session is opened again, from the same file."""
        kept = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "session"}
        return _reopened, (self.graph.path, kept)

    @cached_property
    def graph(self) -> OnnxGraph:
        """The file, for proofs."""
        if self.path is None:
            raise InvalidArgument(
                "the ONNX file of this model is not known: load the model from its file"
            )
        return OnnxGraph(self.path, self.signature.digest, self.normalise)

    @cached_property
    def _gradient_graph(self) -> GradientGraph:
        return read_gradient_graph(self.graph.content, self.input_name, self.output_name)

    def margin_and_gradient(
        self, x: NDArray[np.float32], labels: NDArray[np.int64], rivals: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The margin of each row's label over its rival, and its gradient in x."""

        def sides(scores: HostArray, rows: HostArray) -> HostArray:
            weights, each = np.zeros_like(scores), np.arange(len(rows))
            weights[each, labels[rows]], weights[each, rivals[rows]] = 1.0, -1.0
            return weights

        logits, gradient = self.logits_and_gradient(x, sides)
        return (logits * sides(logits, np.arange(len(x)))).sum(axis=1), gradient

    def logits_and_gradient(
        self, x: NDArray[np.float32], weigh: Weigh
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """By walking the graph back; a Softmax at the end is left out of it.

        In batches of the size that the file may fix.
        """
        n, size = len(x), self.batch or len(x)
        with answers.model_errors():
            graph = self._gradient_graph
            ready = answers.cast_to(self.normalise(x), self.dtype)
            every = np.minimum(np.arange(n + -n % size), n - 1)
            logits = graph.gives_logits or self.signature.scores is Scores.LOGITS

            def run(rows: HostArray) -> tuple[HostArray, HostArray]:
                return graph.logits_and_gradient(
                    ready[rows], lambda scores: weigh(scores, rows), logits
                )

            pieces = [run(every[i : i + size]) for i in range(0, len(every), size)]
            firsts, gradients = (np.concatenate(part)[:n] for part in zip(*pieces, strict=True))
            return firsts, np.asarray(self.normalise.gradient_before(gradients), np.float32)

    def torch_module(self) -> Module:
        """The file as a PyTorch module from inputs to logits, for attacks that need one."""
        return differentiable(self.logits_and_gradient)

    def _run(self, x: HostArray) -> HostArray:
        """The output; of a list of maps from classes to scores a table of these."""
        output: Item = self.session.run([self.output_name], {self.input_name: x})[0]
        if isinstance(output, list):
            columns = sorted(output[0])
            return np.array([[row[c] for c in columns] for row in output], dtype=np.float32)
        table: HostArray = output
        return table


def open_onnx(path: Path, options: LoadOptions) -> OnnxModel:
    """Load the file and run it once to learn what it returns."""
    options.refuse_device()
    normalise, scores = options.normalise, options.scores
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
    output_name = _output_name(path, session, options.output, scores)
    draft = Signature(
        shape=row,
        classes=0,
        scores=scores or Scores.LOGITS,
        digest=files.digest,
        covers="the bytes of the ONNX file" + " and of its weights" * bool(files.beside),
        bounds=options.bounds,
        whole_numbers=bool(np.issubdtype(dtype, np.integer)),
        thread_safe=True,
        preparation=options.preparation(dtype),
    )
    model = OnnxModel(session, feed.name, output_name, dtype, batch, normalise, draft)
    signature = answers.complete_signature(draft, model.rows, scores)
    return replace(model, signature=signature, path=path)


def _reopened(path: Path, kept: dict[str, Item]) -> OnnxModel:
    """The model of a file that is the same as when it was first read."""
    if onnx_file.read_weight_files(path).digest != kept["signature"].digest:
        raise InvalidArgument(f"{path} has changed since the run began: run the command again")
    return OnnxModel(_session(path), **kept)


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


def _output_name(
    path: Path, session: InferenceSession, name: str | None, scores: Scores | None
) -> str:
    """The output that holds scores: the one named, else a float table, else a list of maps.

    Values that are no class scores may be whole numbers too, such as a mask of classes.
    """
    outputs = session.get_outputs()
    names = [o.name for o in outputs]
    if name is not None:
        if name not in names:
            raise InvalidArgument(
                f"{path} has no output {name!r}: it has {', '.join(names)}; name one of them"
            )
        return name
    whole = () if scores is None or scores.of_classes else ("tensor(int", "tensor(uint")
    for kind in ("tensor(float", "tensor(double", "seq(map(", *whole):
        for o in outputs:
            if o.type.startswith(kind):
                return str(o.name)
    raise ModelFailed(
        f"{path} has no output of scores: it has "
        + ", ".join(f"{o.name} {o.type}" for o in outputs)
        + "; export the scores of the classes"
    )
