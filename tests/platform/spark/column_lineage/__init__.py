"""Column lineage against references, against measured dependencies, and node by node."""
