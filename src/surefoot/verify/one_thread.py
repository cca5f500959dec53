"""Matrix products in one thread: with more, the last digits depend on the number of cores."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from surefoot.errors import MissingPackage

_LOCK = threading.Lock()
_LIMIT = ExitStack()
"""What takes the limit back, once no thread is within it: it is one for the whole process."""
_inside = 0


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """NumPy's library of matrix products uses one thread, in all of this process.

    A product that several threads share is summed in another order, and a proof that is a rounding
    error longer or shorter is another record. Those of proofs are small: more threads are slower.
    """
    global _inside  # noqa: PLW0603  threads enter and leave in any order
    with _LOCK:
        if not _inside:
            _LIMIT.enter_context(_limit())
        _inside += 1
    try:
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if not _inside:
                _LIMIT.close()


def _limit() -> AbstractContextManager[Any]:
    try:
        from threadpoolctl import ThreadpoolController
    except ModuleNotFoundError as error:
        raise MissingPackage(
            "proofs limit the threads of NumPy with threadpoolctl: pip install 'surefoot[verify]'"
        ) from error
    limit: AbstractContextManager[Any] = ThreadpoolController().limit(limits=1, user_api="blas")
    return limit
