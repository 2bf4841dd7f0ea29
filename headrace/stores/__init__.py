"""Stores: write, audit and read dataset versions.

Import the parts from their modules; nothing is imported here, so that loading declarations does not import Spark and
pandera.
"""
