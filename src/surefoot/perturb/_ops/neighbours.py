"""Values between neighbours, as every way of sampling in main memory finds them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Images = NDArray[np.float32]


def blend_in_place(a: Images, b: Images, share: Images) -> None:
    """Move `a` towards `b` by a share of the way; b is used up. A share of 0 leaves `a` alone."""
    b -= a
    b *= share
    a += b
