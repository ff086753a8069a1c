"""Run the example notebooks again. `python -m tests.notebooks` writes their output into docs/notebooks."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def stored(path: Path) -> Any:
    """Read a notebook as it lies there."""
    import nbformat

    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]  # it has no types


def executed(path: Path, folder: Path) -> Any:
    """Run a notebook by this interpreter, in a folder of its own, and return it with fresh output."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    class ThisInterpreter(AsyncKernelManager):  # whatever kernels are installed, and wherever
        @property
        def kernel_spec(self) -> KernelSpec:
            command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=command, display_name="Python 3", language="python")

    notebook = stored(path)
    client = NotebookClient(
        notebook,
        timeout=120,
        record_timing=False,
        kernel_manager_class=ThisInterpreter,
        coalesce_streams=True,  # what a cell prints is one output, however the kernel divides it
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env={**os.environ, "IPYTHONDIR": str(folder / ".ipython"), "NO_COLOR": "1"})
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if len(output.get("data", {})) > 1:
                del output["data"]["text/plain"]  # says less than what stands beside it, at greater length
    notebook.metadata["language_info"] = {"name": "python"}  # and no version: any will do
    return notebook


def printed(notebook: Any) -> list[str]:
    """What every cell printed or showed as text."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            texts.append(output.get("text", "") + output.get("data", {}).get("text/html", ""))
    return texts


if __name__ == "__main__":
    import nbformat

    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(executed(path, Path(folder)), path)  # type: ignore[no-untyped-call]  # nor has this
        print(f"wrote {path.name}, {path.stat().st_size:,} bytes")
