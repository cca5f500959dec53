"""The values of a batch in the type that a file or a server states."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def cast_to(x: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """The batch in this type; whole numbers are rounded and kept within their range."""
    if x.dtype == dtype:
        return x
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(np.dtype(dtype))
        whole: NDArray[Any] = np.clip(np.rint(x), info.min, info.max).astype(dtype)
        return whole
    return x.astype(dtype)
