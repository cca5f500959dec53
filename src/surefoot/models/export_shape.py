"""The input shape that a `torch.export` file states, read without PyTorch."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidArgument
from surefoot.models.archive import is_export, read_parts


def export_input_shape(path: Path) -> tuple[int | None, ...] | None:
    """The shape of one input; None for a length that is open, or where the file does not say."""
    if not zipfile.is_zipfile(path):
        return None
    parts = read_parts(path)
    if not is_export(parts):
        return None
    try:
        program: Any = json.loads(parts["models/model.json"])
        module = program["graph_module"]
        specs = [spec.get("user_input") for spec in module["signature"]["input_specs"]]
        names = [spec["arg"]["as_tensor"]["name"] for spec in specs if spec is not None]
        if len(names) != 1:
            raise InvalidArgument(
                f"{path} must take one input, got {len(names)} ({', '.join(map(str, names))}): "
                "export it with one"
            )
        sizes = module["graph"]["tensor_values"][names[0]]["sizes"]
        lengths = [size.get("as_int") for size in sizes]
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        if isinstance(error, InvalidArgument):
            raise
        return None  # another layout: then the shape is needed, as for other files
    plain = all(n is None or (isinstance(n, int) and n > 0) for n in lengths)
    return tuple(lengths[1:]) if plain and len(lengths) > 1 else None
