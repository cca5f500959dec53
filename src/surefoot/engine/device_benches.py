"""A bench for each device that has a copy of the model."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from surefoot.engine.streams import generator_for
from surefoot.errors import InvalidArgument
from surefoot.executors.devices import DeviceBench


def device_of(bench: Any) -> Any:  # noqa: ANN401  torch.device, or None for models without one
    """The device of the bench's model."""
    model = getattr(bench, "model", None)
    return getattr(getattr(model, "model", model), "device", None)


def device_benches(bench: Any) -> list[DeviceBench]:  # noqa: ANN401  any bench
    """One bench for each device, the bench itself first; empty where there is one device only.

    Every device has to draw the same random numbers: a result would depend on who answered.
    """
    model = getattr(bench, "model", None)
    copies = getattr(model, "replicas", ())
    if not copies:
        return []
    of_model = [f.name for f in fields(bench) if getattr(bench, f.name) is model]
    several = [bench, *(replace(bench, **dict.fromkeys(of_model, copy)) for copy in copies)]
    named = [DeviceBench(str(device_of(one)), one) for one in several]
    generators = {
        one.device: generator_for(one.bench.model.place(bench.inputs.x[:1])) for one in named
    }
    first, *others = generators
    for name in others:
        if generators[name] != generators[first]:
            raise InvalidArgument(
                f"{first} draws random numbers by {generators[first]} and {name} by "
                f"{generators[name]}: choose GPUs of one kind (--device {first})"
            )
    return named
