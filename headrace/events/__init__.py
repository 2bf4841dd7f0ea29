"""Run events from outside: stored raw, folded into runs, projected into versions and lineage."""
