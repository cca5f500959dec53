"""Two tiers: `pytest --fast` (make check) takes a minute and no torch, `pytest` runs everything.

Slow are `tests/promises` and `tests/system`, the modules in FAST_MODULES aside, and every single
test that is marked `slow`: one that takes more than a second of processor time.
"""

import gc
import importlib.util
import math
import os
import sys
from importlib.machinery import ModuleSpec

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "repeatable",
    derandomize=True,  # the same examples on every machine and every day
    deadline=None,  # the tests share the processor
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # the tests run side by side; threads would only wait
for _name in ("FORCE_COLOR", "PY_COLORS", "NO_COLOR", "COLUMNS", "LINES",
              "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):  # fmt: skip
    os.environ.pop(_name, None)  # what is printed does not depend on who runs the tests


SLOW_FOLDERS = {"promises", "system"}
FAST_MODULES = {
    "test_binomial_test", "test_edges", "test_exact_sequential", "test_requirements",
    "test_share", "test_tail", "test_first_steps", "test_readme",
}  # fmt: skip
"""Of those folders, so that the fast tier has error rates and the command line in it too."""

LONG_MODULES = {
    "test_dashboard_in_browser", "test_demo", "test_examples", "test_kills",
    "test_ray_on_this_machine", "test_report_in_browser", "test_shared_store",
}  # fmt: skip
"""Their tests take longest and come first, so that no worker is left alone with one at the end."""


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
        installed = importlib.util.find_spec

        def without_torch(name: str, package: str | None = None) -> ModuleSpec | None:
            return None if name.partition(".")[0] == "torch" else installed(name, package)

        importlib.util.find_spec = without_torch  # who asks whether it is installed hears no


def is_slow(item: pytest.Item) -> bool:
    if item.path.parent.name in SLOW_FOLDERS and item.path.stem not in FAST_MODULES:
        return True
    return item.get_closest_marker("slow") is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.fast:
        config.hook.pytest_deselected(items=[item for item in items if is_slow(item)])
        items[:] = [item for item in items if not is_slow(item)]
    items.sort(key=lambda item: item.path.stem not in LONG_MODULES)


def pytest_collection_finish() -> None:
    gc.freeze()  # modules and items stay to the end: no collection of garbage walks over them


@pytest.fixture(scope="session", autouse=True)
def no_late_processes():
    """Work in threads stays there, also where a busy machine makes it last for seconds."""
    from surefoot.executors import pool

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "PATIENCE_SECONDS", math.inf)
        yield


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server, started with the first test that takes it: that test is `slow`."""
    from tests.postgres_server import running_server

    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def torch():
    """The package; a test that takes it is skipped where it is not installed."""
    return pytest.importorskip("torch")


@pytest.fixture
def cwd(tmp_path, monkeypatch):
    """An empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(params=["numpy", "torch"])
def place(request):
    """Turn a NumPy array into one of either package."""
    return pytest.importorskip(request.param).asarray
