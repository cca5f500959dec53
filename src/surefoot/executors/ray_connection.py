"""The options of Ray, and the connection to its cluster: opened once, quietly, closed by us."""

from __future__ import annotations

import logging
import math
import os
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from surefoot.errors import InvalidArgument, MissingPackage, WorkerFailed
from surefoot.executors.ray_bridge import Bridge

AUTO = "auto"
"""The cluster of this machine, however it was started."""
_VARIABLE = "RAY_ADDRESS"
"""By which Ray itself says where the cluster is, as in a job that was submitted to it."""


@dataclass(frozen=True)
class Ray:
    """Workers of Ray: `executor=sf.executors.Ray(address="10.0.0.5:6379", workers=32)`.

    `address` is HOST:PORT of a running cluster, or "auto" for the one of this machine; without it
    and without the variable RAY_ADDRESS a cluster is started on this machine and ended after the
    run. A program that has called `ray.init` uses its own. `workers` is how many; without it, as
    many as fit. `gpus` is how many GPUs each gets, or which part of one, such as 0.5; without it 1
    where the model is on a GPU, else 0.
    """

    address: str | None = None
    workers: int | None = None
    gpus: float | None = None

    def __post_init__(self) -> None:
        if self.address is not None:
            _check_address(self.address)
        whole = isinstance(self.workers, int) and not isinstance(self.workers, bool)
        if self.workers is not None and (not whole or self.workers < 1):
            raise InvalidArgument(f"workers must be an integer ≥ 1, got {self.workers!r}")
        if self.gpus is not None and not _is_share(self.gpus):
            raise InvalidArgument(
                f"gpus must be an integer ≥ 0 or a part of one GPU such as 0.5, got {self.gpus!r}"
            )

    @property
    def cluster(self) -> str | None:
        """Where the cluster is; None: it is ours to start."""
        if self.address is not None:
            return self.address
        address = os.environ.get(_VARIABLE) or None
        if address is not None and address != "local":
            _check_address(address)
            return address
        return None


def require_installed() -> None:
    """Refuse where Ray is missing; nothing is imported."""
    if find_spec("ray") is None:
        raise MissingPackage("executor ray needs Ray: pip install 'surefoot[ray]'")


def _check_address(address: object) -> None:
    if address == AUTO:
        return
    text = address if isinstance(address, str) else ""
    host, _, port = text.rpartition(":")
    if text.startswith("ray://"):
        raise InvalidArgument(
            f"address (--ray-address) {text} is of Ray Client, which is not supported: run the "
            "command on a machine of the cluster and pass HOST:PORT, or auto"
        )
    if not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InvalidArgument(
            f"address (--ray-address) must be HOST:PORT such as 10.0.0.5:6379, or auto, got "
            f"{address!r}"
        )


def _is_share(value: object) -> bool:
    """Whether Ray can give so many GPUs: whole ones, or a part of a single one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    return value >= 0 and (value <= 1 or float(value).is_integer())


SECONDS_TO_REACH = 5.0
"""For a host to answer: across the world it takes one."""
SECONDS_TO_CONNECT = 30.0
"""For a cluster that answers to take this process in: about one on an idle machine."""
LEAST_OBJECT_MEMORY = 128 * 2**20
"""Bytes of shared memory of a cluster of our own: Ray refuses less than 75 MiB."""
_HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""With which a client of HTTP/2, and so of gRPC, begins; the server answers with its settings."""
_SETTINGS = 4
_MOST_CHARACTERS = 200
"""Of what Ray says about an error: one line of a terminal or two."""


Call = Callable[..., Future[Any]]
"""A function of `Cluster`, by its name, and what it takes."""


class _Connection:
    """How many use it in this process; the last one closes the bridge, if there is one."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0
        self.bridge: Bridge | None = None
        self.address: str | None = None

    def add_user(self) -> None:
        with self.lock:
            self.users += 1

    def remove_user(self) -> None:
        with self.lock:
            self.users -= 1
            if self.users == 0 and self.bridge is not None:
                bridge, self.bridge = self.bridge, None
                bridge.close()


_connection = _Connection()
release = _connection.remove_user
"""The counterpart of `connect`."""


@contextmanager
def one_cluster() -> Iterator[None]:
    """Several runs inside share the cluster that the first one starts; without Ray, nothing."""
    _connection.add_user()
    try:
        yield
    finally:
        _connection.remove_user()


def connect(
    options: Ray, workers: int, object_bytes: int, in_this_process: Callable[[], Call]
) -> Call:
    """How to call Ray; `release` afterwards. A connection of the caller's own is used as it is."""
    require_installed()
    _connection.add_user()
    try:
        with _connection.lock:
            ray = sys.modules.get("ray")
            if ray is not None and ray.is_initialized():
                _refuse_other_cluster(ray, options.address)
                return in_this_process()
            if _connection.bridge is None:
                _connection.bridge = _open_bridge(options.cluster, workers, object_bytes)
                _connection.address = options.cluster
            elif options.address not in (None, AUTO, _connection.address):
                raise _other_cluster(_connection.address or "this machine", options.address)
            return _connection.bridge.call
    except BaseException:
        _connection.remove_user()
        raise


def _open_bridge(address: str | None, workers: int, object_bytes: int) -> Bridge:
    """A process that has joined the cluster at this address, or started one of its own.

    The paths of sockets must be short, so the folder is in /tmp where there is one.
    """
    parent = "/tmp" if os.access("/tmp", os.W_OK) else None  # noqa: S108  a new folder in it
    bridge = Bridge("" if address else tempfile.mkdtemp(prefix="surefoot-", dir=parent))
    try:
        connected = bridge.call("connect", address, workers, object_bytes, SECONDS_TO_REACH)
        # Ray itself would try for minutes to join one
        connected.result(None if address is None else SECONDS_TO_REACH + SECONDS_TO_CONNECT)
    except BaseException as error:
        bridge.close()
        if isinstance(error, TimeoutError):
            seconds = f"it did not take us in within {SECONDS_TO_CONNECT:g} seconds"
            raise _unreachable(str(address), seconds) from None
        raise
    return bridge


def _refuse_other_cluster(ray: ModuleType, address: str | None) -> None:
    own = ray.get_runtime_context().gcs_address
    if address is None or address == AUTO:
        return
    same_port = own.rpartition(":")[2] == address.rpartition(":")[2]
    if not (same_port and set(_hosts(ray, own)) & set(_hosts(ray, address))):
        raise _other_cluster(own, address)


def _other_cluster(own: str, address: str | None) -> InvalidArgument:
    return InvalidArgument(
        f"this program is connected to the cluster of Ray at {own}, not to {address}: leave the "
        "address out, or call ray.shutdown() first"
    )


def import_ray() -> ModuleType:
    """Ray, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("ray")


def start(ray: ModuleType, workers: int, object_bytes: int, folder: str) -> None:
    """A cluster on this machine, in a folder of its own."""
    try:
        ray.init(
            address="local",
            num_cpus=workers,
            include_dashboard=False,
            object_store_memory=max(LEAST_OBJECT_MEMORY, 2 * object_bytes),
            log_to_driver=False,
            logging_level=logging.CRITICAL,
            _temp_dir=folder,
        )
    except Exception as error:
        raise WorkerFailed(
            f"Ray cannot start on this machine ({_words(error)}): use executor processes "
            "(--executor processes)"
        ) from error


def join(ray: ModuleType, address: str, seconds: float) -> None:
    """A connection to a running cluster, whose host must answer within so many seconds."""
    if address != AUTO:
        _refuse_unreachable(ray, address, seconds)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
    except Exception as error:
        raise _refusal(address, error) from error


def _refusal(address: str, error: Exception) -> InvalidArgument:
    if "ersion mismatch" in str(error):
        return InvalidArgument(
            f"the cluster of Ray at {address} has another version of Ray or Python "
            f"({_words(error)}): install the same versions here"
        )
    if address == AUTO:
        return InvalidArgument(
            "no cluster of Ray runs on this machine: start one (ray start --head), or leave out "
            "the address (--ray-address) to start one for this run"
        )
    return _unreachable(address, _words(error))


def _unreachable(address: str, reason: str) -> InvalidArgument:
    return InvalidArgument(
        f"no cluster of Ray can be reached at {address} ({reason}): check address "
        "(--ray-address), and that this machine belongs to the cluster (ray status)"
    )


def _refuse_unreachable(ray: ModuleType, address: str, seconds: float) -> None:
    """Unless a server of gRPC listens there."""
    port = int(address.rpartition(":")[2])
    reason = ""
    for host in _hosts(ray, address):
        try:
            with socket.create_connection((host, port), seconds) as peer:
                if os.environ.get("RAY_USE_TLS", "0") != "0":
                    return
                peer.settimeout(seconds)
                peer.sendall(_HTTP2_PREFACE)
                if peer.recv(9)[3:4] == bytes([_SETTINGS]):
                    return
                reason = "what listens there is no cluster of Ray"
        except OSError as error:
            reason = reason or str(error.strerror or error)
    raise _unreachable(address, reason)


def _hosts(ray: ModuleType, address: str) -> list[str]:
    """The host by name and by number; this machine also by the number that Ray uses for it."""
    host = address.rpartition(":")[0].strip("[]")
    hosts = [host]
    with suppress(OSError):
        hosts.append(socket.gethostbyname(host))
    if any(one.startswith("127.") for one in hosts):
        hosts.append(ray.util.get_node_ip_address())
    return list(dict.fromkeys(hosts))


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:_MOST_CHARACTERS] or type(error).__name__
