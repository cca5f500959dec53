"""Two tiers: `pytest --fast` runs what takes seconds and needs no torch, `pytest` everything."""

from __future__ import annotations

import os
import sys

import pytest

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # the tests run side by side; threads would only wait


class NoTorch:
    """Makes `import torch` fail in this process, as if it were not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("the fast tier imports no torch", name=name)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--fast", action="store_true", help="leave out slow tests and those that need torch"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.option.fast:
        if "torch" in sys.modules:
            raise pytest.UsageError("the fast tier imports no torch, but a pytest plugin did")
        sys.meta_path.insert(0, NoTorch())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.fast:
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


@pytest.fixture(scope="session")
def torch():
    """The package; a test that takes it is skipped where it is not installed."""
    return pytest.importorskip("torch")


@pytest.fixture(params=["numpy", "torch"])
def place(request):
    """Turn a NumPy array into one of either package."""
    return pytest.importorskip(request.param).asarray
