"""Column lineage against references, against the truth, and node by node."""
