"""Models as PyTorch modules that give logits: what attack libraries take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from surefoot.models.torch_files import require_torch
from surefoot.subject.protocols import Array, Weigh


def logits_module(forward: Callable[[Array], Array], inner: Any = None) -> Any:  # noqa: ANN401  an object of Torch
    """A module that runs `forward` and has the parameters of `inner`.

    It stays on its device and in evaluation mode, whatever a library does with it.
    """
    torch = require_torch()

    class Logits(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.training = False
            if isinstance(inner, torch.nn.Module):
                self.inner = inner

        def forward(self, x: Array) -> Array:
            return forward(x)

        def train(self, mode: bool = True) -> Any:  # noqa: ANN401  an object of Torch
            return self

        def _apply(self, fn: Any, recurse: bool = True) -> Any:  # noqa: ANN401  an object of Torch
            return self

    return Logits()


def differentiable(
    logits_and_gradient: Callable[[Any, Weigh], tuple[Any, Any]],
) -> Any:  # noqa: ANN401  a torch.nn.Module
    """A module around NumPy: the logits forwards, the gradient of their weighted sum backwards."""
    torch = require_torch()

    class Run(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Array) -> Array:  # noqa: ANN401  an object of Torch
            ctx.save_for_backward(x)
            logits, _ = logits_and_gradient(_numpy(x), lambda scores, _: np.zeros_like(scores))
            return torch.from_numpy(logits).to(x.device)

        @staticmethod
        def backward(ctx: Any, weights: Array) -> Array:  # noqa: ANN401  an object of Torch
            (x,) = ctx.saved_tensors
            own = _numpy(weights)
            _, gradient = logits_and_gradient(_numpy(x), lambda _, rows: own[rows])
            return torch.from_numpy(gradient).to(x.device)

    return logits_module(Run.apply)


@contextmanager
def fixed_parameters(module: Any) -> Iterator[None]:  # noqa: ANN401  an object of Torch
    """No gradient reaches the parameters: `backward` then leaves nothing behind in the model."""
    changed = [p for p in module.parameters() if p.requires_grad]
    for parameter in changed:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in changed:
            parameter.requires_grad_(True)


def _numpy(x: Array) -> Any:  # noqa: ANN401  an array of NumPy
    return x.detach().cpu().numpy()
