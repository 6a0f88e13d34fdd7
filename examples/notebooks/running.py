"""Run the notebooks from their first cells to their last ones, as an analyst does."""

from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = sorted(Path(__file__).parent.glob("*.ipynb"))
_PATIENCE_SECONDS = 120
_FORGET = "%reset -f"
_KEPT = ("text/plain", "image/png")


def executed() -> Mapping[Path, Any]:
    """Return all notebooks with the outputs that they have now; a cell that fails raises its error.

    They run one after the other in one process, because most of the time goes into imports. No
    notebook sees a name of another. Nothing in the outputs depends on the machine: no times, no
    version of Python.
    """
    notebooks = {path: nbformat.read(path, as_version=4) for path in NOTEBOOKS}
    together = nbformat.v4.new_notebook()
    for notebook in notebooks.values():
        together.cells += [*notebook.cells, nbformat.v4.new_code_cell(_FORGET)]
    NotebookClient(
        together,
        timeout=_PATIENCE_SECONDS,
        resources={"metadata": {"path": str(Path(__file__).parent)}},
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
    ).execute()
    for notebook in notebooks.values():
        numbers = count(1)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.execution_count = next(numbers)
        for output in outputs(notebook):
            if "data" in output:
                output.data = {name: output.data[name] for name in _KEPT if name in output.data}
    return notebooks


def outputs(notebook: Any) -> list[Any]:
    """Return what all cells show, in order."""
    return [one for cell in notebook.cells for one in cell.get("outputs", ())]


def printed(notebook: Any) -> list[str]:
    """Return all texts that cells show, in order; pictures are left out."""
    shown = outputs(notebook)
    return [one["text"] if "text" in one else one["data"]["text/plain"] for one in shown]
