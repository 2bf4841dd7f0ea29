"""Stores: write, audit and read dataset versions.

Import the parts from their modules; nothing is imported here, so that loading declarations stays free of
Spark and pandera.
"""
