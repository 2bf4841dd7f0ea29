"""One materialization: pin, write, audit, publish, report."""
