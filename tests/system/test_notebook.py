"""The notebook of `examples/` runs as it is stored, and shows its results without scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.system.hold import SECONDS

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("pandas")

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "notebook.ipynb"


def stored():
    return nbformat.read(NOTEBOOK, as_version=4)


def test_the_notebook_is_stored_without_outputs():
    code = [cell for cell in stored().cells if cell.cell_type == "code"]
    assert len(code) >= 5
    assert all(not cell.outputs and cell.execution_count is None for cell in code)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the packages that start a kernel
def test_the_notebook_runs_and_shows_its_results(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    notebook = stored()
    nbclient.NotebookClient(
        notebook,
        timeout=int(SECONDS),
        startup_timeout=int(SECONDS),
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
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
