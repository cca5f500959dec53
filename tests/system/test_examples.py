"""Every file in `examples/` runs as it is, in an empty folder; the notebook shows its results."""

from pathlib import Path

import pytest

from tests.system import forked
from tests.system.hold import SECONDS

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FILES = sorted({*EXAMPLES.glob("*.py")} - {EXAMPLES / "files_to_try.py", EXAMPLES / "tabular.py"})
"""test_docs_examples runs those two, where a warning is an error too."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_runs_and_ends_well(path: Path, tmp_path: Path) -> None:
    done = forked.run([str(path)], tmp_path, SECONDS)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr, done.stderr[-2000:]


@pytest.fixture
def notebook():
    nbformat = pytest.importorskip("nbformat")
    return nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)


def test_the_notebook_is_stored_without_outputs(notebook):
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) >= 5
    assert all(not cell.outputs and cell.execution_count is None for cell in code)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the packages that start a kernel
def test_the_notebook_runs_and_shows_its_results_without_scripts(notebook, tmp_path, monkeypatch):
    nbclient, *_ = (pytest.importorskip(name) for name in ("nbclient", "ipykernel", "pandas"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    nbclient.NotebookClient(
        notebook, timeout=int(SECONDS), startup_timeout=int(SECONDS), kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()  # fmt: skip
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", ())]
    assert not [out for out in outputs if out.output_type == "error"]
    shown = [out.data for out in outputs if out.output_type == "execute_result"]
    results = [data for data in shown if 'class="surefoot"' in data.get("text/html", "")]
    assert len(results) == 2  # the estimate and the curve
    for data in results:
        html = data["text/html"]
        assert "data:image/svg+xml;base64," in html
        assert "<script" not in html
        assert len(html) < 200_000
        assert "\n" not in data["text/plain"]
    progress = [out.data for out in outputs if out.output_type == "display_data"]
    assert any("<progress" in data.get("text/html", "") for data in progress)
    assert any("done: " in data["text/plain"] for data in progress)
    assert (tmp_path / "curve.svg").exists()
