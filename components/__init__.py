"""From a declaration (YAML or Python) to a Dagster asset, and the run that materializes it.

The component types here are what `type:` in a defs.yaml names.
"""

from components.dataset import Dataset, ExternalDataset, Process
from components.decorator import dataset

__all__ = ["Dataset", "ExternalDataset", "Process", "dataset"]
