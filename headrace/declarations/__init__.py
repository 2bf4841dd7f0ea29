"""From a declaration (YAML or Python) to a Dagster asset and the run that materializes it.

The component types here are what `type:` in a defs.yaml names.
"""

from headrace.declarations.dataset import Dataset, ExternalDataset, Process
from headrace.declarations.decorator import dataset

__all__ = ["Dataset", "ExternalDataset", "Process", "dataset"]
