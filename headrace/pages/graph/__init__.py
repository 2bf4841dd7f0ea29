"""The graph of a lineage: the part of it that is drawn (`folding`), and the places of its nodes (`layout`). Pure."""
