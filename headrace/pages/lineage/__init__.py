"""The lineage: its page (`routes`), the part that is drawn (`folding`), and the places of its nodes (`layout`)."""
