"""The tutorial notebook runs from its first cell to its last, as a reader would run it."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "docs/tutorial.ipynb"
MOST_BYTES = 200_000


def outputs(notebook: Any) -> list[Any]:
    """Return the outputs of all cells, in order."""
    return [output for cell in notebook.cells for output in cell.get("outputs", ())]


def test_the_notebook_runs_and_shows_pictures_and_the_comparison(tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is missing: the notebook is not run")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is missing: the notebook is not run")
    pytest.importorskip("ipykernel", reason="ipykernel is missing: the notebook is not run")
    # The notebook's shell commands use this Python and this project from an empty folder.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    folder = tmp_path / "reader"
    folder.mkdir()

    nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()

    pictures = [output for output in outputs(notebook) if "image/png" in output.get("data", {})]
    assert len(pictures) == 3
    tables = [
        output["data"]["text/plain"] for output in outputs(notebook) if "text/plain" in output.get("data", {})
    ]
    assert all(scheme in tables[-1] for scheme in ("cubic", "bbr3", "rule", "mine"))
    assert (folder / "runs/all/report.html").is_file()


def test_the_notebook_is_small_and_kept_without_outputs():
    nbformat = pytest.importorskip("nbformat", reason="nbformat is missing: the notebook is not read")
    assert NOTEBOOK.stat().st_size < MOST_BYTES
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert outputs(notebook) == []
    assert all(cell.get("execution_count") is None for cell in notebook.cells)
