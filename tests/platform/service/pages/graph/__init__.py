"""The graph of a lineage, for every graph there is."""
