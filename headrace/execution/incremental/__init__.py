"""Datasets that grow: what a run takes in, and the rows of the new version from those of the one before."""
