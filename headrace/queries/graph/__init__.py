"""The graph of datasets and processes: the neighbours of one (`process_lineage`), and the way between two (`paths`)."""
