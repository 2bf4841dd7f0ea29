"""Run events of external systems: stored raw, folded into runs, projected into versions and lineage."""
