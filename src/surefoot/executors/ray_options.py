"""What a user says about Ray: where the cluster is, and what each worker gets of it."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from importlib.util import find_spec

from surefoot.errors import InvalidArgument, MissingPackage

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
        if self.workers is not None and (not _is_whole(self.workers) or self.workers < 1):
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


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_share(value: object) -> bool:
    """Whether Ray can give so many GPUs: whole ones, or a part of a single one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return False
    return value >= 0 and (value <= 1 or float(value).is_integer())
