"""Serve an ONNX file by the Open Inference Protocol v2, as KServe, Triton and MLServer do.

    python examples/endpoint.py model.onnx --port 8000
    surefoot estimate http://127.0.0.1:8000/v2/models/model test.npz --perturb linf:8/255

Without a file it serves the network of the demo, asks it once, and ends. It listens on this machine
only. Needs the extra web: pip install '.[web]' in a clone.
"""

from __future__ import annotations

import argparse
import json
import socket
import sys
import threading
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import onnxruntime as ort
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import surefoot as sf

ERROR = 3
HEADER_LENGTH = "Inference-Header-Content-Length"
DATATYPES = {
    "tensor(float16)": "FP16",
    "tensor(float)": "FP32",
    "tensor(double)": "FP64",
    "tensor(uint8)": "UINT8",
    "tensor(int8)": "INT8",
    "tensor(int32)": "INT32",
    "tensor(int64)": "INT64",
}
NUMPY = {
    "FP16": "<f2", "FP32": "<f4", "FP64": "<f8", "UINT8": "<u1", "INT8": "<i1", "INT32": "<i4",
    "INT64": "<i8",
}  # fmt: skip


def described(tensors: list[Any]) -> list[dict[str, Any]]:
    """Inputs or outputs as the protocol states them: -1 is an open length."""
    return [
        {
            "name": t.name,
            "datatype": DATATYPES[t.type],
            "shape": [n if isinstance(n, int) else -1 for n in t.shape],
        }
        for t in tensors
    ]


def read_tensors(body: bytes, header_length: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The JSON of a request, and its inputs by name: from the JSON, or from the bytes behind it."""
    end = len(body) if header_length is None else int(header_length)
    request, raw = json.loads(body[:end]), body[end:]
    inputs, start = {}, 0
    for stated in request["inputs"]:
        size = stated.get("parameters", {}).get("binary_data_size")
        dtype = np.dtype(NUMPY[stated["datatype"]])
        if size is None:
            values = np.asarray(stated["data"], dtype)
        else:
            values, start = np.frombuffer(raw[start : start + size], dtype), start + size
        inputs[stated["name"]] = values.reshape(stated["shape"])
    return request, inputs


def answer(name: str, request: dict[str, Any], outputs: dict[str, np.ndarray]) -> Response:
    """The outputs that were asked for, as JSON or as bytes, each as the request says."""
    everything = [{"name": output} for output in outputs]
    stated, raw = [], b""
    for wanted in request.get("outputs", everything):
        values = outputs[wanted["name"]]
        datatype = DATATYPES[ort.OrtValue.ortvalue_from_numpy(values).data_type()]
        one = {"name": wanted["name"], "shape": list(values.shape), "datatype": datatype}
        if wanted.get("parameters", {}).get("binary_data"):
            part = np.ascontiguousarray(values, NUMPY[datatype]).tobytes()
            stated.append({**one, "parameters": {"binary_data_size": len(part)}})
            raw += part
        else:
            stated.append({**one, "data": values.ravel().tolist()})
    head = {"model_name": name, "model_version": "1", "outputs": stated}
    if not raw:
        return JSONResponse(head)
    text = json.dumps(head).encode()
    return Response(
        text + raw,
        media_type="application/octet-stream",
        headers={HEADER_LENGTH: str(len(text))},
    )


def open_session(path: Path) -> ort.InferenceSession:
    """The file, ready to run; one that cannot be read ends the program."""
    try:
        return ort.InferenceSession(path)
    except Exception as error:  # noqa: BLE001  whatever onnxruntime raises
        problem = "cannot be read as an ONNX file" if path.is_file() else "is no file"
        detail = f" ({' '.join(str(error).split())})" if path.is_file() else ""
        end(f"{path} {problem}{detail}: check the path")


def end(sentence: str) -> NoReturn:
    """End with one sentence and the exit code of an error."""
    sys.stderr.write(f"{sentence}\n")
    sys.exit(ERROR)


def application(path: Path, *, binary: bool, max_batch: int) -> Starlette:
    """The server of one file."""
    session, name = open_session(path), path.stem

    async def server(_: Request) -> Response:
        extensions = ["binary_tensor_data"] if binary else []
        return JSONResponse({"name": "example", "version": "1", "extensions": extensions})

    async def metadata(_: Request) -> Response:
        inputs, outputs = described(session.get_inputs()), described(session.get_outputs())
        return JSONResponse(
            {"name": name, "versions": ["1"], "platform": "onnxruntime_onnx",
             "inputs": inputs, "outputs": outputs}
        )  # fmt: skip

    async def infer(request: Request) -> Response:
        try:
            asked, inputs = read_tensors(await request.body(), request.headers.get(HEADER_LENGTH))
        except (KeyError, TypeError, ValueError) as error:
            return JSONResponse({"error": f"no request: {error}"}, status_code=400)
        if max(len(x) for x in inputs.values()) > max_batch:
            text = f"inference request batch-size must be <= {max_batch}"
            return JSONResponse({"error": text}, status_code=400)
        names = [output.name for output in session.get_outputs()]
        try:
            values = await run_in_threadpool(session.run, names, inputs)
        except Exception as error:  # noqa: BLE001  whatever onnxruntime raises
            return JSONResponse({"error": str(error)}, status_code=400)
        return answer(name, asked, dict(zip(names, values, strict=True)))

    return Starlette(
        routes=[
            Route("/v2", server),
            Route(f"/v2/models/{name}", metadata),
            Route(f"/v2/models/{name}/infer", infer, methods=["POST"]),
            Route(f"/v2/models/{name}/versions/1", metadata),
            Route(f"/v2/models/{name}/versions/1/infer", infer, methods=["POST"]),
        ]
    )


def serve(
    path: Path, port: int, *, binary: bool, max_batch: int, use: Callable[[str], None]
) -> None:
    """Serve until interrupted, or until `use` is done with the address of the model."""
    served = application(path, binary=binary, max_batch=max_batch)
    with socket.create_server(("127.0.0.1", port)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/v2/models/{path.stem}"
        server = uvicorn.Server(uvicorn.Config(served, log_level="warning", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            use(address)
        except KeyboardInterrupt:
            pass
        finally:
            server.should_exit = True
            thread.join()


def ask_once(address: str) -> None:
    """How often does the network of the demo fail, asked through HTTP?"""
    data = np.load(str(files("surefoot") / "data" / "fashion_test.npz"))
    print(sf.estimate(address, (data["x"][:5], data["y"][:5]), "linf:8/255", each=0.2))


def main() -> None:
    """Serve the file, or show what serving is good for."""
    parser = argparse.ArgumentParser(
        description="Serve an ONNX file by the Open Inference Protocol v2."
    )
    parser.add_argument("model", nargs="?", type=Path, help="an ONNX file")
    parser.add_argument("--port", type=int, default=8000, help="0: any that is free")
    parser.add_argument("--max-batch", type=int, default=1024, help="refuse larger batches")
    parser.add_argument("--json-only", action="store_true", help="no binary tensors")
    given = parser.parse_args()
    options = {"binary": not given.json_only, "max_batch": given.max_batch}
    if given.model is None:
        demo = Path(str(files("surefoot") / "data" / "fashion_cnn.onnx"))
        serve(demo, 0, use=ask_once, **options)
        return

    def wait(address: str) -> None:
        print(address, flush=True)
        threading.Event().wait()

    try:
        serve(given.model, given.port, use=wait, **options)
    except (OSError, OverflowError) as error:
        end(f"port {given.port} cannot be listened on ({error}): choose another (--port)")


if __name__ == "__main__":
    main()
