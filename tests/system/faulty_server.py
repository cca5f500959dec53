"""A server of the Open Inference Protocol v2 in a thread, which does what a test tells it to."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import surefoot as sf
from tests.ports import free_port
from tests.unit.small_models import batch

SHAPE, CLASSES = (1, 4, 4), 3
WEIGHTS = np.random.default_rng(5).normal(0, 1, (16, CLASSES)).astype(np.float32)
NEVER = "no answer while the server runs"
Fault = Callable[[int, Request, dict[str, Any]], Any]
"""Of the number of the request, the request and its right answer: another one, NEVER or None."""


def scores(x: np.ndarray) -> np.ndarray:
    """The model."""
    return (x.reshape(len(x), -1) - 0.5) @ WEIGHTS


class FaultyServer:
    """Serves `scores`; `fault` may answer in its place, `on_metadata` changes what it states."""

    def __init__(self, **encryption: str) -> None:
        self._encryption = encryption
        self.fault: Fault = lambda number, request, right: None
        self.on_metadata: Callable[[dict[str, Any]], Any] = lambda stated: stated
        self.requests, self.tokens, self.largest = 0, set(), 0
        scheme, port = "https" if encryption else "http", free_port()
        self.address = f"{scheme}://127.0.0.1:{port}/v2/models/linear"
        self._start(port)

    def _start(self, port: int) -> None:
        routes = [
            Route("/v2/models/linear", self._metadata),
            Route("/v2/models/linear/infer", self._infer, methods=["POST"]),
        ]
        encrypted = bool(self._encryption)  # its end would wait for the client to close
        config = uvicorn.Config(
            Starlette(routes=routes), log_level="critical", ws="none", lifespan="off",
            timeout_graceful_shutdown=5, headers=[("connection", "close")] * encrypted,
            **self._encryption,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        listening = socket.create_server(("127.0.0.1", port))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listening]})
        self._thread.start()

    def stop(self) -> None:
        """Once everything is answered and every connection is closed; may be called again."""
        self._server.should_exit = True
        self._thread.join()

    async def _metadata(self, request: Request) -> Response:
        self.tokens.add(request.headers.get("authorization"))
        stated = {
            "name": "linear",
            "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, *SHAPE]}],
            "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, CLASSES]}],
        }
        changed = self.on_metadata(stated)
        return changed if isinstance(changed, Response) else JSONResponse(changed)

    async def _infer(self, request: Request) -> Response:
        self.requests += 1
        self.tokens.add(request.headers.get("authorization"))
        (given,) = json.loads(await request.body())["inputs"]
        x = np.asarray(given["data"], np.float32).reshape(given["shape"])
        self.largest = max(self.largest, len(x))
        right = answer_of(scores(x))
        instead = self.fault(self.requests, request, right)
        while instead == NEVER and not self._server.should_exit:
            await asyncio.sleep(0.01)
        if isinstance(instead, Response):
            return instead
        return Response(json.dumps(right if instead is None else instead))


def answer_of(y: np.ndarray) -> dict[str, Any]:
    """As the protocol writes it."""
    shape, data = list(y.shape), y.ravel().tolist()
    stated = {"name": "y", "datatype": "FP32", "shape": shape, "data": data}
    return {"model_name": "linear", "outputs": [stated]}


def study_of(address: str, width: float = 0.3) -> sf.Study:
    return sf.Study(
        sf.load_model(address, bounds=(0, 1)),
        sf.load_inputs(batch(5, SHAPE), [0, 1, 2, 0, 1]),
        sf.perturb.LinfNoise(0.3),
        sf.methods.ExactSequential(width=width, error=0.05),
    )


def numbers(result):
    return [(row.id, row.predicted, row.result) for row in result.inputs]
