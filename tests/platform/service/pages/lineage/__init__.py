"""The lineage: its page, the part that is drawn, and the layout."""
