"""Headrace: an Autosys estate and new Spark datasets on one graph of software-defined assets.

Exports the names that a project uses: `type: headrace.Dataset` in YAML, and `@headrace.dataset` in Python.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.declarations.dataset import Dataset, ExternalDataset, Process
    from headrace.declarations.decorator import dataset

__all__ = ["Dataset", "ExternalDataset", "Process", "__version__", "dataset"]

_MODULES = {
    "Dataset": "headrace.declarations.dataset",
    "ExternalDataset": "headrace.declarations.dataset",
    "Process": "headrace.declarations.dataset",
    "dataset": "headrace.declarations.decorator",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - Python's own protocol for lazy module attributes
    """Import names on demand, so that `import headrace` alone does not import Dagster."""
    if name == "__version__":
        from importlib.metadata import version

        return version("headrace")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    """List names imported on demand too: Dagster's `dg` finds component types with dir()."""
    return sorted({*globals(), *__all__})
