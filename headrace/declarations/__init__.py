"""Declarations (YAML or Python), turned into Dagster assets and the runs that materialize them.

The component types here are those that `type:` in a defs.yaml names.
"""

from headrace.declarations.dataset import Dataset, ExternalDataset, Process
from headrace.declarations.decorator import dataset

__all__ = ["Dataset", "ExternalDataset", "Process", "dataset"]
