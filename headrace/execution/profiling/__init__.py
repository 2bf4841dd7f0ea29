"""Profiles of written versions: measured with the write, and compared with those of published versions."""
