"""Tests of the platform, mirroring `headrace/`."""
